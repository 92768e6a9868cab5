//! Arrow IPC files and streams.

use super::BUFFER_BYTES;
use super::origin::Origin;
use super::source::{Batches, Input, Total, batches, counted};
use crate::failure::Failure;
use crate::text;
use arrow_ipc::Endianness;
use arrow_ipc::reader::{FileReader, StreamReader};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};

/// Opens a file.
pub(super) fn open_file(file: File) -> Result<Input, Failure> {
    let reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let reader = FileReader::try_new(reader, None)?;
    Ok(Input {
        schema: reader.schema(),
        total: Total::Batches(reader.num_batches() as u64),
        batches: batches(reader),
    })
}

/// Opens a stream.
pub(super) fn open_stream(origin: Origin) -> Result<Input, Failure> {
    if matches!(origin, Origin::Standard) {
        return stream(BufReader::new(io::stdin().lock()), Total::Unknown);
    }
    let (file, total) = counted(origin.file()?)?;
    stream(BufReader::with_capacity(BUFFER_BYTES, file), total)
}

fn stream(reader: impl Read + 'static, total: Total) -> Result<Input, Failure> {
    let mut reader = Messages::new(reader);
    reader.advance()?;
    let reader = StreamReader::try_new(reader, None)?;
    let schema = reader.schema();
    let batches: Batches = batches(reader);
    Ok(Input {
        schema,
        total,
        batches,
    })
}

/// Most bytes of a message without its body.
const MOST: u32 = 1 << 28;

/// The bytes of a stream, whose messages are looked at first: `arrow-ipc` reads numbers of the other
/// byte order as if they were of ours, and takes all the memory that a message claims to need.
struct Messages<R> {
    inner: R,
    /// Messages so far.
    count: u64,
    /// What has been read of a message and not been given yet, the next byte last.
    ahead: Vec<u8>,
    /// Bytes of the body behind it.
    body: u64,
}

impl<R: Read> Messages<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            count: 0,
            ahead: Vec::new(),
            body: 0,
        }
    }

    /// Reads the next message without its body; nothing at the end of the stream.
    fn advance(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.take(4, &mut bytes)?;
        if bytes == [0xFF; 4] {
            self.take(4, &mut bytes)?;
        }
        // Streams of old writers begin with the length.
        let length = match bytes.last_chunk() {
            Some(length) => u32::from_le_bytes(*length),
            None => 0,
        };
        if length > MOST {
            return Err(match self.count {
                0 => no_stream(),
                count => invalid(format!(
                    "message {count} is damaged: it claims to have {} without its body",
                    text::bytes(length.into())
                )),
            });
        }
        let start = bytes.len();
        self.take(length.into(), &mut bytes)?;
        // What is no message is refused by whoever reads it.
        let message = arrow_ipc::root_as_message(&bytes[start..]);
        if self.count == 0 {
            let schema = message.as_ref().ok().and_then(|it| it.header_as_schema());
            check_order(schema.ok_or_else(no_stream)?.endianness())?;
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
        let n = buf.len().min(most);
        let n = self.inner.read(&mut buf[..n])?;
        self.body -= n as u64;
        Ok(n)
    }
}

fn check_order(order: Endianness) -> io::Result<()> {
    let native = match cfg!(target_endian = "little") {
        true => Endianness::Little,
        false => Endianness::Big,
    };
    match order == native {
        true => Ok(()),
        false => Err(invalid(
            "the numbers of this stream are in the byte order of other computers (big-endian), which is not \
             read; write it on one whose order is little-endian",
        )),
    }
}

fn no_stream() -> io::Error {
    invalid("this is no Arrow IPC stream: it does not begin with a schema")
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}
