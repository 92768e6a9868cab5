//! Spec: Chapter 6, "Data Encoding", "Encoded Buffers" and "External Parquet Encoding".

use super::DataRef;
use crate::error::Result;
use crate::io::ByteRange;

/// One representation of a stripe field's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataEncoding {
    /// Encoded buffers of this format.
    Native(NativeDataEncoding),
    /// Column chunks of Parquet files.
    Parquet(Vec<ParquetFileColumnRef>),
    /// An encoding of a kind that this reader does not know.
    Unknown,
}

impl DataEncoding {
    /// Returns whether the values are codes of a value dictionary.
    pub fn has_dictionary(&self) -> bool {
        matches!(self, Self::Native(native) if native.has_dictionary())
    }

    /// Returns whether anything is stored. A constant has an encoding without buffers.
    pub(crate) fn has_data(&self) -> bool {
        !matches!(self, Self::Native(native) if native.buffers.is_empty())
    }

    /// Calls `visit` with the URL of every reference to bytes.
    ///
    /// # Errors
    /// Returns the errors of `visit`.
    pub(crate) fn for_each_url(
        &mut self,
        visit: &mut dyn FnMut(&mut String) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Native(native) => {
                for buffer in &mut native.buffers {
                    let references = [&mut buffer.buffer, &mut buffer.block_map];
                    for reference in references.into_iter().flatten() {
                        visit(&mut reference.url)?;
                    }
                }
            }
            Self::Parquet(files) => {
                for file in files {
                    if let Some(reference) = &mut file.file_ref {
                        visit(&mut reference.url)?;
                    }
                    for chunk in &mut file.column_chunks {
                        if let Some(url) = &mut chunk.file_url {
                            visit(url)?;
                        }
                        if let Some(reference) = &mut chunk.data_page_map {
                            visit(&mut reference.url)?;
                        }
                    }
                }
            }
            Self::Unknown => {}
        }
        Ok(())
    }
}

/// Encoded buffers of a stripe field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NativeDataEncoding {
    /// The buffers.
    pub buffers: Vec<EncodedBuffer>,
    /// Whether the DATA buffer interleaves the blocks of the struct's members.
    pub packed_group: bool,
}

impl NativeDataEncoding {
    /// Returns whether DATA holds codes of a value dictionary.
    pub fn has_dictionary(&self) -> bool {
        let is_dictionary = |buffer: &EncodedBuffer| buffer.kind == BufferKind::ValueDictionary;
        self.buffers.iter().any(is_dictionary)
    }
}

/// The role of an encoded buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BufferKind {
    /// Values, or dictionary codes.
    Data,
    /// Presence: which positions are not null.
    Presence,
    /// Ends of variable-size values or of lists.
    Offsets,
    /// The distinct values that codes refer to.
    ValueDictionary,
    /// A dictionary for the general-purpose compressor.
    OpaqueDictionary,
    /// The least and the greatest value of every 256 positions, by default.
    RangeIndex,
    /// A role that this reader does not know.
    Other(i32),
}

impl BufferKind {
    /// Returns the kind with this number.
    pub(crate) fn from_i32(value: i32) -> Self {
        match value {
            0 => Self::Data,
            1 => Self::Presence,
            2 => Self::Offsets,
            3 => Self::ValueDictionary,
            4 => Self::OpaqueDictionary,
            5 => Self::RangeIndex,
            other => Self::Other(other),
        }
    }

    /// Returns the number of the kind.
    pub(crate) fn to_i32(self) -> i32 {
        match self {
            Self::Data => 0,
            Self::Presence => 1,
            Self::Offsets => 2,
            Self::ValueDictionary => 3,
            Self::OpaqueDictionary => 4,
            Self::RangeIndex => 5,
            Self::Other(other) => other,
        }
    }
}

/// One encoded buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedBuffer {
    /// Its role.
    pub kind: BufferKind,
    /// All of its bytes, including the block map. Absent for members of a packed group.
    pub buffer: Option<DataRef>,
    /// Its block map, the tail of `buffer`. Absent for buffers without blocks.
    pub block_map: Option<DataRef>,
    /// Number of blocks.
    pub block_count: Option<u64>,
    /// Whether every block ends with a checksum.
    pub block_checksums: bool,
    /// Whether blocks carry the presence of their values.
    pub embedded_presence: bool,
    /// Whether blocks carry the offsets of their values.
    pub embedded_offsets: bool,
    /// Number by which blocks refer to this buffer.
    pub buffer_id: Option<u32>,
    /// Ordinal of the member in its packed group.
    pub packed_group_index: Option<u32>,
}

impl EncodedBuffer {
    /// Creates the description of a buffer without blocks.
    pub fn new(kind: BufferKind, buffer: DataRef) -> Self {
        Self {
            kind,
            buffer: Some(buffer),
            block_map: None,
            block_count: None,
            block_checksums: false,
            embedded_presence: false,
            embedded_offsets: false,
            buffer_id: None,
            packed_group_index: None,
        }
    }
}

/// Column chunks of one Parquet file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParquetFileColumnRef {
    /// The file.
    pub file_ref: Option<DataRef>,
    /// Its chunks.
    pub column_chunks: Vec<ParquetColumnChunkRef>,
}

/// Names of Parquet's physical types, by their numbers.
const PARQUET_TYPES: [&str; 8] = [
    "BOOLEAN",
    "INT32",
    "INT64",
    "INT96",
    "FLOAT",
    "DOUBLE",
    "BYTE_ARRAY",
    "FIXED_LEN_BYTE_ARRAY",
];

/// Returns Parquet's name of the physical type with this number, or a text with an unknown number.
pub(crate) fn parquet_type_name(storage_type: i32) -> String {
    let known = usize::try_from(storage_type).ok();
    let known = known.and_then(|number| PARQUET_TYPES.get(number));
    known.map_or_else(|| format!("type {storage_type}"), |name| (*name).to_owned())
}

/// One column chunk of a Parquet file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParquetColumnChunkRef {
    /// Physical type: 0 BOOLEAN, 1 INT32, 2 INT64, 3 INT96, 4 FLOAT, 5 DOUBLE, 6 BYTE_ARRAY,
    /// 7 FIXED_LEN_BYTE_ARRAY.
    pub storage_type: i32,
    /// Ordinal in `FileMetaData.schema`.
    pub schema_element_id: u32,
    /// Ordinal in `FileMetaData.row_groups`.
    pub row_group_id: u32,
    /// Ordinal in `RowGroup.columns`.
    pub column_chunk_id: u32,
    /// The file, if it differs from the file of the [`ParquetFileColumnRef`].
    pub file_url: Option<String>,
    /// All data pages.
    pub data_pages_range: Option<ByteRange>,
    /// Number of data pages.
    pub data_page_count: u64,
    /// All dictionary pages.
    pub dictionary_range: Option<ByteRange>,
    /// A block map over the pages.
    pub data_page_map: Option<DataRef>,
}
