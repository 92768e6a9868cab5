//! Named facts about a file, shown as lines of text or as a JSON object.

use crate::text;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Lines of a fact with several lines.
const MAX_LINES: usize = 8;

/// Facts in the order in which they are shown.
#[derive(Debug, Default)]
pub(super) struct Facts(Vec<Fact>);

#[derive(Debug)]
struct Fact {
    name: &'static str,
    lines: Vec<String>,
    json: Value,
}

impl Facts {
    /// Adds a fact of one line.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        line: impl Into<String>,
        json: impl Into<Value>,
    ) {
        self.add_lines(name, vec![line.into()], json);
    }

    /// Adds a number.
    pub(super) fn add_number(&mut self, name: &'static str, number: u64) {
        self.add(name, number.to_string(), number);
    }

    /// Adds a fact of several lines. Without any, only JSON shows it.
    pub(super) fn add_lines(
        &mut self,
        name: &'static str,
        lines: Vec<String>,
        json: impl Into<Value>,
    ) {
        let json = json.into();
        self.0.push(Fact { name, lines, json });
    }

    /// Adds names and their values.
    pub(super) fn add_entries(&mut self, name: &'static str, entries: Vec<(String, String)>) {
        let line = |(key, value): &(String, String)| text::entry(key, value.clone());
        let lines = entries.iter().map(line).collect();
        let pairs = entries.into_iter().map(|(key, value)| (key, json!(value)));
        self.add_lines(name, lines, pairs.collect::<Map<_, _>>());
    }

    /// Prints a line for each fact, and more for those that have several.
    pub(super) fn print(&self, out: &mut impl Write, title: &str) -> io::Result<()> {
        let width = self.0.iter().map(|fact| fact.name.len()).max();
        let width = width.unwrap_or_default();
        writeln!(out, "{}", text::shown(title))?;
        for Fact { name, lines, .. } in &self.0 {
            let (shown, rest) = lines.split_at_checked(MAX_LINES).unwrap_or((lines, &[]));
            for (i, line) in shown.iter().enumerate() {
                let name = if i == 0 { name } else { "" };
                writeln!(out, "  {name:width$}  {}", text::shown(line))?;
            }
            if !rest.is_empty() {
                writeln!(out, "  {:width$}  ... and {} more", "", rest.len())?;
            }
        }
        Ok(())
    }

    /// Returns the facts as an object.
    pub(super) fn json(self, file: &str, format: &str) -> Value {
        let facts = self
            .0
            .into_iter()
            .map(|fact| (fact.name.replace([' ', '-'], "_"), fact.json));
        let mut object: Map<String, Value> = facts.collect();
        object.insert("file".to_owned(), json!(file));
        object.insert("format".to_owned(), json!(format));
        Value::Object(object)
    }
}
