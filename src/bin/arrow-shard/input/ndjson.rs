//! JSON: an object per line, objects over several lines, or an array of objects.

use super::infer_json;
use super::text_file::TextFile;
use super::{BUFFER_BYTES, Input, batches};
use crate::failure::Failure;
use arrow_json::ReaderBuilder;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// Opens a file whose types are inferred from `sample` objects, or from all.
pub(super) fn open(
    path: &Path,
    sample: Option<usize>,
    batch_rows: usize,
) -> Result<Input, Failure> {
    let file = TextFile::open(path)?;
    let objects = BufReader::with_capacity(BUFFER_BYTES, Objects::new(file.reader()?));
    let schema = Arc::new(infer_json::infer(objects, sample)?);
    let (counted, total) = file.counted()?;
    let counted = BufReader::with_capacity(BUFFER_BYTES, counted);
    // Fields that were not seen are an error instead of being left out.
    let reader = ReaderBuilder::new(schema.clone())
        .with_strict_mode(true)
        .with_coerce_primitive(true)
        .with_batch_size(batch_rows)
        .build(BufReader::with_capacity(
            BUFFER_BYTES,
            Objects::new(counted),
        ))?;
    Ok(Input {
        schema,
        total,
        batches: batches(reader),
    })
}

/// Text in which objects follow each other: that of an array without its brackets and the commas
/// between its items. Blanks take their place, so that errors name the true line and column.
struct Objects<R> {
    inner: R,
    state: State,
    /// Brackets and braces that are open.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only blanks so far.
    Start,
    /// Objects one after the other.
    Plain,
    /// The items of an array.
    Array,
    /// Behind the array.
    End,
}

impl<R> Objects<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            state: State::Start,
            depth: 0,
            in_string: false,
            is_escaped: false,
        }
    }

    /// What stands in place of the byte.
    fn next(&mut self, byte: u8) -> u8 {
        match self.state {
            State::Plain | State::End => return byte,
            State::Start if byte.is_ascii_whitespace() => return byte,
            State::Start if byte == b'[' => {
                (self.state, self.depth) = (State::Array, 1);
                return b' ';
            }
            State::Start => {
                self.state = State::Plain;
                return byte;
            }
            State::Array => {}
        }
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return byte;
        }
        match byte {
            b'"' => self.in_string = true,
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => {
                self.depth -= 1;
                if self.depth == 0 && byte == b']' {
                    self.state = State::End;
                    return b' ';
                }
                // Text that is no JSON is refused by whoever parses it.
                self.depth = self.depth.max(1);
            }
            b',' if self.depth == 1 => return b' ',
            _ => {}
        }
        byte
    }
}

impl<R: Read> Read for Objects<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        if n == 0 && !buf.is_empty() && self.state == State::Array {
            return Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the array does not end",
            ));
        }
        if self.state != State::Plain {
            for byte in buf.iter_mut().take(n) {
                *byte = self.next(*byte);
            }
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(text: &str) -> String {
        let mut out = String::new();
        Objects::new(text.as_bytes())
            .read_to_string(&mut out)
            .unwrap();
        out
    }

    #[test]
    fn the_items_of_an_array_follow_each_other() {
        assert_eq!(objects("{\"a\":[1,2]}\n{}"), "{\"a\":[1,2]}\n{}");
        assert_eq!(
            objects("\n[{\"a\":[1,\"],\\\"[\"]},\n {\"b\":{}}]\n"),
            "\n {\"a\":[1,\"],\\\"[\"]} \n {\"b\":{}} \n"
        );
        assert_eq!(objects("[]"), "  ");
        assert_eq!(objects("[}}, 1]"), " }}  1 ");
        let endless = Objects::new("[{},".as_bytes()).read_to_string(&mut String::new());
        assert_eq!(endless.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
