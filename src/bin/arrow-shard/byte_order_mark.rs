//! The mark of byte order with which UTF-8 text may begin.

/// Returns the text after the marks at its start. Some programs write the mark twice.
pub(crate) fn after_marks(mut text: &[u8]) -> &[u8] {
    while let Some(rest) = text.strip_prefix(b"\xEF\xBB\xBF") {
        text = rest;
    }
    text
}
