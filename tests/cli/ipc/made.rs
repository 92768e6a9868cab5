//! Parses and builds parts of files and streams, for tests with files that no writer creates.

use arrow_array::RecordBatch;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{DictionaryTracker, IpcWriteOptions, StreamWriter};
use arrow_ipc::{Block, FooterBuilder, MessageHeader, MetadataVersion};
use flatbuffers::FlatBufferBuilder;

/// The position of a message in a stream.
pub(super) struct Place {
    /// First byte.
    pub(super) at: usize,
    /// Bytes before the body.
    pub(super) head: usize,
    /// Bytes of the body.
    pub(super) body: usize,
}

impl Place {
    pub(super) fn message<'a>(&self, stream: &'a [u8]) -> arrow_ipc::Message<'a> {
        arrow_ipc::root_as_message(&stream[self.at + 8..]).unwrap()
    }
}

/// Returns the messages of a stream.
pub(super) fn places(stream: &[u8]) -> Vec<Place> {
    let (mut places, mut at) = (Vec::new(), 0);
    while let Some((prefix, _)) = stream[at..].split_first_chunk::<8>() {
        assert_eq!(&prefix[..4], [0xFF; 4]);
        let length = u32::from_le_bytes(*prefix.last_chunk().unwrap()) as usize;
        if length == 0 {
            break;
        }
        let head = 8 + length;
        let message = arrow_ipc::root_as_message(&stream[at + 8..]).unwrap();
        let body = usize::try_from(message.bodyLength()).unwrap();
        places.push(Place { at, head, body });
        at += head + body;
    }
    places
}

/// Returns the kinds of the messages of a stream.
pub(super) fn kinds(stream: &[u8]) -> Vec<MessageHeader> {
    let places = places(stream);
    let kinds = places
        .iter()
        .map(|place| place.message(stream).header_type());
    kinds.collect()
}

/// Writes batches of one schema as a stream.
pub(super) fn stream(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

/// Creates a file from the messages of a stream; its footer may omit the optional list of batches.
pub(super) fn file_of(stream: &[u8], lists_batches: bool) -> Vec<u8> {
    let mut file = b"ARROW1\0\0".to_vec();
    let (mut dictionaries, mut batches) = (Vec::new(), Vec::new());
    for place in places(stream) {
        let block = Block::new(
            file.len().try_into().unwrap(),
            place.head.try_into().unwrap(),
            place.body.try_into().unwrap(),
        );
        match place.message(stream).header_type() {
            MessageHeader::DictionaryBatch => dictionaries.push(block),
            MessageHeader::RecordBatch => batches.push(block),
            _ => {}
        }
        file.extend_from_slice(&stream[place.at..place.at + place.head + place.body]);
    }
    let schema = StreamReader::try_new(stream, None).unwrap().schema();
    let mut builder = FlatBufferBuilder::new();
    let mut tracker = DictionaryTracker::new(false);
    let mut encoder = IpcSchemaEncoder::new().with_dictionary_tracker(&mut tracker);
    let schema = encoder.schema_to_fb_offset(&mut builder, &schema);
    let dictionaries = builder.create_vector(&dictionaries);
    let batches = lists_batches.then(|| builder.create_vector(&batches));
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    if let Some(batches) = batches {
        footer.add_recordBatches(batches);
    }
    let footer = footer.finish();
    builder.finish(footer, None);
    with_footer(file, builder.finished_data())
}

/// Appends a footer to a file.
pub(super) fn with_footer(mut file: Vec<u8>, footer: &[u8]) -> Vec<u8> {
    file.extend_from_slice(&[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]);
    file.extend_from_slice(footer);
    file.extend_from_slice(&i32::try_from(footer.len()).unwrap().to_le_bytes());
    file.extend_from_slice(b"ARROW1");
    file
}
