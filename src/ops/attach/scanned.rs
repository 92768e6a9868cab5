//! Statistics and indexes that Parquet files lack, from reading the values of chosen columns once.

use super::AttachOptions;
use super::columns::{FileColumn, FileLeaf};
use super::native_columns::{leaves_of, read_group};
use super::parquet_file::ParquetFile;
use crate::Shard;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BufferKind, DataEncoding, FieldDescriptor, StripeFieldDescriptor};
use crate::io::RelativeUrl;
use crate::read::unknown_column;
use crate::write::{ColumnOptions, Profile, ShardWriter, WriterOptions};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// The columns to read for their statistics and indexes, by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ScannedNames {
    statistics: BTreeSet<String>,
    index: BTreeSet<String>,
}

impl AttachOptions {
    /// Returns the columns that are read once for their statistics, by name and sorted.
    pub fn statistics(&self) -> impl Iterator<Item = &str> {
        self.scanned.statistics.iter().map(String::as_str)
    }

    /// Sets columns that are read once to compute their statistics, as if they were written natively: null counts,
    /// bounds, sketches of distinct values, and counts of NaNs and signs. Without it, the shard has the statistics of
    /// the Parquet files. A column is named with all of its members and items.
    #[must_use]
    pub fn with_statistics(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scanned.statistics = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the columns that are read once to index them, by name and sorted.
    pub fn index(&self) -> impl Iterator<Item = &str> {
        self.scanned.index.iter().map(String::as_str)
    }

    /// Sets columns that are read once to index them: with a Bloom filter, and with a range index if they have numbers
    /// that are sorted or clustered. Without it, the shard has the Bloom filters and the page indexes of the Parquet
    /// files.
    #[must_use]
    pub fn with_index(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scanned.index = columns.into_iter().map(Into::into).collect();
        self
    }
}

impl ScannedNames {
    /// Fails if a name is not a column.
    ///
    /// # Errors
    /// [`UnknownColumn`](ErrorKind::UnknownColumn).
    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        let mut names = self.statistics.iter().chain(&self.index);
        match names.find(|name| schema.column_with_name(name).is_none()) {
            Some(name) => {
                let known = schema.fields().iter().map(|field| field.name().as_str());
                Err(unknown_column(name, "the Parquet files", known))
            }
            None => Ok(()),
        }
    }
}

/// The statistics and indexes of a leaf, from reading its values.
pub(super) struct ScannedLeaf {
    field: FieldDescriptor,
    has_statistics: bool,
    /// The range index.
    pub(super) index: Option<Bytes>,
}

impl ScannedLeaf {
    /// Returns the number of distinct values, if all of them have been counted. Null is not one of them.
    pub(super) fn distinct_values(&self) -> Option<u64> {
        let cardinality = self.field.cardinality.as_ref();
        let cardinality = cardinality.filter(|c| self.has_statistics && !c.is_estimate);
        let nulls = self.field.null_count?;
        cardinality?.count?.checked_sub(u64::from(nulls > 0))
    }

    /// Adds the statistics to a descriptor of the same values.
    pub(super) fn add_to(&self, field: &mut FieldDescriptor) -> Result<()> {
        let found = &self.field;
        if found.position_count != field.position_count {
            return Err(Error::corrupt(format!(
                "{} values were read, expected {}",
                found.position_count, field.position_count
            )));
        }
        if self.has_statistics {
            field.null_count = found.null_count;
            field.range_stats.clone_from(&found.range_stats);
            field.cardinality.clone_from(&found.cardinality);
            field.type_specific.clone_from(&found.type_specific);
            field.raw_data_size = found.raw_data_size;
        }
        if found.bloom_filter.is_some() {
            field.bloom_filter.clone_from(&found.bloom_filter);
        }
        Ok(())
    }
}

/// The leaves of a stripe whose values have been read, by their columns in the Parquet file.
#[derive(Default)]
pub(super) struct ScannedStripe(HashMap<usize, ScannedLeaf>);

