//! Advice for CSV that seems to have another delimiter.

/// Returns advice if a line that was read as a single value contains another usual delimiter.
pub(super) fn other_delimiter(line: &[u8]) -> Option<String> {
    let other = b";\t|,".iter().find(|it| line.contains(it));
    other.map(|it| delimiter_advice(*it))
}

/// Returns advice to read the text with another delimiter.
pub(super) fn delimiter_advice(delimiter: u8) -> String {
    let shown = char::from(delimiter).escape_default();
    format!("if `{shown}` separates the values, read the file with --delimiter '{shown}'")
}
