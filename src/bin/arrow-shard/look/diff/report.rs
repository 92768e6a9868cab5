//! Prints differences, and counts them.

use super::Args;
use super::columns::Difference;
use crate::failure::Failure;
use crate::output::Destination;
use crate::table;
use crate::text;
use crate::values::{self, Json};
use arrow_array::ArrayRef;
use serde_json::json;
use std::io::{self, Write};

/// How a row or a column differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Both have it, but not the same.
    Changed,
    /// Only A has it.
    Removed,
    /// Only B has it.
    Added,
}

impl Change {
    fn sign(self) -> char {
        match self {
            Self::Changed => '~',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Added => "added",
        }
    }
}

/// The identity of a row. Arrays have one value.
pub(super) enum RowPlace {
    Row(u64),
    Key(Vec<(String, ArrayRef)>),
}

/// A column of a row that differs. Arrays have one value.
pub(super) enum Values {
    /// The values of A and B.
    Both(String, ArrayRef, ArrayRef),
    /// The value in a row that only one of them has.
    Of(String, ArrayRef),
}

impl Values {
    /// Returns the name of the column, and its values as JSON.
    fn json(&self, change: Change) -> Result<(&str, Json), Failure> {
        Ok(match self {
            Self::Both(name, a, b) => {
                let pair = [("a", values::json(a, 0)?), ("b", values::json(b, 0)?)];
                (name.as_str(), Json::object(pair))
            }
            Self::Of(name, value) => {
                let side = if change == Change::Removed { "a" } else { "b" };
                let value = values::json(value, 0)?;
                (name.as_str(), Json::object([(side, value)]))
            }
        })
    }

    /// Returns the name of the column, and its values as text.
    fn text(&self) -> Result<String, Failure> {
        Ok(match self {
            Self::Both(name, a, b) => format!("{name} {} -> {}", shown(a)?, shown(b)?),
            Self::Of(name, value) => format!("{name} {}", shown(value)?),
        })
    }
}

/// A row that differs.
pub(super) struct RowChange {
    pub(super) place: RowPlace,
    pub(super) change: Change,
    pub(super) values: Vec<Values>,
}

/// Numbers of rows.
#[derive(Debug, Default)]
struct Counts {
    a: u64,
    b: u64,
    changed: u64,
    removed: u64,
    added: u64,
}

/// The differences of two tables.
pub(super) struct Report<'a> {
    out: Destination,
    args: &'a Args,
    names: (&'a str, &'a str),
    has_title: bool,
    columns: u64,
    counts: Counts,
    /// Number of rows that have been printed.
    printed: usize,
}

impl<'a> Report<'a> {
    pub(super) fn new(args: &'a Args, a: &'a str, b: &'a str) -> Self {
        Self {
            out: Destination::standard(),
            args,
            names: (a, b),
            has_title: false,
            columns: 0,
            counts: Counts::default(),
            printed: 0,
        }
    }

    /// Returns the names of both tables.
    pub(super) fn names(&self) -> (&'a str, &'a str) {
        self.names
    }

    /// Returns the maximum number of rows to print.
    pub(super) fn limit(&self) -> usize {
        self.args.limit
    }

    /// Whether all rows to print have been printed.
    pub(super) fn is_full(&self) -> bool {
        self.printed >= self.args.limit
    }

    /// Whether nothing more needs to be known.
    pub(super) fn is_decided(&self) -> bool {
        self.args.quiet && self.has_differences()
    }

    /// Whether any difference has been counted.
    pub(super) fn has_differences(&self) -> bool {
        let Counts {
            changed,
            removed,
            added,
            ..
        } = self.counts;
        self.columns > 0 || changed > 0 || removed > 0 || added > 0
    }

    /// Adds rows of both tables.
    pub(super) fn add_rows(&mut self, a: u64, b: u64) {
        self.counts.a += a;
        self.counts.b += b;
    }

    /// Counts rows that differ.
    pub(super) fn count(&mut self, change: Change, rows: usize) {
        let count = match change {
            Change::Changed => &mut self.counts.changed,
            Change::Removed => &mut self.counts.removed,
            Change::Added => &mut self.counts.added,
        };
        *count += rows as u64;
    }

