//! JSON: an object per line, objects over several lines, or an array of objects.

use super::infer_json;
use super::row_sizes::Inferred;
use super::source::Input;
use super::text_file::TextFile;
use super::{BUFFER_BYTES, RowWindow};
use crate::failure::Failure;
use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::SchemaRef;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// Infers the types of a file from `sample` objects, or from all objects.
pub(super) fn infer(file: &TextFile, sample: Option<usize>) -> Result<Inferred, Failure> {
    infer_json::infer(objects(file)?, sample)
}

/// Returns a reader of the objects of a file, which follow each other.
pub(super) fn objects(file: &TextFile) -> Result<impl BufRead + use<>, Failure> {
    let objects = Objects::new(file.reader()?);
    Ok(BufReader::with_capacity(BUFFER_BYTES, objects))
}

/// Reads a file in the inferred types.
pub(super) fn read(
    file: &TextFile,
    inferred: &Inferred,
    rows: RowWindow<'_>,
) -> Result<Input, Failure> {
    let batch_rows = inferred.batch_rows.min(rows.batch_rows());
    let schema = inferred.schema.clone();
    let (counted, total) = file.counted()?;
    let counted = BufReader::with_capacity(BUFFER_BYTES, counted);
    let mut batches = NdjsonBatches {
        objects: BufReader::with_capacity(BUFFER_BYTES, Objects::new(counted)),
        decoder: decoder(&schema, batch_rows)?,
        schema: schema.clone(),
        batch_rows,
        left: rows.end().unwrap_or(usize::MAX),
    };
    Ok(Input {
        schema,
        total,
        batches: Box::new(std::iter::from_fn(move || batches.next().transpose())),
    })
}

/// Returns a decoder of batches with `batch_rows` objects.
pub(super) fn decoder(schema: &SchemaRef, batch_rows: usize) -> Result<Decoder, Failure> {
    // In strict mode, an unknown field is an error instead of being dropped.
    let builder = ReaderBuilder::new(schema.clone())
        .with_strict_mode(true)
        .with_coerce_primitive(true)
        .with_batch_size(batch_rows);
    Ok(builder.build_decoder()?)
}

/// Converts objects to batches, up to a number of rows. Later objects may have other types.
struct NdjsonBatches<R> {
    objects: R,
    schema: SchemaRef,
    decoder: Decoder,
    /// Number of rows that the decoder puts into a batch.
    batch_rows: usize,
    /// Number of rows still to read.
    left: usize,
}

impl<R: BufRead> NdjsonBatches<R> {
    fn next(&mut self) -> Result<Option<RecordBatch>, Failure> {
        if self.left < self.batch_rows {
            self.batch_rows = self.left;
            self.decoder = decoder(&self.schema, self.left)?;
        }
        while self.decoder.len() < self.batch_rows || self.decoder.has_partial_record() {
            let text = self.objects.fill_buf()?;
            if text.is_empty() {
                break;
            }
            let decoded = self.decoder.decode(text)?;
            self.objects.consume(decoded);
        }
        let batch = self.decoder.flush()?;
        self.left -= batch.as_ref().map_or(0, RecordBatch::num_rows);
        Ok(batch)
    }
}

/// Removes the brackets and commas of an array, so that its objects follow each other. Blanks replace them, so that
/// errors name the right line and column.
struct Objects<R> {
    inner: R,
    state: State,
    /// Number of open brackets and braces.
    depth: usize,
    /// The expected next part of the array.
    next: Next,
    /// The number of the current line, from 1.
    line: u64,
    in_string: bool,
    is_escaped: bool,
    /// The error in the text, which is returned again by later reads.
    wrong: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only white space so far.
    Start,
    /// Objects that follow each other.
    Plain,
    /// Items of an array.
    Array,
    /// After the array.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// An item, or the end of an empty array.
    First,
    Item,
    /// A comma, or the end of the array.
    Comma,
}

impl<R> Objects<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            state: State::Start,
            depth: 0,
            next: Next::First,
            line: 1,
            in_string: false,
            is_escaped: false,
            wrong: None,
        }
    }

    /// Returns the replacement of a byte.
    fn next(&mut self, byte: u8) -> Result<u8, &'static str> {
        self.line += u64::from(byte == b'\n');
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return Ok(byte);
        }
        match self.state {
            State::Plain => return Ok(byte),
            _ if byte.is_ascii_whitespace() => return Ok(byte),
            State::End => return Err("expected nothing after the array"),
            State::Start if byte == b'[' => {
                (self.state, self.depth) = (State::Array, 1);
                return Ok(b' ');
            }
            State::Start => {
                self.state = State::Plain;
                return Ok(byte);
            }
            State::Array => {}
        }
        if self.depth == 1 {
            match (byte, self.next) {
                (b',', Next::Comma) => self.next = Next::Item,
                (b']', Next::First | Next::Comma) => self.state = State::End,
                (b'{', Next::First | Next::Item) => {
                    (self.next, self.depth) = (Next::Comma, 2);
                    return Ok(byte);
                }
                (_, Next::First) => return Err("expected an object or `]`"),
                (_, Next::Item) => return Err("expected an object"),
                (_, Next::Comma) => return Err("expected `,` or `]`"),
            }
            return Ok(b' ');
        }
        match byte {
            b'"' => self.in_string = true,
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth -= 1,
            _ => {}
        }
        Ok(byte)
    }
}

impl<R: Read> Objects<R> {
    /// Reads bytes. An error in the text is the inner error.
    fn read_next(&mut self, buf: &mut [u8]) -> io::Result<Result<usize, String>> {
        let n = self.inner.read(buf)?;
        if n == 0 && !buf.is_empty() && self.state == State::Array {
            return Ok(Err("the array does not end".to_owned()));
        }
        if self.state != State::Plain {
            for byte in buf.iter_mut().take(n) {
                match self.next(*byte) {
                    Ok(instead) => *byte = instead,
                    Err(what) => {
                        let found = byte.escape_ascii();
                        return Ok(Err(format!("line {}: {what}, found `{found}`", self.line)));
                    }
                }
            }
        }
        Ok(Ok(n))
    }
}

impl<R: Read> Read for Objects<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.wrong.is_none() {
            match self.read_next(buf)? {
                Ok(n) => return Ok(n),
                Err(wrong) => self.wrong = Some(wrong),
            }
        }
        let wrong = self.wrong.clone().unwrap_or_default();
        Err(io::Error::new(ErrorKind::InvalidData, wrong))
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
        assert_eq!(
            objects("[{\"a\":{\"b\":[{}]}} ]"),
            " {\"a\":{\"b\":[{}]}}  "
        );
    }

    #[test]
    fn what_is_no_array_of_objects_is_named_with_its_line() {
        for (text, want) in [
            ("[{},", "does not end"),
            ("[1]", "line 1: expected an object or `]`, found `1`"),
            ("[{},\n1]", "line 2: expected an object, found `1`"),
            ("[{},]", "line 1: expected an object, found `]`"),
            ("[{},,{}]", "line 1: expected an object, found `,`"),
            ("[\n{}\n\n{}]", "line 4: expected `,` or `]`, found `{`"),
            ("[}", "line 1: expected an object or `]`, found `}`"),
            (
                "[{}] {}",
                "line 1: expected nothing after the array, found `{`",
            ),
        ] {
            let error = Objects::new(text.as_bytes()).read_to_string(&mut String::new());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
