//! Errors as one line of text. The programs `arrow-shard-lance` and `arrow-shard-sql` compile this file, too.

use crate::safe_text::shown;
use std::error::Error;

/// Returns the messages of an error and its causes, each once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(error) = below {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        below = error.source();
    }
    text
}

/// Prints the message of an error in one line.
pub(crate) fn print_error(message: &str) {
    let words = message
        .split([' ', '\n', '\t', '\r'])
        .filter(|word| !word.is_empty());
    let line: Vec<_> = words.map(shown).collect();
    eprintln!("error: {}", line.join(" "));
}
