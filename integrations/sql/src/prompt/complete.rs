//! Completions at the prompt, and the end of statements of several lines.

use crate::commands::{COMMANDS, formats, habit};
use crate::engine::Engine;
use crate::files::{FileTables, Kind};
use crate::statements::{is_complete, open_quote, quoted};
use crate::work::tables;
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Words of statements.
const KEYWORDS: [&str; 77] = [
    "ALL",
    "ANALYZE",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COPY",
    "COUNT",
    "CREATE",
    "CROSS",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXTERNAL",
    "FALSE",
    "FILTER",
    "FIRST",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "LAST",
    "LEFT",
    "LIKE",
    "LIMIT",
    "LOCATION",
    "NATURAL",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OPTIONS",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PARTITIONED",
    "QUALIFY",
    "REPLACE",
    "RIGHT",
    "SELECT",
    "SET",
    "SHOW",
    "STORED",
    "TABLE",
    "TABLES",
    "THEN",
    "TO",
    "TRUE",
    "UNION",
    "UNNEST",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WITH",
];

/// Names that the session knows.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tables: Vec<String>,
    columns: BTreeSet<String>,
    functions: Vec<String>,
}

impl Names {
    /// Collects the names of tables, of their columns, of the columns of files in earlier statements, and of functions.
    pub(crate) fn of(engine: &Engine) -> Self {
        let tables = tables(&engine.ctx);
        let mut columns = BTreeSet::new();
        for table in &tables {
            let provider = engine
                .ctx
                .table_provider(TableReference::bare(table.as_str()));
            if let Ok(provider) = engine.wait(provider) {
                columns.extend(columns_of(provider.as_ref()));
            }
        }
        columns.extend(engine.files.known_columns().into_values().flatten());
        let state = engine.ctx.state();
        let functions = state.scalar_functions().keys();
        let functions = functions.chain(state.aggregate_functions().keys());
        let functions = functions.chain(state.window_functions().keys());
        let functions: BTreeSet<&String> = functions.collect();
        Self {
            tables,
            columns,
            functions: functions.into_iter().cloned().collect(),
        }
    }
}

fn columns_of(table: &dyn TableProvider) -> Vec<String> {
    let schema = table.schema();
    schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect()
}

/// Returns the columns of a file.
type FileColumns = Box<dyn Fn(&str) -> Vec<String>>;

/// Answers the editor while a line is edited.
pub(crate) struct SqlHelper {
    names: Names,
    files: BTreeMap<String, Vec<String>>,
    look: FileColumns,
}

impl SqlHelper {
    /// Creates a helper for the next line.
    pub(crate) fn new(names: Names, engine: &Engine) -> Self {
        let files = Arc::clone(&engine.files);
        let known = files.known_columns();
        let handle = engine.handle();
        let look = move |name: &str| handle.block_on(local_columns(&files, name));
        Self {
            names,
            files: known,
            look: Box::new(look),
        }
    }

