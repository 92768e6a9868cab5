//! `arrow-shard diff`

mod columns;
mod key;
mod position;
mod report;

use crate::counts::rows;
use crate::failure::Failure;
use crate::file_format::is_standard;
use crate::input::{ColumnArgs, ColumnNames, Input, ReadArgs, RowWindow};
use columns::Columns;
use report::Report;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard diff old.amudai.shard new.amudai.shard
  arrow-shard diff --key id --json old.parquet new.csv
  arrow-shard diff --quiet --columns id,delay old days || echo changed

Prints nothing and ends with code 0 if there is no difference; otherwise with code 1. Lines begin with - (only in A), \
+ (only in B) or ~ (changed), and show the values of the row, or of the columns that changed: `x 1 -> 2`. Rows are \
compared by position, or with --key by the values of columns, which must be \
unique; then the keys of A, and a hash of each row, are kept in memory. Columns are compared by name. Values of types \
that differ in width, unit or encoding are compared; the values of other types, such as text and numbers, \
are not. The order of columns, their nullability and metadata do not count.";

/// Compare two files: columns, number of rows, and values
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file, a folder (with its subfolders), a glob in quotes, or a URL; `-` is standard input (IPC stream, CSV,
    /// NDJSON)
    a: PathBuf,
    /// The other one
    b: PathBuf,
    #[command(flatten)]
    reading: ReadArgs,
    #[command(flatten)]
    columns: ColumnArgs,
    /// Columns that identify a row, separated by commas; otherwise rows are compared by position
    #[arg(long, value_name = "COLUMNS")]
    key: Vec<ColumnNames>,
    /// Maximum number of rows to print; the others are counted
    #[arg(long, short = 'n', value_name = "ROWS", default_value_t = 10, value_parser = rows::<usize>)]
    limit: usize,
    /// Print one JSON object per difference, and one with the numbers of all
    #[arg(long)]
    json: bool,
    /// Print nothing, and end at the first difference
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
}

/// One of the two sides.
struct Side {
    name: String,
    files: Vec<PathBuf>,
}

impl Side {
    fn find(path: &Path, reading: &ReadArgs) -> Result<Self, Failure> {
        Ok(Self {
            name: path.display().to_string(),
            files: reading.files(&[path.to_owned()])?.paths,
        })
    }

    fn open(&self, args: &Args) -> Result<Input, Failure> {
        let rows = RowWindow::default();
        args.reading.open_all(&self.files, &args.columns, rows)
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if is_standard(&args.a) && is_standard(&args.b) {
        let why = "standard input can be only one of the files".to_owned();
        return Err(Failure::Usage(why));
    }
    let key = ColumnNames::all(&args.key);
    if is_standard(&args.a) && !key.is_empty() {
        let why =
            "with --key, the first file is read twice, so standard input can only be the second";
        return Err(Failure::Usage(why.to_owned()));
    }
    let a = Side::find(&args.a, &args.reading)?;
    let b = Side::find(&args.b, &args.reading)?;
    args.reading
        .check(&[&a.files[..], &b.files].concat(), None)?;
    let (left, right) = (a.open(args)?, b.open(args)?);
    let columns = Columns::of(&left.schema, &right.schema);
    let mut report = Report::new(args, &a.name, &b.name);
    report.columns(&columns.differences)?;
    let is_decided = args.quiet && report.has_differences();
    if !is_decided {
        let left = left.with_progress(args.quiet);
        if key.is_empty() {
            position::compare(left, right, &columns, &mut report)?;
        } else {
            let keys = columns.split_key(&key)?;
            let right = right.with_progress(args.quiet);
            key::compare(&keys, (left, right), || a.open(args), &mut report)?;
        }
    }
    report.finish()
}
