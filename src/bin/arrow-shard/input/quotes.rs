//! Checks the quotes of CSV: text that the parser would misread is an error.

use crate::csv_style::CsvStyle;
use memchr::{memchr, memchr_iter, memchr2, memrchr2};
use std::io::{self, ErrorKind, Read};

/// Passes CSV text through unchanged. A value that continues after its closing quote with anything but blanks, or a
/// quote that is not closed, is an error with its line.
pub(super) struct Quotes<R> {
    inner: R,
    delimiter: u8,
    /// The byte before a quote that is part of a value.
    escape: Option<u8>,
    state: QuoteState,
    /// The numbers, from 1, of the current line and of the line with the last opening quote.
    line: u64,
    opened: u64,
    /// Number of bytes passed, and number of those up to the end of the last whole record.
    passed: u64,
    record_end: u64,
    /// The previous byte, and the byte before the last closing quote.
    last: u8,
    enclosed: u8,
    /// The error in the text, which is returned again by later reads.
    wrong: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteState {
    /// At the beginning of a value.
    Start,
    Plain,
    Quoted,
    /// After an escape character in quotes.
    Escaped,
    /// After a quote in quotes: either the first of two, or the end.
    Closed,
    /// After blanks that follow a closing quote. The parser makes them part of the value.
    Blank,
}

impl<R> Quotes<R> {
    pub(super) fn new(inner: R, style: &CsvStyle) -> Self {
        Self {
            inner,
            delimiter: style.delimiter,
            escape: style.escape,
            state: QuoteState::Start,
            line: 1,
            opened: 1,
            passed: 0,
            record_end: 0,
            last: 0,
            enclosed: 0,
            wrong: None,
        }
    }

    /// Returns the number of bytes up to the end of the last whole record that was read, with its line end.
    pub(super) fn record_end(&self) -> u64 {
        self.record_end
    }

    fn is_end(&self, byte: u8) -> bool {
        byte == self.delimiter || is_line_end(byte)
    }

    /// Examines bytes. Returns the number of bytes before the first invalid one.
    fn go_over(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while let Some((&first, others)) = rest.split_first() {
            let (alike, other) = rest.split_at(self.alike(rest));
            if !alike.is_empty() {
                self.pass(alike);
                rest = other;
            } else if self.goes_on(first) {
                rest = others;
            } else {
                break;
            }
        }
        bytes.len() - rest.len()
    }

    /// Returns the number of bytes up to the next one with a meaning: a quote, or the escape character in quotes.
    fn alike(&self, bytes: &[u8]) -> usize {
        let next = match (self.state, self.escape) {
            (QuoteState::Start | QuoteState::Plain, _) | (QuoteState::Quoted, None) => {
                memchr(b'"', bytes)
            }
            (QuoteState::Quoted, Some(escape)) => memchr2(b'"', escape, bytes),
            _ => return 0,
        };
        next.unwrap_or(bytes.len())
    }

    /// Passes bytes without quotes.
    fn pass(&mut self, bytes: &[u8]) {
        let line = self.line;
        self.count_lines(bytes);
        if self.state != QuoteState::Quoted {
            self.state = match bytes.last() {
                Some(&end) if !self.is_end(end) => QuoteState::Plain,
                _ => QuoteState::Start,
            };
            if self.line > line
                && let Some(end) = memrchr2(b'\n', b'\r', bytes)
            {
                self.record_end = self.passed + end as u64 + 1;
            }
        }
        self.passed += bytes.len() as u64;
    }

    /// Counts lines that end with `\n`, `\r` or both.
    fn count_lines(&mut self, bytes: &[u8]) {
        let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else {
            return;
        };
        let ends = |byte| memchr_iter(byte, bytes).count() as u64;
        let pairs = match memchr(b'\r', bytes) {
            Some(start) => {
                let pairs = bytes[start..].windows(2).filter(|pair| pair == b"\r\n");
                self.line += ends(b'\r');
                pairs.count() as u64
            }
            None => 0,
        };
        let is_second = self.last == b'\r' && first == b'\n';
        self.line += ends(b'\n') - pairs - u64::from(is_second);
        self.last = last;
    }

