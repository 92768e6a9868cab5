//! Arrow IPC streams: a schema, then dictionaries and batches.

use super::old_unions::OldUnions;
use super::{check_order, check_types, invalid};
use crate::content::standard_input;
use crate::failure::Failure;
use crate::input::BUFFER_BYTES;
use crate::input::origin::Origin;
use crate::input::source::{Batches, Input, batches, counted};
use crate::progress::Total;
use crate::text;
use arrow_ipc::MetadataVersion;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::StreamReader;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

/// Opens a stream.
pub(in crate::input) fn open_stream(origin: Origin) -> Result<Input, Failure> {
    let file = match origin {
        Origin::Standard => return stream(BufReader::new(standard_input()), Total::Unknown),
        Origin::Pipe(pipe) => return stream(BufReader::new(pipe), Total::Unknown),
        other => other.file()?,
    };
    let bytes = file.metadata()?.len();
    let (file, total) = counted(file, bytes);
    stream(BufReader::with_capacity(BUFFER_BYTES, file), total)
}

/// Reads a stream.
pub(in crate::input) fn stream(
    reader: impl Read + 'static,
    total: Total,
) -> Result<Input, Failure> {
    let mut messages = Messages::new(reader);
    messages.advance()?;
    let reader = StreamReader::try_new(messages, None)?;
    let schema = reader.schema();
    check_types(&schema)?;
    let batches: Batches = batches(reader);
    Ok(Input {
        schema,
        total,
        batches,
    })
}

/// Maximum number of bytes of a message without its body.
const MAX_METADATA_BYTES: u32 = 1 << 28;

/// The bytes of a stream, after a check of each message: `arrow-ipc` reads numbers in the other byte order as if they
/// were in the order of this computer, and allocates as much memory as a message claims to need.
struct Messages<R> {
    inner: R,
    /// Number of messages read.
    count: u64,
    /// The bytes of the current message that have not been read yet, in reverse order.
    ahead: Vec<u8>,
    /// Number of bytes of its body that have not been read yet.
    body: u64,
    /// Checks the unions of writers before Arrow 1.0.
    unions: Option<OldUnions>,
}

impl<R: Read> Messages<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            count: 0,
            ahead: Vec::new(),
            body: 0,
            unions: None,
        }
    }

    /// Reads the next message without its body. Leaves `ahead` empty at the end of the stream.
    fn advance(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.take(4, &mut bytes)?;
        if bytes == [0xFF; 4] {
            self.take(4, &mut bytes)?;
        }
        // Streams of old writers begin with the length, without a continuation marker.
        let length = match bytes.last_chunk() {
            Some(length) => u32::from_le_bytes(*length),
            None => 0,
        };
        if length > MAX_METADATA_BYTES {
            return Err(match self.count {
                0 => no_stream(),
                count => invalid(format!(
                    "message {count} is damaged: its metadata would take {}",
                    text::bytes(length.into())
                )),
            });
        }
        let start = bytes.len();
        self.take(length.into(), &mut bytes)?;
        // `StreamReader` rejects damaged later messages itself.
        let message = arrow_ipc::root_as_message(&bytes[start..]);
        if self.count == 0 {
            let message = match &message {
                Ok(message) => message,
                Err(why) if bytes.starts_with(&[0xFF; 4]) => {
                    return Err(invalid(format!("the schema is damaged: {why}")));
                }
                Err(_) => return Err(no_stream()),
            };
            let schema = message.header_as_schema().ok_or_else(no_stream)?;
            check_order(schema.endianness())?;
            if message.version() < MetadataVersion::V5 {
                self.unions = Some(OldUnions::new(Arc::new(fb_to_schema(schema))));
            }
        }
        if let (Ok(message), Some(unions)) = (&message, &self.unions) {
            unions.check(message)?;
        }
        let body = message.map_or(0, |message| message.bodyLength());
        self.body = u64::try_from(body).unwrap_or(0);
        self.count += 1;
        bytes.reverse();
        self.ahead = bytes;
        Ok(())
    }

    fn take(&mut self, most: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.inner.by_ref().take(most).read_to_end(bytes)?;
        Ok(())
    }
}

impl<R: Read> Read for Messages<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() && self.body == 0 {
            self.advance()?;
        }
        if !self.ahead.is_empty() {
            let n = buf.len().min(self.ahead.len());
            let rest = self.ahead.len() - n;
            for (to, from) in buf.iter_mut().zip(self.ahead.drain(rest..).rev()) {
                *to = from;
            }
            return Ok(n);
        }
        let most = usize::try_from(self.body).unwrap_or(usize::MAX);
        let wanted = buf.len().min(most);
        let n = self.inner.read(&mut buf[..wanted])?;
        self.body -= n as u64;
        Ok(n)
    }
}

fn no_stream() -> io::Error {
    invalid("this is not an Arrow IPC stream: it does not begin with a schema")
}
