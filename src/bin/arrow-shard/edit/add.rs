//! `arrow-shard add`

use super::TargetArgs;
use super::editing::Editing;
use super::live_values::live_values;
use crate::external;
use crate::failure::Failure;
use crate::input::{ColumnArgs, InputArgs, ReadArgs, RowWindow, UntypedArgs};
use crate::location::open_shard;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard add flights.amudai.shard 'speed=distance / nullif(minutes, 0)' \"source='2026-11'\"
  arrow-shard add flights.amudai.shard --values places.csv
  arrow-shard add flights.amudai.shard --values predictions.parquet --columns score --output scored.amudai.shard

Expressions are SQL, computed by the program arrow-shard-sql, which is installed separately. The values are \
written to a file of their own next to the shard; no other column is copied. Deleted rows have no value: the new \
columns are null in them. A shard that was one file becomes several, which have to be kept together; the output says \
how many, and `arrow-shard pack` makes one file of them.";

/// Add columns: SQL expressions, or the columns of another file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Columns to add, computed from the others by SQL
    #[arg(
        value_name = "COLUMN=EXPRESSION",
        required_unless_present = "values",
        conflicts_with_all = ["values", "columns"]
    )]
    expressions: Vec<String>,
    /// Add the columns of this file, of any format: one row for each row of the shard, in their order
    #[arg(long, value_name = "FILE")]
    values: Option<PathBuf>,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    reading: InputArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let reading = ReadArgs::plain(&args.reading, &UntypedArgs::default());
    let mut editing = Editing::open(&args.file, reading.editing_options()?, args.target.quiet)?;
    match &args.values {
        Some(values) => {
            reading.check_added(std::slice::from_ref(values))?;
            add(&mut editing, args, &reading, values)?;
        }
        None => {
            let folder = tempfile::tempdir()?;
            let values = folder.path().join("values.arrow");
            compute(args, &values)?;
            add(&mut editing, args, &reading, &values)?;
        }
    }
    args.target.commit(editing, &args.file)
}

/// Adds the columns of a file.
fn add(
    editing: &mut Editing,
    args: &Args,
    reading: &ReadArgs,
    values: &Path,
) -> Result<(), Failure> {
    let shard = open_shard(&args.file, reading.shard_options()?)?;
    let input = reading.open(values, &args.columns, RowWindow::default())?;
    let columns = live_values(input, &shard, args.target.quiet);
    for (field, column) in columns.map_err(|failure| failure.within(values.display()))? {
        editing.add_column_values(field, column)?;
    }
    Ok(())
}

/// Writes the values of expressions to a file, by SQL.
fn compute(args: &Args, values: &Path) -> Result<(), Failure> {
    let program = "arrow-shard-sql";
    let mut columns = Vec::new();
    for text in &args.expressions {
        let (name, expression) = text
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("expected COLUMN=EXPRESSION, found `{text}`")))?;
        columns.push(format!(
            "({expression}) AS \"{}\"",
            name.replace('"', "\"\"")
        ));
    }
    let file = args.file.display().to_string().replace('\'', "''");
    let sql = format!("SELECT {} FROM '{file}'", columns.join(", "));
    // One thread keeps the order of the rows.
    let options = ["--quiet", "--threads", "1", "--command", &sql, "--output"].map(OsStr::new);
    match external::wait_for(program, options.iter().copied().chain([values.as_os_str()])) {
        Ok(status) if status.success() => Ok(()),
        // The program has told why.
        Ok(_) => Err(Failure::Reported),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(external::not_installed(
            program,
            "expressions need",
            "integrations/sql",
        )),
        Err(error) => Err(Failure::from(error).within(program)),
    }
}
