//! Compares shards with Parquet and Vortex in DataFusion.
//!
//! One worker process measures each number of threads, with the formats in turn for each query. The main process
//! prepares the tables, starts the workers, and reports their measurements.

mod hits;
mod queries;
mod report;
mod sample;
mod subject;
mod tables;
mod worker;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use std::path::PathBuf;
use std::process::Command;
use subject::Subject;
use tables::{Size, Tables};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compares shards with Parquet and Vortex in DataFusion.
#[derive(Parser)]
struct Cli {
    /// Folder of the tables and measurements: on a disk, with room for 4 GB, or 8 GB if `hits` has ten million rows.
    #[arg(long)]
    data: PathBuf,
    /// File for the report, in addition to standard output.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Tables to measure, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "tpch,log")]
    tables: Vec<Tables>,
    #[command(flatten)]
    size: Size,
    /// Fewest runs of every query over every format.
    #[arg(long, default_value_t = 5)]
    repeat: usize,
    /// Numbers of threads, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Names of queries, separated by commas; all by default.
    #[arg(long, value_delimiter = ',')]
    queries: Vec<String>,
    /// Formats to measure, with `--worker`: `shard`, `shard-no-pushdown`, `attached`, `parquet`,
    /// `parquet-pushdown`, `vortex`; all by default.
    #[arg(long, value_delimiter = ',', requires = "worker")]
    subjects: Vec<Subject>,
    /// Only report the measurements of an earlier run.
    #[arg(long)]
    report_only: bool,
    /// Report although the machine is not known to have been idle otherwise.
    #[arg(long)]
    although_busy: bool,
    /// Measure with this number of threads, and report nothing.
    #[arg(long)]
    worker: Option<usize>,
    /// Compute for half a second, and print the number of rounds.
    #[arg(long, hide = true)]
    spin: bool,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    if cli.spin {
        println!("{}", peers::spin());
        return Ok(());
    }
    if let Some(threads) = cli.worker {
        let subjects = match cli.subjects.as_slice() {
            [] => &Subject::ALL,
            subjects => subjects,
        };
        return worker::measure(
            &cli.data,
            threads,
            cli.repeat,
            &cli.tables,
            &cli.queries,
            subjects,
        );
    }
    if !cli.report_only {
        tables::prepare(&cli.data, &cli.tables, cli.size)?;
        sample::write_machine(&cli.data)?;
        for threads in &cli.threads {
            let mut worker = Command::new(std::env::current_exe()?);
            worker.arg("--data").arg(&cli.data);
            worker.args(["--worker", &threads.to_string()]);
            worker.args(["--repeat", &cli.repeat.to_string()]);
            for tables in &cli.tables {
                worker.args(["--tables", tables.option()]);
            }
            if !cli.queries.is_empty() {
                worker.args(["--queries", &cli.queries.join(",")]);
            }
            let status = worker.status().context("the process that measures")?;
            ensure!(
                status.success(),
                "the process with {threads} threads failed"
            );
        }
    }
    let report = report::write(&cli.data, &cli.tables, &cli.threads, cli.although_busy)?;
    print!("{report}");
    if let Some(out) = cli.out {
        std::fs::write(&out, report).with_context(|| out.display().to_string())?;
    }
    Ok(())
}