    /// Prints and counts columns that differ.
    pub(super) fn columns(&mut self, differences: &[Difference]) -> Result<(), Failure> {
        for Difference { name, a, b } in differences {
            self.columns += 1;
            let [a, b] = [a, b].map(|ty| ty.as_ref().map(ToString::to_string));
            let (change, types) = match (&a, &b) {
                (Some(a), Some(b)) => (Change::Changed, format!("{a} -> {b}")),
                (Some(a), None) => (Change::Removed, a.clone()),
                (None, b) => (Change::Added, b.clone().unwrap_or_default()),
            };
            if self.args.json {
                let (kind, change) = ("column", change.name());
                let line =
                    json!({ "kind": kind, "change": change, "column": name, "a": a, "b": b });
                writeln!(self.out, "{line}")?;
            } else {
                self.line(&format!("{} column {name}: {types}", change.sign()))?;
            }
        }
        Ok(())
    }

    /// Prints a row that differs, unless enough rows have been printed.
    pub(super) fn row(&mut self, row: RowChange) -> Result<(), Failure> {
        if self.is_full() {
            return Ok(());
        }
        self.printed += 1;
        let RowChange {
            place,
            change,
            values,
        } = row;
        if self.args.json {
            let columns: Vec<(&str, Json)> = values
                .iter()
                .map(|value| value.json(change))
                .collect::<Result<_, Failure>>()?;
            let place = match &place {
                RowPlace::Row(row) => ("row", Json::of(*row)),
                RowPlace::Key(key) => {
                    let values = key
                        .iter()
                        .map(|(name, value)| Ok((name.as_str(), values::json(value, 0)?)));
                    let values: Vec<(&str, Json)> = values.collect::<Result<_, Failure>>()?;
                    ("key", Json::object(values))
                }
            };
            let line = Json::object([
                ("kind", Json::of("row")),
                ("change", Json::of(change.name())),
                ("columns", Json::object(columns)),
                place,
            ]);
            writeln!(self.out, "{line}")?;
            return Ok(());
        }
        let place = match place {
            RowPlace::Row(row) => format!("row {row}"),
            RowPlace::Key(key) => {
                let values = key
                    .iter()
                    .map(|(name, value)| Ok(format!("{name} = {}", shown(value)?)));
                values.collect::<Result<Vec<_>, Failure>>()?.join(", ")
            }
        };
        let values = values.iter().map(Values::text);
        let values = values.collect::<Result<Vec<_>, Failure>>()?.join(", ");
        let colon = if values.is_empty() { "" } else { ": " };
        self.line(&format!("{} {place}{colon}{values}", change.sign()))?;
        Ok(())
    }

    /// Prints a line, after the names of the tables.
    fn line(&mut self, line: &str) -> io::Result<()> {
        if self.args.quiet {
            return Ok(());
        }
        if !self.has_title {
            self.has_title = true;
            writeln!(self.out, "--- {}", text::shown(self.names.0))?;
            writeln!(self.out, "+++ {}", text::shown(self.names.1))?;
        }
        writeln!(self.out, "{}", text::shown(line))
    }

    /// Prints the numbers of differences. Fails if there are any.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let (
            Counts {
                a,
                b,
                changed,
                removed,
                added,
            },
            columns,
        ) = (&self.counts, self.columns);
        if self.args.json {
            let line = json!({
                "kind": "summary",
                "columns": columns,
                "rows_a": a,
                "rows_b": b,
                "changed": changed,
                "removed": removed,
                "added": added,
            });
            writeln!(self.out, "{line}")?;
        } else if self.has_differences() {
            let line = format!(
                "{} and {} differ: {changed} changed, {removed} only in the first, {added} only in the \
                 second; there are {a} and {b} rows",
                text::count(columns, "column"),
                text::count(changed + removed + added, "row"),
            );
            self.line(&line)?;
        }
        self.out.flush()?;
        if self.has_differences() {
            Err(Failure::Reported)
        } else {
            Ok(())
        }
    }
}

/// Returns a value as tables show it, and null as `null`.
fn shown(value: &ArrayRef) -> Result<String, Failure> {
    if value.is_null(0) {
        Ok("null".to_owned())
    } else {
        table::value(value, 0)
    }
}
