//! Finds the ends of records in CSV text that is read piece by piece.

use crate::csv_style::CsvStyle;
use memchr::{memchr, memchr2, memrchr2};
use std::ops::Range;

/// Follows the quotes of a text, in which line ends belong to values.
#[derive(Debug)]
pub(super) struct RecordEnds {
    delimiter: u8,
    /// The byte before a quote that is part of a value.
    escape: Option<u8>,
    place: Place,
    /// The last byte of the text so far.
    last: u8,
    /// The parts of the current piece that are not in quotes.
    unquoted: Vec<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Unquoted,
    Quoted,
    /// After an escape character in quotes.
    Escaped,
    /// After a quote in quotes: either the first of two, or the end.
    Closed,
    /// After blanks that follow a closing quote.
    Blank,
    /// After an invalid byte that follows a closing quote.
    Invalid,
}

impl RecordEnds {
    pub(super) fn new(style: &CsvStyle) -> Self {
        Self {
            delimiter: style.delimiter,
            escape: style.escape,
            place: Place::Unquoted,
            last: b'\n',
            unquoted: Vec::new(),
        }
    }

    /// Finds the last record that ends in the next piece of the text, and returns the position after its line end. No
    /// record is found after an invalid quote.
    pub(super) fn last_end(&mut self, piece: &[u8]) -> Option<usize> {
        self.follow(piece);
        let mut parts = self.unquoted.drain(..).rev();
        parts.find_map(|part| {
            let end = memrchr2(b'\n', b'\r', piece.get(part.clone())?)?;
            Some(part.start + end + 1)
        })
    }

    /// Whether a value goes on after its closing quote.
    pub(super) fn is_invalid(&self) -> bool {
        self.place == Place::Invalid
    }

    fn follow(&mut self, piece: &[u8]) {
        let mut at = 0;
        while let Some(rest @ [first, ..]) = piece.get(at..) {
            let next = match (self.place, self.escape) {
                (Place::Unquoted, _) | (Place::Quoted, None) => memchr(b'"', rest),
                (Place::Quoted, Some(escape)) => memchr2(b'"', escape, rest),
                (Place::Escaped | Place::Closed | Place::Blank, _) => Some(0),
                (Place::Invalid, _) => return,
            };
            let found = next.map_or(piece.len(), |length| at + length);
            match self.place {
                Place::Unquoted => {
                    self.unquoted.push(at..found);
                    let before = match found.checked_sub(1) {
                        Some(before) => piece.get(before).copied().unwrap_or_default(),
                        None => self.last,
                    };
                    if next.is_some() && self.is_end(before) {
                        self.place = Place::Quoted;
                    }
                }
                Place::Quoted => match piece.get(found..).unwrap_or_default() {
                    [b'"', next, ..] if self.is_end(*next) => self.place = Place::Unquoted,
                    [b'"', ..] => self.place = Place::Closed,
                    [_, ..] => self.place = Place::Escaped,
                    [] => {}
                },
                Place::Closed if *first == b'"' => self.place = Place::Quoted,
                Place::Closed | Place::Blank if self.is_end(*first) => {
                    self.place = Place::Unquoted;
                    continue;
                }
                Place::Closed | Place::Blank if matches!(first, b' ' | b'\t') => {
                    self.place = Place::Blank;
                }
                Place::Closed | Place::Blank | Place::Invalid => self.place = Place::Invalid,
                Place::Escaped => self.place = Place::Quoted,
            }
            at = found + 1;
        }
        self.last = piece.last().copied().unwrap_or(self.last);
    }

    fn is_end(&self, byte: u8) -> bool {
        byte == self.delimiter || matches!(byte, b'\n' | b'\r')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the last end in a text that is read in pieces.
    fn last_end(text: &str, escape: Option<u8>, piece: usize) -> Option<usize> {
        let style = CsvStyle {
            escape,
            ..CsvStyle::default()
        };
        let mut ends = RecordEnds::new(&style);
        let (mut at, mut last) = (0, None);
        for piece in text.as_bytes().chunks(piece) {
            if let Some(end) = ends.last_end(piece) {
                last = Some(at + end);
            }
            at += piece.len();
        }
        last
    }

    #[test]
    fn line_ends_in_quotes_end_no_record() {
        for (text, escape, want) in [
            ("", None, None),
            ("a,b", None, None),
            ("a,b\n1", None, Some(4)),
            ("a\r\n\"x\ny\"\r\n\"\n", None, Some(10)),
            ("\"x\"\"\n\"\"\",1\n\"", None, Some(11)),
            ("5\" x\n1\"\n\"\n", None, Some(8)),
            ("\"a\\\"\n\",\n\"\\\\\"\n\"\n", Some(b'\\'), Some(13)),
            ("\"\"\n\"\n", None, Some(3)),
            ("1\n\"x\" \t\n\n\"x\"y\n1\n", None, Some(9)),
        ] {
            for piece in 1..=text.len().max(1) {
                assert_eq!(last_end(text, escape, piece), want, "{text:?} {piece}");
            }
        }
    }
}