    /// Returns the candidates for the end of a line, and where it begins.
    fn candidates(&self, line: &str) -> (usize, Vec<Pair>) {
        if line.trim_start().starts_with('.') {
            return self.command(line);
        }
        match open_quote(line) {
            Some(('\'', start)) => return files(&line[start..], start),
            Some(_) => return (line.len(), Vec::new()),
            None => {}
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = line.trim_end_matches(is_word).len();
        let word = &line[start..];
        let mut found = BTreeMap::new();
        let mut columns: Vec<String> = self.names.columns.iter().cloned().collect();
        for file in quoted(line) {
            if !self.files.contains_key(file) {
                columns.extend((self.look)(file));
            }
        }
        for name in columns.iter().chain(&self.names.tables) {
            if begins(name, word) {
                found.insert(name.clone(), written(name));
            }
        }
        if !word.is_empty() {
            let is_upper = !word.contains(char::is_lowercase);
            for keyword in KEYWORDS.into_iter().filter(|it| begins(it, word)) {
                let keyword = if is_upper {
                    keyword.to_owned()
                } else {
                    keyword.to_lowercase()
                };
                found.entry(keyword.clone()).or_insert(keyword);
            }
            for function in self.names.functions.iter().filter(|it| begins(it, word)) {
                let call = format!("{function}(");
                found.entry(call.clone()).or_insert(call);
            }
        }
        let pair = |(display, replacement)| Pair {
            display,
            replacement,
        };
        (start, found.into_iter().map(pair).collect())
    }

    fn command(&self, line: &str) -> (usize, Vec<Pair>) {
        let start = line.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        let word = &line[start..];
        let known: Vec<String> = match line[..start].trim() {
            "" => COMMANDS.map(ToOwned::to_owned).to_vec(),
            ".format" => formats(),
            ".timing" | ".force" => vec!["off".to_owned(), "on".to_owned()],
            ".schema" => self.names.tables.clone(),
            _ => Vec::new(),
        };
        let known = known.into_iter().filter(|it| begins(it, word));
        let pair = |it: String| Pair {
            display: it.clone(),
            replacement: it,
        };
        (start, known.map(pair).collect())
    }
}

fn begins(name: &str, word: &str) -> bool {
    let start = name.get(..word.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Returns a name as statements need it: in quotes, unless it is in lower case.
fn written(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if starts && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Returns the columns of a local file; none if it cannot be read, because the name may be incomplete.
async fn local_columns(files: &FileTables, name: &str) -> Vec<String> {
    if !Path::new(name).is_file() {
        return Vec::new();
    }
    let table = files.table(name).await.ok().flatten();
    table.map_or_else(Vec::new, |table| columns_of(table.as_ref()))
}

/// Returns the folders and the files with a known suffix that begin with a path, which starts at a byte of the line.
fn files(path: &str, start: usize) -> (usize, Vec<Pair>) {
    let name_start = path.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, name) = path.split_at(name_start);
    let folder = if folder.is_empty() { "." } else { folder };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return (start, Vec::new());
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Ok(file) = entry.file_name().into_string() else {
            continue;
        };
        if !file.starts_with(name) || (file.starts_with('.') && name.is_empty()) {
            continue;
        }
        let end = if entry.path().is_dir() {
            "/"
        } else if Kind::by_name(&file).is_some() {
            "'"
        } else {
            continue;
        };
        found.push(Pair {
            display: file.clone(),
            replacement: file + end,
        });
    }
    found.sort_by(|a, b| a.display.cmp(&b.display));
    (start + name_start, found)
}

impl Completer for SqlHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        Ok(self.candidates(&line[..pos]))
    }
}

impl Validator for SqlHelper {
    fn validate(&self, line: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(
            if is_complete(line.input()) || habit(line.input()).is_some() {
                ValidationResult::Valid(None)
            } else {
                ValidationResult::Incomplete
            },
        )
    }
}

impl Hinter for SqlHelper {
    type Hint = String;
}

impl Highlighter for SqlHelper {}

impl Helper for SqlHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper() -> SqlHelper {
        let texts = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        SqlHelper {
            names: Names {
                tables: texts(&["flights"]),
                columns: texts(&["origin", "Delay"]).into_iter().collect(),
                functions: texts(&["first_value", "floor"]),
            },
            files: BTreeMap::new(),
            look: Box::new(|file| vec![format!("{file}_id")]),
        }
    }

    fn completed(line: &str) -> Vec<String> {
        let (start, found) = helper().candidates(line);
        let begin = &line[..start];
        found
            .into_iter()
            .map(|it| format!("{begin}{}", it.replacement))
            .collect()
    }

    #[test]
    fn words_are_tables_columns_functions_and_keywords() {
        assert_eq!(completed("SELECT orig"), ["SELECT origin"]);
        assert_eq!(
            completed("select de"),
            ["select \"Delay\"", "select desc", "select describe"]
        );
        assert_eq!(completed("SELECT flo"), ["SELECT floor("]);
        assert!(completed("SELECT * F").contains(&"SELECT * FROM".to_owned()));
        assert!(completed("SELECT * FROM fl").contains(&"SELECT * FROM flights".to_owned()));
        assert_eq!(
            completed("SELECT * FROM 'x' WHERE x_"),
            ["SELECT * FROM 'x' WHERE x_id"]
        );
        assert_eq!(completed("SELECT \"orig"), [""; 0]);
    }

    #[test]
    fn commands_and_their_values_are_completed() {
        assert_eq!(completed(".fo"), [".force", ".format"]);
        assert_eq!(completed(".format m"), [".format markdown"]);
        assert_eq!(completed(".schema fl"), [".schema flights"]);
    }

    #[test]
    fn quotes_complete_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("days")).unwrap();
        for file in ["data.csv", "data.txt", "days/1.amudai.shard"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let line = format!("SELECT * FROM '{}/da", root.display());
        let begin = line.strip_suffix("da").unwrap();
        let want = [format!("{begin}data.csv'"), format!("{begin}days/")];
        assert_eq!(completed(&line), want);
        assert_eq!(
            completed(&format!("{begin}days/")),
            [format!("{begin}days/1.amudai.shard'")]
        );
    }
}
