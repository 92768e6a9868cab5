//! Blocks of whole records of CSV, which threads parse independently of each other.

use super::quotes::Quotes;
use crate::failure::Failure;
use std::io::{self, ErrorKind, Read};

/// Number of bytes read for a block. More are read only if they have no end of a record.
const BLOCK_BYTES: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Whole records of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) text: Vec<u8>,
    /// Number of bytes of the text before the block.
    pub(super) start: u64,
    /// Whether no record is before the block.
    pub(super) is_first: bool,
}

impl Block {
    /// Returns the number of line ends, also those within values.
    pub(super) fn line_ends(&self) -> usize {
        let is_end = |byte: &u8| u8::from(*byte == b'\n') + u8::from(*byte == b'\r');
        let chunks = self.text.chunks(usize::from(u8::MAX));
        // Sums of bytes are vectorized.
        let ends = chunks.map(|chunk| usize::from(chunk.iter().map(is_end).sum::<u8>()));
        ends.sum()
    }
}

/// Cuts a text into blocks. Records before an error come before it.
pub(super) struct Blocks<R> {
    text: Quotes<R>,
    /// Text that was read and is in no block yet.
    rest: Vec<u8>,
    /// Number of bytes in the blocks so far.
    start: u64,
    is_first: bool,
    has_ended: bool,
    error: Option<io::Error>,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(text: Quotes<R>) -> Self {
        Self {
            text,
            rest: Vec::new(),
            start: 0,
            is_first: true,
            has_ended: false,
            error: None,
        }
    }

    fn read(&mut self) {
        let mut filled = self.rest.len();
        self.rest.resize(filled + BLOCK_BYTES, 0);
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
    }

    /// Returns a block, unless it has only blank lines.
    fn cut(&mut self, bytes: usize) -> Option<Block> {
        let rest = self.rest.split_off(bytes);
        let mut block = Block {
            text: std::mem::replace(&mut self.rest, rest),
            start: self.start,
            is_first: self.is_first,
        };
        self.start += bytes as u64;
        // A parser drops a byte order mark at the start of its text. Here, the mark belongs to a value.
        if block.start > 0 && block.text.starts_with(BYTE_ORDER_MARK) {
            block.text.insert(0, b'\n');
            block.start -= 1;
        }
        let is_blank = block.text.iter().all(|byte| matches!(byte, b'\n' | b'\r'));
        self.is_first &= is_blank;
        (!is_blank).then_some(block)
    }
}

impl<R: Read> Iterator for Blocks<R> {
    type Item = Result<Block, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_ended {
            self.read();
            let whole = self.text.record_end() - self.start;
            let bytes = usize::try_from(whole).unwrap_or_default();
            if bytes > 0
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
    fn blocks(text: &str) -> (Vec<String>, Option<String>) {
        let text = text.as_bytes();
        let (mut found, mut wrong) = (Vec::new(), None);
        let mut start = 0;
        for block in Blocks::new(Quotes::new(text, &CsvStyle::default())) {
            match block {
                Ok(block) => {
                    let added = u64::from(block.text.starts_with(b"\n\xEF"));
                    assert_eq!(
                        (block.start + added, block.is_first),
                        (start, found.is_empty())
                    );
                    start += block.text.len() as u64 - added;
                    found.push(String::from_utf8(block.text).unwrap());
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
            let (found, wrong) = blocks(&text);
            assert_eq!(wrong, None);
            assert!(found.concat() == text);
            for block in &found[..found.len().saturating_sub(1)] {
                assert!(block.ends_with(['\n', '\r']) && block.matches('"').count() % 2 == 0);
            }
            assert!(found.len() >= text.len() / (3 * BLOCK_BYTES));
        }
    }

    #[test]
    fn a_byte_order_mark_within_the_text_is_part_of_a_value() {
        let row = format!("{}\n", "x".repeat(BLOCK_BYTES - 1));
        let (found, wrong) = blocks(&format!("{row}\u{feff}y\n"));
        assert_eq!(wrong, None);
        assert!(found == [row, "\n\u{feff}y\n".to_owned()]);
    }

    #[test]
    fn records_before_an_error_come_before_it() {
        let (found, wrong) = blocks("a\n\"x\"\n\"y\"z\n");
        assert_eq!(found, ["a\n\"x\"\n"]);
        assert!(wrong.is_some_and(|why| why.contains("line 3")));
        let (found, wrong) = blocks("a\n\"x\n");
        assert_eq!(found, ["a\n"]);
        assert!(wrong.is_some_and(|why| why.contains("line 2")));
    }
}
