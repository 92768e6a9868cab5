//! Converts errors of the Lance crates to errors of `arrow-shard`.

use arrow_shard::{Error, ErrorKind};
use std::path::Path;

/// Converts an error of the Lance crates; `kind` is the kind for errors without a specific one.
pub(crate) fn from_lance(error: &lance_core::Error, kind: ErrorKind) -> Error {
    use lance_core::Error as Lance;
    let kind = match error {
        Lance::NotSupported { .. } | Lance::VersionConflict { .. } => ErrorKind::Unsupported,
        Lance::NotFound { .. } | Lance::DatasetNotFound { .. } => ErrorKind::NotFound,
        Lance::IO { .. } => ErrorKind::Io,
        _ => kind,
    };
    Error::new(kind, without_locations(&error.to_string()))
}

/// Returns the name of a file in errors.
pub(crate) fn file_name(path: &Path) -> String {
    format!("file `{}`", path.display())
}

/// Removes the places in the source code of the Lance crates (`, /…/file.rs:12:34`) from a message, and the words that
/// say nothing to a user.
fn without_locations(message: &str) -> String {
    let mut rest = message;
    let mut text = String::with_capacity(message.len());
    while let Some(at) = rest.find(".rs:") {
        let (before, after) = rest.split_at(at);
        let start = before
            .rfind(|c: char| c.is_whitespace() || c == '(')
            .map_or(0, |at| at + 1);
        text.push_str(before[..start].trim_end().trim_end_matches([',', '(']));
        // The line, and the column after another colon.
        let after = after[".rs:".len()..].trim_start_matches(|c: char| c.is_ascii_digit());
        rest = match after.strip_prefix(':') {
            Some(column) if column.starts_with(|c: char| c.is_ascii_digit()) => {
                column.trim_start_matches(|c: char| c.is_ascii_digit())
            }
            _ => after,
        };
    }
    text.push_str(rest);
    let text = text.trim();
    let plain = [
        "Invalid user input: ",
        "LanceError(IO): ",
        "LanceError(Arrow): ",
    ]
    .iter()
    .find_map(|words| text.strip_prefix(words));
    plain.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_no_places_in_source_code() {
        for (message, expected) in [
            (
                "Not supported: x, /a b/c-1.2/src/d.rs:12:34",
                "Not supported: x, /a",
            ),
            ("Invalid user input: y, src/d.rs:12:34", "y"),
            ("one, src/d.rs:1:2: two, src/e.rs:3:4", "one: two"),
            ("nothing to remove", "nothing to remove"),
        ] {
            assert_eq!(without_locations(message), expected);
        }
    }
}
