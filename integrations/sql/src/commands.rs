//! Commands of the prompt, which begin with a dot. Scripts may contain them.

use crate::engine::Engine;
use crate::failure::Failure;
use crate::names;
use crate::output::Format;
use crate::safe_text::shown;
use crate::work::tables;
use clap::ValueEnum;
use datafusion::arrow::datatypes::Schema;
use datafusion::common::TableReference;

/// The names of the commands.
pub(crate) const COMMANDS: [&str; 8] = [
    ".force", ".format", ".help", ".quit", ".rows", ".schema", ".tables", ".timing",
];

const HELP: &str = "\
.tables           list tables and views
.schema [TABLE]   show the columns of a table or file; without a name, of all tables
.format [FORMAT]  print rows as table, csv, json, ndjson or markdown
.rows [N]         show at most N rows of a table, or all
.timing on|off    report the time of each statement
.force on|off     let COPY replace files
.quit             end, as Ctrl-D, quit, exit and \\q do

Statements end with a semicolon, and may have several lines. Files, folders and globs are tables:
  SELECT * FROM 'flights.amudai.shard' LIMIT 5;
  COPY (SELECT * FROM 'days/*.csv') TO 'days.parquet';
Tab completes names. Ctrl-C ends a statement that runs.";

/// Whether a script or the prompt goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Quit,
}

/// Returns the command that a line means in the prompts of other programs, if it is one: `exit`, or psql's `\q`.
pub(crate) fn habit(line: &str) -> Option<&'static str> {
    match line.trim().trim_end_matches(';').trim_end() {
        "exit" | "quit" | "\\q" => Some(".quit"),
        "help" | "\\?" | "\\h" => Some(".help"),
        "\\d" | "\\dt" => Some(".tables"),
        "\\timing" => Some(".timing on"),
        _ => None,
    }
}

/// Runs a command.
pub(crate) fn command(engine: &mut Engine, line: &str) -> Result<Flow, Failure> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match name {
        ".quit" | ".exit" => return Ok(Flow::Quit),
        ".help" => print(HELP)?,
        ".tables" => {
            for table in tables(&engine.ctx) {
                print(&shown(&table))?;
            }
        }
        ".schema" => schema(engine, rest)?,
        ".format" if rest.is_empty() => {
            let value = engine.style.format.to_possible_value();
            print(value.as_ref().map_or("", |value| value.get_name()))?;
        }
        ".format" => engine.style.format = format_named(rest)?,
        ".rows" => engine.style.max_rows = rows(rest)?,
        ".timing" => engine.timing = switch(name, rest)?,
        ".force" => engine.force = switch(name, rest)?,
        _ => {
            let advice = match names::nearest(name, COMMANDS.into_iter()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => ".help lists them".to_owned(),
            };
            return Err(Failure::new(format!(
                "there is no command `{name}`; {advice}"
            )));
        }
    }
    Ok(Flow::Continue)
}

fn print(line: &str) -> Result<(), Failure> {
    use std::io::Write;
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

fn switch(name: &str, value: &str) -> Result<bool, Failure> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Failure::new(format!("{name} takes `on` or `off`"))),
    }
}

fn rows(value: &str) -> Result<Option<usize>, Failure> {
    if value.is_empty() || value == "all" {
        return Ok(None);
    }
    let wrong = |_| Failure::new(".rows takes a number of rows, or `all`");
    value.parse().map(Some).map_err(wrong)
}

/// Prints the columns of a table, or of all tables.
fn schema(engine: &Engine, name: &str) -> Result<(), Failure> {
    let name = name.trim_matches(['\'', '"']);
    if !name.is_empty() {
        let table = engine.ctx.table_provider(TableReference::bare(name));
        let table = match engine.wait(table) {
            Ok(table) => Some(table),
            Err(error) if crate::files::is_like_path(name) => return Err(error.into()),
            Err(_) => None,
        };
        let Some(table) = table else {
            let known = tables(&engine.ctx);
            let nearest = names::nearest(name, known.iter().map(String::as_str));
            let advice = nearest.map_or_else(String::new, |it| format!("; did you mean `{it}`?"));
            return Err(Failure::new(format!(
                "there is no table or file `{name}`{advice}"
            )));
        };
        return columns(&table.schema());
    }
    for name in tables(&engine.ctx) {
        let table = engine.wait(
            engine
                .ctx
                .table_provider(TableReference::bare(name.as_str())),
        )?;
        print(&shown(&name))?;
        columns(&table.schema())?;
    }
    Ok(())
}

fn columns(schema: &Schema) -> Result<(), Failure> {
    for field in schema.fields() {
        let null = if field.is_nullable() { "" } else { " NOT NULL" };
        print(&format!(
            "  {} {}{null}",
            shown(field.name()),
            field.data_type()
        ))?;
    }
    Ok(())
}

fn format_named(name: &str) -> Result<Format, Failure> {
    Format::from_str(name, true).map_err(|_| {
        let known = formats().join(", ");
        Failure::new(format!("there is no format `{name}`; there are {known}"))
    })
}

/// Returns the names of the formats.
pub(crate) fn formats() -> Vec<String> {
    let values = Format::value_variants().iter();
    let values = values.filter_map(|it| it.to_possible_value());
    values.map(|it| it.get_name().to_owned()).collect()
}
