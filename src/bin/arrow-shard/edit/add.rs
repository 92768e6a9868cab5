//! `arrow-shard add`

use super::TargetArgs;
use super::editing::Editing;
use super::live_values::{Added, live_values};
use crate::content::is_pipe;
use crate::external;
use crate::failure::Failure;
use crate::file_format::{FileFormat, is_standard};
use crate::input::{ColumnArgs, Input, InputArgs, ReadArgs, RowWindow, UntypedArgs};
use crate::location::open_shard;
use crate::text;
use arrow_schema::{DataType, Field, Fields};
use arrow_shard::Shard;
use arrow_shard::io::is_url;
use arrow_shard::ops::ShardEditor;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arrow-shard add flights.amudai.shard 'late=delay > 60' \"source='2026-11'\"
  arrow-shard add flights.amudai.shard --values places.csv
  arrow-shard add flights.amudai.shard --values predictions.parquet --columns score --output scored.amudai.shard

Expressions are SQL, computed by the program arrow-shard-sql, which is installed separately. The values are held in \
memory, and then written to a file of their own next to the shard; no other column is written again. Deleted rows have \
no value: the new columns are null in them. A shard that was one file becomes several, which have to be kept together; the output says \
how many, and `arrow-shard pack` makes one file of them.";

/// Add columns: SQL expressions, or the columns of another file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory file of the shard
    file: PathBuf,
    /// Columns to add, computed from the others by SQL; or one column, with the values of a file's column of that name,
    /// or of its only column. A file is meant by `-` (standard input), a URL, the path of a file that exists, or a name
    /// that shows a format, unless a column has that name, or the part before its first dot
    #[arg(
        value_name = "COLUMN=EXPRESSION|FILE",
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

/// The program that computes expressions.
const PROGRAM: &str = "arrow-shard-sql";

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let reading = ReadArgs::plain(&args.reading, &UntypedArgs::default());
    let mut editing = Editing::open(&args.file, reading.editing_options()?, args.target.quiet)?;
    editing.check_commit(args.target.output.as_deref())?;
    let shard = open_shard(&args.file, reading.shard_options()?)?;
    let columns = match (
        &args.values,
        column_of_file(&args.expressions, editing.editor())?,
    ) {
        (Some(values), _) => read(args, &reading, values, None, &shard, editing.editor())?,
        (None, Some((name, values))) => {
            let column = Some(name.as_str());
            read(args, &reading, &values, column, &shard, editing.editor())?
        }
        (None, None) => compute(args, &shard, editing.editor())?,
    };
    // Values of one version do not belong to the rows of another.
    editing.check_commit(args.target.output.as_deref())?;
    for (field, column) in columns {
        editing.add_column_values(field, column)?;
    }
    args.target.commit(editing, &args.file)
}

/// Returns the name of the column and the path of the file if the expression is a path, and not the name of a column.
fn column_of_file(
    expressions: &[String],
    editor: &ShardEditor,
) -> Result<Option<(String, PathBuf)>, Failure> {
    let is_path = |text: &str| {
        let path = Path::new(text);
        let is_shown = is_standard(path) || is_url(text) || FileFormat::by_name(path).is_some();
        // A member of a struct may look like a file.
        let column = text.split('.').next().unwrap_or_default();
        let is_column = |name| editor.schema().index_of(name).is_ok();
        (is_shown || path.is_file() || is_pipe(path)) && !is_column(text) && !is_column(column)
    };
    for text in expressions {
        let (name, path) = new_column(text)?;
        if !is_path(path) {
            continue;
        }
        if expressions.len() > 1 {
            return Err(Failure::Usage(format!(
                "{path} is a file, and its column has to be added alone"
            )));
        }
        return Ok(Some((name.to_owned(), path.into())));
    }
    Ok(None)
}

/// Splits an argument into the name of the new column, and its expression or file.
fn new_column(text: &str) -> Result<(&str, &str), Failure> {
    let (name, expression) = super::pair(text, "COLUMN=EXPRESSION")?;
    match name.trim() {
        "" => Err(Failure::Usage(format!(
            "the column of `{text}` has no name"
        ))),
        name => Ok((name, expression)),
    }
}

