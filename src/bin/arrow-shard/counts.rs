//! Numbers of rows and threads as values of options.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// Parses a number of rows.
pub(crate) fn rows<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| "expected a number of rows, such as 1000".to_owned())
}

/// Parses a number of rows above 0.
pub(crate) fn some_rows(text: &str) -> Result<u64, String> {
    let rows = text.parse().ok().filter(|&rows| rows > 0);
    rows.ok_or_else(|| "expected a number of rows of 1 or more, such as 1000".to_owned())
}

/// Parses the number of rows of a sample.
pub(crate) fn sample_size(text: &str) -> Result<u64, String> {
    if text.trim_end().ends_with('%') {
        return Err("expected a number of rows, such as 1000, not a share of the rows".to_owned());
    }
    rows(text)
}

/// Parses the number of a row.
pub(crate) fn row_number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected the number of a row, such as 17; the first row is 0".to_owned())
}

/// Maximum number of threads: each holds rows in memory.
const MAX_THREADS: usize = 1024;

/// Parses a number of threads.
pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads = text.parse().ok();
    threads
        .filter(|threads: &NonZeroUsize| threads.get() <= MAX_THREADS)
        .ok_or_else(|| format!("expected a number of threads from 1 to {MAX_THREADS}"))
}

/// Replaces `-5` after the commands `head` and `tail` by `--rows=5`, as other programs of these names read it.
pub(crate) fn spelt_out(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.collect();
    let command = all.get(1).and_then(|command| command.to_str());
    if !matches!(command, Some("head" | "tail")) {
        return all;
    }
    let options = all.iter().position(|argument| argument == "--");
    let options = options.unwrap_or(all.len());
    for argument in all.iter_mut().take(options) {
        let text = argument.to_str().unwrap_or_default();
        if let Some(digits) = text.strip_prefix('-')
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            *argument = format!("--rows={digits}").into();
        }
    }
    all
}