impl ScannedStripe {
    /// Reads the chosen columns in some row groups.
    pub(super) async fn read(
        file: &ParquetFile,
        columns: &[FileColumn<'_>],
        groups: &Range<usize>,
        names: &ScannedNames,
    ) -> Result<Self> {
        let is_chosen = |name: &str| names.statistics.contains(name) || names.index.contains(name);
        let chosen = columns.iter().filter(|column| is_chosen(column.name()));
        let chosen: Vec<&FileColumn<'_>> = chosen.filter(|c| !c.leaves().is_empty()).collect();
        if chosen.is_empty() {
            return Ok(Self::default());
        }
        let own = file.schema();
        let fields: Vec<FieldRef> = chosen
            .iter()
            .filter_map(|column| Some(own.fields().find(column.name())?.1.clone()))
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let mut options = WriterOptions::default()
            .with_profile(Profile::Fast)
            .with_stripe_rows(u64::MAX)
            .with_stripe_bytes(u64::MAX)
            .with_dictionary_enabled(false);
        for column in &chosen {
            let is_indexed = names.index.contains(column.name());
            let own = ColumnOptions::default().with_bloom_filter_enabled(is_indexed);
            options = options.with_column(column.name(), own);
        }
        let mut writer = ShardWriter::try_new(Vec::new(), schema.clone(), options)?;
        let mask = chosen
            .iter()
            .flat_map(|column| leaves_of(file, column.name()));
        let descriptor = file.metadata().file_metadata().schema_descr();
        let mask = ProjectionMask::leaves(descriptor, mask);
        for group in groups.clone() {
            let Some(batch) = read_group(file, group, &mask).await? else {
                continue;
            };
            let arrays: Option<Vec<ArrayRef>> = schema
                .fields()
                .iter()
                .map(|field| batch.column_by_name(field.name()).cloned())
                .collect();
            let arrays = arrays.ok_or_else(|| Error::corrupt("a column was not read"))?;
            writer.write(&RecordBatch::try_new(schema.clone(), arrays)?)?;
        }
        let (bytes, summary) = writer.finish_into()?;
        if summary.num_stripes() > 1 {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "the values of a stripe are too many to compute their statistics; attach fewer row groups per stripe",
            ));
        }
        Self::of_shard(Bytes::from(bytes), &chosen, names).await
    }

    /// Takes the descriptors and the range indexes of a shard with the columns.
    async fn of_shard(
        bytes: Bytes,
        columns: &[&FileColumn<'_>],
        names: &ScannedNames,
    ) -> Result<Self> {
        let shard = Shard::from_bytes(bytes.clone())?;
        let mut leaves = HashMap::new();
        for ((_, node), column) in shard.stored_columns().await?.iter().zip(columns) {
            let mut ids = Vec::new();
            node.walk(&mut |node| ids.extend(node.children.is_empty().then_some(node.schema_id)));
            let mut here = |_: Option<&RelativeUrl>| Ok(String::new());
            let found = shard.descriptors(0, &ids, &mut here).await?;
            for ((_, leaf), found) in column.leaves().into_iter().zip(found) {
                let Some(found) = found else {
                    continue;
                };
                let is_indexed = names.index.contains(column.name());
                let index = range_index(&found, &bytes).filter(|_| is_indexed);
                let scanned = ScannedLeaf {
                    field: found.field,
                    has_statistics: names.statistics.contains(column.name()),
                    index,
                };
                leaves.insert(leaf.column, scanned);
            }
        }
        Ok(Self(leaves))
    }

    /// Returns what has been read of a leaf, if it was chosen.
    pub(super) fn leaf(&self, leaf: &FileLeaf) -> Option<&ScannedLeaf> {
        self.0.get(&leaf.column)
    }
}

/// Returns the bytes of the range index of a field in the file of its shard.
fn range_index(field: &StripeFieldDescriptor, file: &Bytes) -> Option<Bytes> {
    let buffers = field.encodings.iter().flat_map(|encoding| match encoding {
        DataEncoding::Native(native) => native.buffers.as_slice(),
        DataEncoding::Parquet(_) | DataEncoding::Unknown => &[],
    });
    let mut indexes = buffers.filter(|buffer| buffer.kind == BufferKind::RangeIndex);
    let range = indexes.next()?.buffer.as_ref()?.range.to_usize().ok()?;
    (range.end <= file.len()).then(|| file.slice(range))
}
