//! Properties of column chunks that reports show.

use crate::error::Result;
use crate::format::NameValuePair;

/// The properties of a column chunk that only the description of its field has, under the names that Parquet gives
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkDetails {
    /// The codec of its pages.
    pub(crate) codec: &'static str,
    /// The encodings of its pages.
    pub(crate) encodings: Vec<String>,
    /// Number of values, nulls included.
    pub(crate) num_values: u64,
    /// Number of nulls, if it is known.
    pub(crate) null_count: Option<u64>,
    /// Bytes of all pages before compression.
    pub(crate) uncompressed: u64,
}

/// Returns the details of all column chunks of a stripe field, in the order of the references to them; `None` if only
/// the footers of their files have them.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the description is malformed,
/// [`Unsupported`](crate::ErrorKind::Unsupported) if it names an unknown codec.
#[cfg(feature = "parquet")]
pub(crate) fn parquet_chunk_details(
    properties: &[NameValuePair],
) -> Result<Option<Vec<ChunkDetails>>> {
    let Some(description) = super::parquet::ParquetDescription::from_properties(properties)? else {
        return Ok(None);
    };
    let details = description.chunks.iter().map(|chunk| ChunkDetails {
        codec: chunk.codec.name(),
        encodings: chunk.encoding_names(),
        num_values: chunk.num_values,
        null_count: chunk.null_count,
        uncompressed: chunk.uncompressed,
    });
    Ok(Some(details.collect()))
}

/// Returns `None`, because this build does not parse descriptions of column chunks.
///
/// # Errors
/// None in this build.
#[cfg(not(feature = "parquet"))]
pub(crate) fn parquet_chunk_details(_: &[NameValuePair]) -> Result<Option<Vec<ChunkDetails>>> {
    Ok(None)
}