    /// Examines a byte. Returns `false` if it is invalid.
    fn goes_on(&mut self, byte: u8) -> bool {
        self.state = match (self.state, byte) {
            (QuoteState::Start, b'"') => {
                self.opened = self.line;
                QuoteState::Quoted
            }
            (QuoteState::Quoted, _) if self.escape == Some(byte) => QuoteState::Escaped,
            (QuoteState::Quoted, b'"') => {
                self.enclosed = self.last;
                QuoteState::Closed
            }
            (QuoteState::Quoted | QuoteState::Escaped, _) | (QuoteState::Closed, b'"') => {
                QuoteState::Quoted
            }
            (_, _) if self.is_end(byte) => QuoteState::Start,
            (QuoteState::Start | QuoteState::Plain, _) => QuoteState::Plain,
            (QuoteState::Closed | QuoteState::Blank, b' ' | b'\t') => QuoteState::Blank,
            (QuoteState::Closed | QuoteState::Blank, _) => return false,
        };
        let is_second = byte == b'\n' && self.last == b'\r';
        self.line += u64::from(is_line_end(byte) && !is_second);
        self.last = byte;
        self.passed += 1;
        if is_line_end(byte) && self.state == QuoteState::Start {
            self.record_end = self.passed;
        }
        true
    }
}

impl<R> Quotes<R> {
    /// Returns the error for a value that continues with this byte after its closing quote.
    fn goes_on_after_quote(&self, byte: u8) -> String {
        let advice = match byte {
            _ if self.enclosed == b'\\' && self.escape.is_none() => {
                "; if a backslash before a quote makes it part of the value, read the file with \
                 --escape '\\'"
                    .to_owned()
            }
            // After a value, a tab looks like a blank.
            _ if self.state == QuoteState::Blank && self.last == b'\t' => {
                format!("; {}", delimiter_advice(b'\t'))
            }
            b',' | b';' | b'|' => format!("; {}", delimiter_advice(byte)),
            _ => "; quotes within a value are written twice".to_owned(),
        };
        format!(
            "line {}: a value goes on after its closing quote{advice}",
            self.line
        )
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns advice if a line that was read as a single value contains another usual delimiter.
pub(super) fn other_delimiter(line: &[u8]) -> Option<String> {
    let other = b";\t|,".iter().find(|it| line.contains(it));
    other.map(|it| delimiter_advice(*it))
}

/// Returns advice to read the text with another delimiter.
fn delimiter_advice(delimiter: u8) -> String {
    let shown = char::from(delimiter).escape_default();
    format!("if `{shown}` separates the values, read the file with --delimiter '{shown}'")
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.wrong.is_none() {
            let n = self.inner.read(buf)?;
            let read = buf.get(..n).unwrap_or_default();
            let good = self.go_over(read);
            if let Some(byte) = read.get(good) {
                self.wrong = Some(self.goes_on_after_quote(*byte));
            } else if n == 0
                && !buf.is_empty()
                && matches!(self.state, QuoteState::Quoted | QuoteState::Escaped)
            {
                let line = self.opened;
                self.wrong = Some(format!("line {line}: the quote of a value is not closed"));
            }
            // A reader that stops before the invalid byte never sees the error.
            if good > 0 || self.wrong.is_none() {
                return Ok(good);
            }
        }
        let wrong = self.wrong.clone().unwrap_or_default();
        Err(io::Error::new(ErrorKind::InvalidData, wrong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotes(text: &str) -> Quotes<&[u8]> {
        Quotes::new(text.as_bytes(), &CsvStyle::default())
    }

    #[test]
    fn quotes_are_closed_at_the_end_of_a_value() {
        for text in [
            "a,b\r\n\"x\",\"\"\"y\"\"\"\r\n",
            "\"x\ny\"\n\"\"\n",
            "x \"y\" z,'\n'\"\n",
            "\"x\" ,y\t\n\"x\" \t\n",
            "\"a;b\",\"",
        ] {
            let mut read = String::new();
            let end = quotes(text).read_to_string(&mut read);
            if text.ends_with(",\"") {
                assert!(end.unwrap_err().to_string().contains("line 1"));
            } else {
                assert_eq!((end.unwrap(), read.as_str()), (text.len(), text));
            }
        }
        let long = format!("a\n\"{}\n\"{}", "x".repeat(100), "\n,y".repeat(100));
        let mut read = String::new();
        let end = quotes(&long).read_to_string(&mut read);
        assert_eq!((end.unwrap(), read), (long.len(), long.clone()));
        let odd = format!("{long},\"z\"y");
        let end = quotes(&odd).read_to_end(&mut Vec::new());
        assert!(end.unwrap_err().to_string().starts_with("line 103:"));
        for (text, line, good) in [
            ("a,b\n\"x\" y,1\n", "line 2: a value goes on", "a,b\n\"x\" "),
            ("\"x\\\"y\"\n", "line 1: a value goes on", "\"x\\\""),
            ("a\n\"x\n\n", "line 2: the quote", "a\n\"x\n\n"),
            ("a\rb\r\n\"x\"y", "line 3: a value goes on", "a\rb\r\n\"x\""),
            ("\"x\" \"y\"", "line 1: a value goes on", "\"x\" "),
            ("\"a\";b", "line 1: a value goes on", "\"a\""),
            ("\"a\";b", "--delimiter ';'", "\"a\""),
            ("\"a\"\tb", "--delimiter '\\t'", "\"a\"\t"),
            ("\"x\\\"y\"\n", "--escape '\\'", "\"x\\\""),
            ("\"x\"y", "written twice", "\"x\""),
        ] {
            let mut read = Vec::new();
            let mut quotes = quotes(text);
            let error = quotes.read_to_end(&mut read).unwrap_err().to_string();
            assert!(error.contains(line), "{text}: {error}");
            assert_eq!(read, good.as_bytes(), "{text}");
        }
    }

    #[test]
    fn an_escape_makes_a_quote_part_of_the_value() {
        let style = CsvStyle {
            escape: Some(b'\\'),
            ..CsvStyle::default()
        };
        let filler = "x".repeat(100);
        for text in [
            "\"a\\\"b\",\"\\\\\"\n",
            "\\\"a\",\\\n",
            &format!("\"{filler}\\\"{filler}\\\"\",\"\n\"\"\"\n"),
        ] {
            let mut read = String::new();
            let mut quotes = Quotes::new(text.as_bytes(), &style);
            quotes.read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
        }
        for (text, want) in [
            ("\n\"a\\\"", "line 2: the quote"),
            ("\"a\\", "line 1: the quote"),
            ("\"\\\\\"a", "line 1: a value goes on"),
        ] {
            let mut quotes = Quotes::new(text.as_bytes(), &style);
            let error = quotes.read_to_end(&mut Vec::new()).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
