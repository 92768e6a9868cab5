//! Spec: Chapter 6, "Encoded Buffers": block streams and their block maps, raw buffers, value
//! dictionaries.

mod blobs;
mod block_map;
mod block_part;
mod carried_checksums;
mod checksums;
mod copy_check;
mod dictionary_input;
mod encoded_dictionary;
mod encoding_codes;
mod external;
mod field_layout;
mod map_copies;
mod needed_ranges;
mod offsets;
mod opaque_dictionary;
mod own_properties;
mod packed_group;
mod physical;
mod pieces;
mod range_index;
mod range_index_input;
mod raw_part;
mod raw_values;
mod read_context;
mod runs;
mod selection;
mod stored_buffer;
mod stored_index;
mod stream;
mod strings;
#[cfg(test)]
mod test_source;
mod value_dictionary;
mod writer;

#[cfg(feature = "experimental")]
pub use blobs::BLOBS_PROPERTY;
pub use blobs::{BlobTable, blob_header};
pub use block_map::{BlockMap, BlockRange};
#[cfg(feature = "experimental")]
pub use carried_checksums::CarriedChecksums;
pub(crate) use carried_checksums::wrong_file;
#[cfg(any(feature = "experimental", feature = "parquet"))]
pub use checksums::VerifiedSet;
#[cfg(feature = "experimental")]
pub use checksums::{CHECKSUMS_PROPERTY, ChecksumEntry, ChecksumTable, CoveredPart};
pub use checksums::{CHUNK_BYTES, Chunks};
pub use copy_check::CopyCheck;
pub use dictionary_input::DictionaryInput;
pub(crate) use encoded_dictionary::number_kind as dictionary_number_kind;
#[cfg(feature = "experimental")]
pub use encoding_codes::{ENCODING_CODES_PROPERTY, EncodingCodes};
pub use external::{ExternalDecoder, ExternalValues};
pub use field_layout::{FieldBuffers, FieldLayout, Storage, StoredDictionary, packed_member};
#[cfg(feature = "experimental")]
pub use map_copies::{BLOCK_MAPS_PROPERTY, MapCopies};
pub use offsets::{OffsetsCache, Spans, offset_width};
pub use opaque_dictionary::{MAX_OPAQUE_DICTIONARIES, OpaqueDictionary};
pub use own_properties::OwnProperties;
pub use packed_group::{PackedGroup, member_block};
pub use physical::Physical;
pub use pieces::{PiecePool, Pieces};
#[cfg(feature = "experimental")]
pub use range_index::IndexedBlock;
pub use range_index::{RANGE_INDEX_HEADER, RangeIndex, RangeIndexHeader};
pub use range_index_input::{EntryPlans, RangeIndexInput};
pub use read_context::{ByteSource, ReadContext};
pub use runs::{Runs, equal_blocks, is_single_value, read_runs};
pub use selection::Selection;
pub use stored_buffer::{Blocks, Body, StoredBuffer, StoredRange};
pub use stored_index::StoredIndex;
pub use stream::{BlockCache, Numbers, read_bits, read_numbers};
pub use strings::{StringCache, Strings, read_fixed, read_strings};
pub use value_dictionary::ValueDictionary;
pub use writer::{BlockStreamWriter, FinishedBuffer};

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};

/// Returns the whole words of a buffer, which is copied if it is not aligned.
pub(crate) fn words<W: ArrowNativeType>(data: &Buffer) -> ScalarBuffer<W> {
    let len = data.len() / size_of::<W>();
    if data.as_ptr().align_offset(align_of::<W>()) == 0 {
        ScalarBuffer::new(data.clone(), 0, len)
    } else {
        ScalarBuffer::new(Buffer::from_slice_ref(data.as_slice()), 0, len)
    }
}

/// Every encoded buffer starts on a multiple of this many bytes of its file.
pub const BUFFER_ALIGNMENT: usize = 64;
