//! Arrow IPC files: a footer at the end locates the dictionaries and the batches.

use super::old_unions::OldUnions;
use super::{check_order, check_types, invalid};
use crate::failure::Failure;
use crate::input::BUFFER_BYTES;
use crate::input::source::Input;
use crate::progress::Total;
use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, Footer, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::{Schema, SchemaRef};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Number of bytes after the footer: its length and the magic number.
const TRAILER_BYTES: usize = 10;

/// Opens a file.
pub(in crate::input) fn open_file(file: File) -> Result<Input, Failure> {
    let mut blocks = Blocks::new(file)?;
    let footer_bytes = blocks.footer()?;
    let footer = root_as_footer(&footer_bytes).map_err(|e| damaged(format!("its footer: {e}")))?;
    let schema = schema(&footer)?;
    // With V1, messages may have another version than the footer: pyarrow writes files of version 4 with a footer of 5.
    let mut decoder = FileDecoder::new(schema.clone(), MetadataVersion::V1);
    let mut known = HashSet::new();
    for block in footer.dictionaries().into_iter().flatten() {
        let bytes = blocks.read(block)?;
        let message = message(block, &bytes)?;
        // `arrow-ipc` would use the last dictionary for all batches.
        if let Some(dictionary) = message.header_as_dictionary_batch()
            && !known.insert(dictionary.id())
            && !dictionary.isDelta()
        {
            return Err(Failure::new(format!(
                "{} has a dictionary that replaces an earlier one, which is allowed in Arrow IPC streams, but \
                 not in files",
                column(&schema, dictionary.id())
            )));
        }
        decoder.read_dictionary(block, &bytes)?;
    }
    let places: Vec<Block> = footer
        .recordBatches()
        .into_iter()
        .flatten()
        .copied()
        .collect();
    let total = Total::Batches(places.len() as u64);
    let unions = OldUnions::new(schema.clone());
    let mut read = move |block: Block| -> Result<Option<RecordBatch>, Failure> {
        let bytes = blocks.read(&block)?;
        unions.check(&message(&block, &bytes)?)?;
        Ok(decoder.read_record_batch(&block, &bytes)?)
    };
    let batches = places
        .into_iter()
        .filter_map(move |block| read(block).transpose());
    Ok(Input {
        schema,
        batches: Box::new(batches),
        total,
    })
}

/// Returns the number of rows, which the messages before the values have.
pub(in crate::input) fn num_rows(file: File) -> Result<u64, Failure> {
    let mut blocks = Blocks::new(file)?;
    let footer_bytes = blocks.footer()?;
    let footer = root_as_footer(&footer_bytes).map_err(|e| damaged(format!("its footer: {e}")))?;
    let mut rows = 0_u64;
    for block in footer.recordBatches().into_iter().flatten() {
        let bytes = blocks.read_message(block)?;
        let batch = message(block, &bytes)?.header_as_record_batch();
        let length = batch.and_then(|batch| u64::try_from(batch.length()).ok());
        rows = length
            .and_then(|length| rows.checked_add(length))
            .ok_or_else(|| damaged(format!("no batch begins at byte {}", block.offset())))?;
    }
    Ok(rows)
}

/// Returns the schema. The footer's metadata also describe the whole table, so they become metadata of the schema.
fn schema(footer: &Footer<'_>) -> Result<SchemaRef, Failure> {
    let found = footer.schema().ok_or_else(|| damaged("it has no schema"))?;
    check_order(found.endianness())?;
    let schema = fb_to_schema(found);
    check_types(&schema)?;
    let pairs = footer.custom_metadata().into_iter().flatten();
    let mut metadata: HashMap<String, String> = pairs
        .filter_map(|pair| Some((pair.key()?.to_owned(), pair.value()?.to_owned())))
        .collect();
    metadata.extend(schema.metadata.clone());
    Ok(Arc::new(schema.with_metadata(metadata)))
}

/// Returns the name of the column with this dictionary, for errors.
fn column(schema: &Schema, dictionary: i64) -> String {
    #[expect(
        deprecated,
        reason = "nothing else tells which column has a dictionary"
    )]
    let has_it = |field: &&Arc<arrow_schema::Field>| {
        let fields = Schema::new(vec![field.as_ref().clone()]);
        !fields.fields_with_dict_id(dictionary).is_empty()
    };
    let found = schema.fields().iter().find(has_it);
    found.map_or_else(
        || format!("dictionary {dictionary}"),
        |field| format!("column `{}`", field.name()),
    )
}

/// Returns the message at the start of a block.
fn message<'a>(block: &Block, bytes: &'a [u8]) -> Result<arrow_ipc::Message<'a>, Failure> {
    // Files of old writers begin with the length, without a continuation marker.
    let skipped = if bytes.starts_with(&[0xFF; 4]) { 8 } else { 4 };
    let message = bytes.get(skipped..).map(root_as_message);
    match message {
        Some(Ok(message)) => Ok(message),
        _ => Err(damaged(format!(
            "no message begins at byte {}",
            block.offset()
        ))),
    }
}

fn damaged(what: impl std::fmt::Display) -> Failure {
    invalid(format!("this Arrow IPC file is damaged: {what}")).into()
}

/// The bytes of a file.
struct Blocks {
    file: BufReader<File>,
    /// Size of the file in bytes.
    len: u64,
}

impl Blocks {
    fn new(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Self { file, len })
    }

    fn footer(&mut self) -> Result<Vec<u8>, Failure> {
        let mut trailer = [0; TRAILER_BYTES];
        let Some(end) = self.len.checked_sub(TRAILER_BYTES as u64) else {
            return Err(damaged("it is too short"));
        };
        self.file.seek(SeekFrom::Start(end))?;
        self.file.read_exact(&mut trailer)?;
        let len = read_footer_length(trailer)?;
        let Some(start) = end.checked_sub(len as u64) else {
            return Err(damaged("its footer is longer than the file"));
        };
        self.file.seek(SeekFrom::Start(start))?;
        let mut footer = vec![0; len];
        self.file.read_exact(&mut footer)?;
        Ok(footer)
    }

    /// Reads a message with its body.
    fn read(&mut self, block: &Block) -> Result<Buffer, Failure> {
        let size = || {
            let metadata = u64::try_from(block.metaDataLength()).ok()?;
            metadata.checked_add(u64::try_from(block.bodyLength()).ok()?)
        };
        self.read_start(block, size())
    }

    /// Reads a message without its body.
    fn read_message(&mut self, block: &Block) -> Result<Buffer, Failure> {
        self.read_start(block, u64::try_from(block.metaDataLength()).ok())
    }

    /// Reads this many bytes from the start of a block.
    fn read_start(&mut self, block: &Block, len: Option<u64>) -> Result<Buffer, Failure> {
        let place = || {
            let (start, len) = (u64::try_from(block.offset()).ok()?, len?);
            let is_within = start.checked_add(len)? <= self.len;
            Some((start, usize::try_from(len).ok().filter(|_| is_within)?))
        };
        let (start, len) = place()
            .ok_or_else(|| damaged("its footer refers to bytes beyond the end of the file"))?;
        self.file.seek(SeekFrom::Start(start))?;
        // Aligned, as arrays require.
        let mut bytes = MutableBuffer::from_len_zeroed(len);
        self.file.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
