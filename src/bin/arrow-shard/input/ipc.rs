//! Arrow IPC files and streams.

use super::BUFFER_BYTES;
use super::source::{Batches, Input, Total, batches, counted};
use crate::failure::Failure;
use crate::file_format::is_standard;
use arrow_ipc::reader::{FileReader, StreamReader};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// Opens a file.
pub(super) fn open_file(path: &Path) -> Result<Input, Failure> {
    let reader = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let reader = FileReader::try_new(reader, None)?;
    Ok(Input {
        schema: reader.schema(),
        total: Total::Batches(reader.num_batches() as u64),
        batches: batches(reader),
    })
}

/// Opens a stream.
pub(super) fn open_stream(path: &Path) -> Result<Input, Failure> {
    if is_standard(path) {
        return stream(BufReader::new(io::stdin().lock()), Total::Unknown);
    }
    let (file, total) = counted(File::open(path)?)?;
    stream(BufReader::with_capacity(BUFFER_BYTES, file), total)
}

fn stream(mut reader: impl Read + 'static, total: Total) -> Result<Input, Failure> {
    let first = first_message(&mut reader)?;
    let reader = StreamReader::try_new(Cursor::new(first).chain(reader), None)?;
    let schema = reader.schema();
    let batches: Batches = batches(reader);
    Ok(Input {
        schema,
        total,
        batches,
    })
}

/// Most bytes of a schema.
const MOST: u32 = 1 << 28;

/// The first message of a stream with what stands before it. `arrow-ipc` reads numbers of the other
/// byte order as if they were of ours, so that they are refused here.
fn first_message(reader: &mut impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut word = || -> Result<u32, Failure> {
        let mut word = [0; 4];
        reader.read_exact(&mut word).map_err(|_| no_stream())?;
        bytes.extend(word);
        Ok(u32::from_le_bytes(word))
    };
    // Streams of old writers begin with the length.
    let length = match word()? {
        u32::MAX => word()?,
        length => length,
    };
    if length > MOST {
        return Err(no_stream());
    }
    let start = bytes.len();
    reader
        .by_ref()
        .take(length.into())
        .read_to_end(&mut bytes)?;
    let message = arrow_ipc::root_as_message(&bytes[start..]).map_err(|_| no_stream())?;
    let schema = message.header_as_schema().ok_or_else(no_stream)?;
    let native = match cfg!(target_endian = "little") {
        true => arrow_ipc::Endianness::Little,
        false => arrow_ipc::Endianness::Big,
    };
    if schema.endianness() != native {
        return Err(Failure::new(
            "the numbers of this stream are in the byte order of other computers (big-endian), which is not \
             read; write it on one whose order is little-endian",
        ));
    }
    Ok(bytes)
}

fn no_stream() -> Failure {
    Failure::new("this is no Arrow IPC stream: it does not begin with a schema")
}
