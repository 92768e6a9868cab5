//! Columns of a Parquet file that a shard cannot refer to, and stores itself.

use super::columns::{ColumnSource, FileColumn};
use super::parquet_file::ParquetFile;
use crate::error::{Error, Result};
use crate::external::parquet::guarded;
use crate::format::StripeFieldDescriptor;
use crate::io::ByteRange;
use crate::ops::column_file::ColumnFile;
use crate::write::{ShardWriter, WriterOptions};
use arrow_schema::{FieldRef, Schema};
use bytes::{Buf, Bytes};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A stripe file with the columns of a Parquet file that cannot stay there.
pub(super) struct NativeColumns {
    file: ColumnFile,
    /// The names of the columns, with the ids of their nodes in the stripe file.
    nodes: Vec<(String, Vec<u32>)>,
}

impl NativeColumns {
    /// Writes the columns, with a stripe for each range of row groups. `None` if there are no such columns.
    pub(super) async fn write(
        file: &ParquetFile,
        columns: &[FileColumn<'_>],
        stripes: &[Range<usize>],
    ) -> Result<Option<Self>> {
        let copied = columns.iter().filter_map(|column| match column.source {
            ColumnSource::StripeFile(field, ordinal) => Some((field.clone(), ordinal)),
            _ => None,
        });
        let (mut fields, mut roots): (Vec<FieldRef>, Vec<usize>) = copied.unzip();
        if fields.is_empty() {
            return Ok(None);
        }
        // Batches have the columns in the order of the file.
        let mut order: Vec<usize> = (0..roots.len()).collect();
        order.sort_by_key(|&i| roots.get(i).copied());
        fields = order
            .iter()
            .filter_map(|&i| fields.get(i).cloned())
            .collect();
        roots.sort_unstable();
        let schema = Arc::new(Schema::new(fields));
        let options = WriterOptions::default()
            .with_stripe_rows(u64::MAX)
            .with_stripe_bytes(u64::MAX);
        let mut writer = ShardWriter::try_new(Vec::new(), schema.clone(), options)?;
        let descriptor = file.metadata().file_metadata().schema_descr();
        let mask = ProjectionMask::roots(descriptor, roots);
        for groups in stripes {
            let part = FilePart::read(file, groups, &mask).await?;
            let reader = guarded(|| {
                let metadata: ArrowReaderMetadata = file.arrow.clone();
                ParquetRecordBatchReaderBuilder::new_with_metadata(part, metadata)
                    .with_projection(mask.clone())
                    .with_row_groups(groups.clone().collect())
                    .build()
            })?;
            let mut reader = reader;
            while let Some(batch) = guarded(|| Ok(reader.next().transpose()?))? {
                writer.write(&batch.with_schema(schema.clone())?)?;
            }
            writer.flush_stripe()?;
        }
        let (bytes, summary) = writer.finish_into()?;
        if summary.num_stripes() != stripes.len() as u64 {
            return Err(Error::unsupported(
                "a column that does not fit into stripes of whole row groups; attach fewer row groups per stripe",
            ));
        }
        let stripe_file = ColumnFile::of(bytes)?;
        let mut nodes = Vec::new();
        for (field, node) in stripe_file.shard().stored_columns().await? {
            let mut ids = Vec::new();
            node.walk(&mut |node| ids.push(node.schema_id));
            nodes.push((field.name().clone(), ids));
        }
        Ok(Some(Self {
            file: stripe_file,
            nodes,
        }))
    }

    /// Whether the stripe file holds a column.
    pub(super) fn has(&self, column: &FileColumn<'_>) -> bool {
        matches!(column.source, ColumnSource::StripeFile(..))
    }

    /// Returns the descriptors of a column's nodes for a stripe. Adds the URL of the stripe file to `urls`.
    pub(super) async fn descriptors(
        &self,
        stripe: u64,
        column: &FileColumn<'_>,
        urls: &mut Vec<String>,
    ) -> Result<Vec<Option<StripeFieldDescriptor>>> {
        let mut nodes = self.nodes.iter();
        let ids = nodes.find(|(name, _)| name == column.name());
        let mut fields = Vec::new();
        for &id in ids.map_or(&[][..], |(_, ids)| ids) {
            fields.push(self.file.descriptor(stripe, id, urls).await?);
        }
        Ok(fields)
    }

    /// Returns the name and the bytes of the stripe file.
    pub(super) fn into_file(self) -> (String, Bytes) {
        self.file.file()
    }
}

/// The column chunks that are needed of a file.
struct FilePart {
    size: u64,
    pieces: BTreeMap<u64, Bytes>,
}

impl FilePart {
    async fn read(
        file: &ParquetFile,
        groups: &Range<usize>,
        mask: &ProjectionMask,
    ) -> Result<Self> {
        let mut ranges = Vec::new();
        for group in file.groups(groups) {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                if mask.leaf_included(leaf) {
                    let (start, len) = guarded(|| Ok(chunk.byte_range()))?;
                    ranges.push(ByteRange::with_len(start, len)?);
                }
            }
        }
        let bytes = file.read(ranges.clone()).await?;
        let starts = ranges.iter().map(|range| range.start());
        Ok(Self {
            size: file.size,
            pieces: starts.zip(bytes).collect(),
        })
    }

    fn from(&self, start: u64) -> ParquetResult<Bytes> {
        let piece = self.pieces.range(..=start).next_back();
        let found = piece.and_then(|(from, bytes)| {
            let skipped = usize::try_from(start - from).ok()?;
            (skipped <= bytes.len()).then(|| bytes.slice(skipped..))
        });
        found.ok_or_else(|| ParquetError::EOF("bytes outside of the column chunks".into()))
    }
}

impl Length for FilePart {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for FilePart {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let rest = self.from(start)?;
        if length > rest.len() {
            return Err(ParquetError::EOF(
                "bytes outside of the column chunks".into(),
            ));
        }
        Ok(rest.slice(..length))
    }
}
