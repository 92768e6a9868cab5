//! The options of the program.

use crate::output::Format;
use crate::size::size;
use clap::Parser;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arrow-shard sql \"SELECT origin, avg(delay) FROM 'flights.amudai.shard' GROUP BY origin\"
  arrow-shard sql \"SELECT count(*) FROM 'days/*.parquet' f JOIN 'airports.csv' a ON f.origin = a.code\"
  arrow-shard sql \"SELECT * FROM 's3://bucket/days/' WHERE delay > 60\" -o late.amudai.shard
  arrow-shard sql \"COPY (SELECT * FROM 'log.ndjson.gz') TO 'log.parquet'\"
  arrow-shard sql --file report.sql --format markdown
  arrow-shard sql                                   # a prompt; .help lists its commands

Tables: files, folders and quoted globs in single quotes, and URLs (s3://, az://, gs://, http://, https://). \
Formats by file name: .shard | .parquet .parq .pq | .arrow .feather .ipc .arrows | .csv .tsv | .ndjson .jsonl .json; \
CSV and JSON also compressed: .gz .zst .bz2 .xz. Without a known suffix, the content of a single file decides.

Exit codes: 0 done, 1 an error, 2 wrong usage, 130 interrupted.";

/// Query shards, Parquet, Arrow, CSV and JSON files by SQL.
#[derive(Debug, Parser)]
#[command(
    name = "arrow-shard-sql",
    bin_name = "arrow-shard sql",
    version,
    after_help = EXAMPLES,
    max_term_width = 100
)]
pub(crate) struct Args {
    /// Statements to run, separated by semicolons; without any, reads standard input, or prompts on a terminal
    #[arg(value_name = "SQL", conflicts_with_all = ["command", "file"])]
    pub(crate) sql: Option<String>,
    /// Statements to run, as without the option
    #[arg(
        short,
        long,
        value_name = "SQL",
        conflicts_with = "file",
        allow_hyphen_values = true
    )]
    pub(crate) command: Option<String>,
    /// Run the statements of a file; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// How to print rows
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Write the rows of the query to a file instead of printing them; its suffix decides the format
    #[arg(short, long, value_name = "FILE", conflicts_with = "format")]
    pub(crate) output: Option<PathBuf>,
    /// Let --output and COPY replace files, and add files to folders
    #[arg(long)]
    pub(crate) force: bool,
    /// Most rows of a table to show; all are counted [default: 40 on a terminal, otherwise all]
    #[arg(long, value_name = "ROWS")]
    pub(crate) max_rows: Option<usize>,
    /// Most characters in a line of a table [default: the width of the terminal; otherwise unlimited]
    #[arg(long, value_name = "CHARACTERS")]
    pub(crate) width: Option<usize>,
    /// Report the time of each statement
    #[arg(long)]
    pub(crate) timing: bool,
    /// Print rows only, without counts
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Number of threads [default: the number of processors]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Memory for sorts, joins and aggregations, such as 512M or 4G: beyond it they use temporary files, where they can
    /// [default: unlimited]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory_limit: Option<u64>,
    /// Number of rows of a CSV or JSON file from which the types of its columns are inferred
    #[arg(long, value_name = "ROWS", default_value_t = 100_000)]
    pub(crate) infer_rows: usize,
}
