//! Text that is safe to print. The programs `arrow-shard-lance` and `arrow-shard-sql` compile this file, too.

use std::borrow::Cow;

/// Returns text that cannot control a terminal: control characters and characters that change the writing direction are
/// escaped as in Rust.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(shown("ä \"b\""), "ä \"b\"");
        assert_eq!(shown("a\u{1b}[2J\nb\u{202e}"), "a\\u{1b}[2J\\nb\\u{202e}");
    }
}
