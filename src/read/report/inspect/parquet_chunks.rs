//! Spec: docs/format.md, "External Parquet": the column chunks that a field refers to.

use super::ParquetChunkInfo;
use crate::error::{Error, Result};
use crate::external::parquet_chunk_details;
use crate::format::{NameValuePair, ParquetFileColumnRef, parquet_type_name};
use crate::read::shard::artifacts::Artifacts;

/// Appends the column chunks of an encoding to `out`. References are in artifact `from`.
///
/// # Errors
/// Returns the error of a reference, or of the property that describes the chunks. `out` then has the chunks that could
/// be described, perhaps without details.
pub(super) fn append_chunks(
    artifacts: &Artifacts,
    from: u32,
    encoding: usize,
    files: &[ParquetFileColumnRef],
    properties: &[NameValuePair],
    out: &mut Vec<ParquetChunkInfo>,
) -> Result<()> {
    let first = out.len();
    for file in files {
        let of_file = file.file_ref.as_ref().map(|reference| &reference.url);
        for chunk in &file.column_chunks {
            let url = chunk.file_url.as_ref().or(of_file);
            let url = url.ok_or_else(|| Error::corrupt("a Parquet file without a reference"))?;
            out.push(ParquetChunkInfo {
                encoding,
                file: artifacts.name_of(artifacts.resolve_external(url, from)?),
                row_group: chunk.row_group_id,
                column: chunk.column_chunk_id,
                physical_type: parquet_type_name(chunk.storage_type),
                data_pages: chunk.data_pages_range,
                dictionary_page: chunk.dictionary_range,
                num_pages: Some(chunk.data_page_count).filter(|&count| count > 0),
                has_page_map: chunk.data_page_map.is_some(),
                codec: None,
                page_encodings: Vec::new(),
                num_values: None,
                null_count: None,
                uncompressed_bytes: None,
            });
        }
    }
    let Some(details) = parquet_chunk_details(properties)? else {
        return Ok(());
    };
    let chunks = out.get_mut(first..).unwrap_or_default();
    if details.len() != chunks.len() {
        return Err(Error::corrupt(format!(
            "{} Parquet column chunks, but {} are described",
            chunks.len(),
            details.len()
        )));
    }
    for (chunk, details) in chunks.iter_mut().zip(details) {
        chunk.codec = Some(details.codec.to_owned());
        chunk.page_encodings = details.encodings;
        chunk.num_values = Some(details.num_values);
        chunk.null_count = details.null_count;
        chunk.uncompressed_bytes = Some(details.uncompressed);
    }
    Ok(())
}
