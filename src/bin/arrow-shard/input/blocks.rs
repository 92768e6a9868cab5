//! Blocks of whole records of CSV, which threads parse independently of each other.

use super::record_ends::RecordEnds;
use super::spares::{Spare, Spares};
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use std::io::{self, ErrorKind, Read};
use std::mem;

/// Number of bytes read for a block. More are read only if they have no end of a record.
const BLOCK_BYTES: usize = 1 << 20;

/// Whole records of a text.
#[derive(Debug)]
pub(super) struct Block {
    text: Spare<u8>,
    /// Number of bytes of the text before the block.
    pub(super) start: u64,
    /// Whether no record is before the block.
    pub(super) is_first: bool,
}

impl Block {
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Cuts a text into blocks. Records before an error come before it.
pub(super) struct Blocks<R> {
    text: R,
    ends: RecordEnds,
    /// Text that was read and is in no block yet.
    rest: Spare<u8>,
    /// Number of bytes in the blocks so far.
    start: u64,
    is_first: bool,
    has_ended: bool,
    error: Option<io::Error>,
    spares: Spares<u8>,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(text: R, style: &CsvStyle) -> Self {
        let spares = Spares::default();
        Self {
            text,
            ends: RecordEnds::new(style),
            rest: spares.take(),
            start: 0,
            is_first: true,
            has_ended: false,
            error: None,
            spares,
        }
    }

    /// Reads more text. Returns the number of bytes up to the end of the last whole record in it.
    fn read(&mut self) -> Option<usize> {
        let known = self.rest.len();
        let mut filled = known;
        self.rest.resize(known + BLOCK_BYTES, 0);
        while let Some(free @ [_, ..]) = self.rest.get_mut(filled..) {
            match self.text.read(free) {
                Ok(0) => {
                    self.has_ended = true;
                    break;
                }
                Ok(read) => filled += read,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    (self.has_ended, self.error) = (true, Some(e));
                    break;
                }
            }
        }
        self.rest.truncate(filled);
        let end = self.ends.last_end(self.rest.get(known..)?);
        // The rows after an invalid one are not needed.
        self.has_ended |= self.ends.is_invalid();
        end.map(|end| known + end)
    }

    /// Returns a block, unless it has only blank lines.
    fn cut(&mut self, bytes: usize) -> Option<Block> {
        let mut rest = self.spares.take();
        rest.extend_from_slice(self.rest.get(bytes..).unwrap_or_default());
        self.rest.truncate(bytes);
        let block = Block {
            text: mem::replace(&mut self.rest, rest),
            start: self.start,
            is_first: self.is_first,
        };
        self.start += bytes as u64;
        let is_blank = block.text.iter().all(|byte| matches!(byte, b'\n' | b'\r'));
        self.is_first &= is_blank;
        (!is_blank).then_some(block)
    }
}

impl<R: Read> Iterator for Blocks<R> {
    type Item = Result<Block, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_ended {
            if let Some(bytes) = self.read()
                && let Some(block) = self.cut(bytes)
            {
                return Some(Ok(block));
            }
        }
        match self.error.take() {
            // The text after the last whole record is incomplete.
            Some(error) => {
                self.rest.clear();
                Some(Err(error.into()))
            }
            None => self.cut(self.rest.len()).map(Ok),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv_style::CsvStyle;

    /// Returns the blocks of a text, and the error.
    fn blocks(text: impl Read) -> (Vec<String>, Option<String>) {
        let (mut found, mut wrong) = (Vec::new(), None);
        let mut start = 0;
        for block in Blocks::new(text, &CsvStyle::default()) {
            match block {
                Ok(block) => {
                    assert_eq!((block.start, block.is_first), (start, found.is_empty()));
                    start += block.text.len() as u64;
                    found.push(String::from_utf8(block.text.to_vec()).unwrap());
                }
                Err(Failure::Error(why)) => wrong = Some(why),
                Err(other) => unreachable!("{other:?}"),
            }
        }
        (found, wrong)
    }

    #[test]
    fn blocks_end_with_records() {
        let long = "x".repeat(BLOCK_BYTES * 2);
        let quoted = "\"a\nb\"\"\n\",1\r\n".repeat(BLOCK_BYTES / 8);
        for text in [
            "".to_owned(),
            "a,b".to_owned(),
            "a,b\n\n1,2\n".to_owned(),
            format!("a,b\n{long},1\n2,3"),
            quoted.clone(),
            format!("{quoted}{long}"),
            format!("a\r{}", "1\r".repeat(BLOCK_BYTES)),
        ] {
            let (found, wrong) = blocks(text.as_bytes());
            assert_eq!(wrong, None);
            assert!(found.concat() == text);
            for block in &found[..found.len().saturating_sub(1)] {
                assert!(block.ends_with(['\n', '\r']) && block.matches('"').count() % 2 == 0);
            }
            assert!(found.len() >= text.len() / (3 * BLOCK_BYTES));
        }
    }

    #[test]
    fn records_before_an_error_come_before_it() {
        /// Fails once its text was read.
        struct Failing<'a>(&'a [u8]);
        impl Read for Failing<'_> {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                match self.0.read(buf)? {
                    0 => Err(io::Error::other("broken")),
                    read => Ok(read),
                }
            }
        }
        let (found, wrong) = blocks(Failing(b"a\n\"x\"\n\"y"));
        assert_eq!(found, ["a\n\"x\"\n"]);
        assert!(wrong.is_some_and(|why| why.contains("broken")));
    }
}
