//! Compares a shard over a Parquet file with the asynchronous reader of the crate `parquet`, over the same file in a
//! slow store. Both open the file for every question.

use crate::counted::Reads;
use crate::data::{self, Filter};
use crate::peer::{Format, Opened, Want, parquet, shard};
use crate::question::Condition;
use crate::store::Remote;
use anyhow::{Context, Result, ensure};
use arrow_shard::ops::attach;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const PARQUET: &str = "lake/table.parquet";
const SHARD: &str = "table.amudai.shard";

/// A kind of read, with its name.
type Question = (&'static str, fn(&Task, &mut dyn Opened) -> Result<u64>);

const QUESTIONS: [Question; 3] = [
    ("open, and read 3 columns", Task::project),
    ("open, and read a row", Task::take),
    ("open, and read a month", Task::month),
];

/// Prints rounds of requests, bytes and time of each question, for a table in the order of `l_shipdate`.
pub(crate) fn compare(data: &Path) -> Result<()> {
    let task = Task::new(data, "lineitem_sorted")?;
    println!(
        "| | rounds | of `parquet` | MB | of `parquet` | ms | of `parquet` |\n|-|-:|-:|-:|-:|-:|-:|"
    );
    for (name, ask) in QUESTIONS {
        let [attached, parquet] =
            [Subject::Attached, Subject::Parquet].map(|subject| task.measure(subject, ask));
        let (attached, parquet) = (attached?, parquet?);
        ensure!(attached.rows == parquet.rows, "{name}: other rows");
        let pair = |of: fn(&Cost) -> String| format!("{} | {}", of(&attached), of(&parquet));
        println!(
            "| {name} | {} | {} | {} |",
            pair(|cost| cost.rounds.to_string()),
            pair(|cost| format!("{:.2}", cost.bytes as f64 / 1e6)),
            pair(|cost| format!("{:.0}", cost.milliseconds)),
        );
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Subject {
    Attached,
    Parquet,
}

struct Cost {
    rows: u64,
    rounds: u64,
    bytes: u64,
    milliseconds: f64,
}

struct Task {
    data: PathBuf,
    table: &'static str,
    folder: PathBuf,
    columns: [usize; 3],
    middle: u64,
}

impl Task {
    /// Writes the table to a Parquet file, and attaches it.
    fn new(data: &Path, table: &'static str) -> Result<Self> {
        let source = data::open(data, table)?;
        let (schema, rows) = (source.schema(), data::rows(&source)?);
        let folder = data.join("attached");
        let file = folder.join(PARQUET);
        std::fs::create_dir_all(file.parent().context("a folder")?)?;
        let mut batches = source;
        let parquet = Format::ParquetZstd.peer(1);
        parquet.write(&file, &schema, &mut batches)?;
        let target = folder.join(SHARD);
        if target.is_file() {
            std::fs::remove_file(&target)?;
        }
        attach([&file], &target)?;
        let last = schema.fields().len() - 1;
        Ok(Self {
            data: data.to_owned(),
            table,
            folder,
            columns: [0, last / 2, last],
            middle: rows / 2,
        })
    }

    fn measure(
        &self,
        subject: Subject,
        ask: fn(&Self, &mut dyn Opened) -> Result<u64>,
    ) -> Result<Cost> {
        let reads = Arc::new(Reads::default());
        let [file, directory] = [PARQUET, SHARD].map(|name| self.folder.join(name));
        let files = [(PARQUET, file.as_path()), (SHARD, directory.as_path())];
        let read = match subject {
            Subject::Attached => SHARD,
            Subject::Parquet => PARQUET,
        };
        let remote = Remote::of_files(&files, read, &reads)?;
        let begun = Instant::now();
        let mut opened: Box<dyn Opened> = match subject {
            Subject::Attached => Box::new(shard::OpenObject::open(remote)?),
            Subject::Parquet => {
                let size = std::fs::metadata(&file)?.len();
                Box::new(parquet::OpenObject::of(remote, size))
            }
        };
        let rows = ask(self, &mut *opened)?;
        Ok(Cost {
            rows,
            rounds: reads.rounds(),
            bytes: reads.bytes(),
            milliseconds: begun.elapsed().as_secs_f64() * 1e3,
        })
    }

    fn project(&self, opened: &mut dyn Opened) -> Result<u64> {
        scan(opened, Want::Columns(&self.columns))
    }

    fn take(&self, opened: &mut dyn Opened) -> Result<u64> {
        Ok(opened.take(&[self.middle])?.num_rows() as u64)
    }

    fn month(&self, opened: &mut dyn Opened) -> Result<u64> {
        let filter = Filter::of(&self.data, self.table, Condition::Range)?;
        scan(opened, Want::Matching(&filter))
    }
}

fn scan(opened: &mut dyn Opened, want: Want<'_>) -> Result<u64> {
    let mut rows = 0;
    opened.scan(want, &mut |batch| rows += batch.num_rows() as u64)?;
    Ok(rows)
}