/// Reads the columns of a file, or one of them under a name of its own.
fn read(
    args: &Args,
    reading: &ReadArgs,
    values: &Path,
    column: Option<&str>,
    shard: &Shard,
    editor: &ShardEditor,
) -> Result<Added, Failure> {
    reading.check_added(&[values.to_owned()])?;
    let mut input = reading.open(values, &args.columns, RowWindow::default())?;
    let mut fields = input.schema.fields().clone();
    if let Some(name) = column {
        if input.schema.index_of(name).is_ok() {
            input = input.choose(&[name.to_owned()], &values.display().to_string())?;
            fields = input.schema.fields().clone();
        } else if let [only] = fields.as_ref() {
            fields = Fields::from(vec![Field::clone(only).with_name(name)]);
        } else {
            return Err(Failure::Usage(format!(
                "{} has {} columns, and none is `{name}`; name those to add with --values and --columns",
                values.display(),
                fields.len()
            )));
        }
    }
    check_new(editor, &fields)?;
    let columns = live_values(input, shard, args.target.quiet);
    let columns = columns.map_err(|failure| failure.within(values.display()))?;
    let named = fields.iter().map(|field| Field::clone(field)).zip(columns);
    Ok(named.map(|(field, (_, values))| (field, values)).collect())
}

/// Fails if the shard has one of the columns, before values are computed and encoded.
fn check_new(editor: &ShardEditor, fields: &Fields) -> Result<(), Failure> {
    let schema = editor.schema();
    match fields.iter().find(|it| schema.index_of(it.name()).is_ok()) {
        None => Ok(()),
        Some(field) => Err(Failure::new(format!(
            "the shard already has a column `{}`; choose another name",
            text::shown(field.name())
        ))),
    }
}

/// Computes the values of expressions by SQL. The program sends them as a stream, so that no file of them is left if a
/// signal ends this process.
fn compute(args: &Args, shard: &Shard, editor: &ShardEditor) -> Result<Added, Failure> {
    if let Some(option) = args.reading.given() {
        return Err(Failure::Usage(format!(
            "{option} is for reading the file of --values; {PROGRAM} reads the shard with its defaults"
        )));
    }
    let sql = query(args, editor)?;
    // The expressions run on one thread: more would have to sort the rows.
    let options = [
        "--quiet",
        "--threads",
        "1",
        "--format",
        "arrow",
        "--command",
    ];
    let child = external::start(PROGRAM, options.into_iter().chain([sql.as_str()]));
    let mut child = child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            external::not_installed(PROGRAM, "expressions need", "integrations/sql")
        }
        _ => Failure::from(error).within(PROGRAM),
    })?;
    let added = match child.stdout.take() {
        Some(stream) => Input::of_stream(stream, PROGRAM)
            .and_then(|input| live_values(input, shard, args.target.quiet)),
        None => Err(Failure::new("there is no output").within(PROGRAM)),
    };
    let ended = match &added {
        Ok(_) => Some(child.wait()?),
        Err(_) => external::ended_by_itself(&mut child)?,
    };
    match ended {
        Some(status) if status.code().is_none() => Err(Failure::new(format!(
            "a signal has ended {PROGRAM}: perhaps the memory did not suffice"
        ))),
        // The program has told why.
        Some(status) if !status.success() => Err(Failure::Reported),
        _ => added.map_err(|failure| failure.of_file(&args.file)),
    }
}

/// Returns the query for the values of all expressions, in the order of the rows.
fn query(args: &Args, editor: &ShardEditor) -> Result<String, Failure> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let (mut columns, mut fields) = (Vec::new(), Vec::new());
    for text in &args.expressions {
        let (name, expression) = new_column(text)?;
        columns.push(format!("({expression}) AS {}", quoted(name)));
        fields.push(Field::new(name, DataType::Null, true));
    }
    let fields = Fields::from(fields);
    check_new(editor, &fields)?;
    let schema = editor.schema();
    // A new column of this name would be the order of the rows.
    let mut row = "row".to_owned();
    while (schema.fields().iter().chain(&fields)).any(|it| it.name().eq_ignore_ascii_case(&row)) {
        row.push('_');
    }
    let (columns, row) = (columns.join(", "), quoted(&row));
    let file = args.file.display().to_string().replace('\'', "''");
    Ok(format!(
        "SELECT {columns} FROM (SELECT *, row_number() OVER () AS {row} FROM '{file}') ORDER BY {row}"
    ))
}
