//! The native part of a shard over a Parquet file: columns that it cannot refer to, and the structs and lists of
//! others.

use super::chunk_places::ChunkPlaces;
use super::columns::{ColumnSource, FileColumn, FileLeaf};
use super::levels::{Levels, ListsAround, leaves_for_levels, level_nodes, without_values};
use super::parquet_file::ParquetFile;
use crate::error::{Error, Result, Within, to_usize};
use crate::external::parquet::CheckedColumns;
use crate::format::{DataType, StripeFieldDescriptor};
use crate::limits::Limits;
use crate::ops::column_file::ColumnFile;
use crate::write::{ShardWriter, WriterOptions};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A stripe file with the values that cannot stay in a Parquet file.
pub(super) struct NativeColumns {
    file: ColumnFile,
    /// The nodes of the columns in the stripe file, by name.
    nodes: HashMap<String, DataType>,
    /// The lists around leaves, by row group and column of the file.
    lists: HashMap<(usize, usize), ListsAround>,
}

/// A column to be written natively, or its structs and lists.
struct NativeColumn<'a> {
    field: &'a FieldRef,
    /// The leaves of the file, if only structs and lists are written.
    leaves: Option<&'a [FileLeaf]>,
}

impl NativeColumns {
    /// Writes the columns, with a stripe for each range of row groups. `None` if there is nothing to write.
    pub(super) async fn write(
        file: &ParquetFile,
        columns: &[FileColumn<'_>],
        stripes: &[Range<usize>],
    ) -> Result<Option<Self>> {
        let native: Vec<NativeColumn<'_>> = columns.iter().filter_map(native_column).collect();
        if native.is_empty() {
            return Ok(None);
        }
        let fields: Vec<FieldRef> = (native.iter())
            .map(|column| match column.leaves {
                Some(_) => without_values(column.field),
                None => column.field.clone(),
            })
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let options = WriterOptions::default()
            .with_stripe_rows(u64::MAX)
            .with_stripe_bytes(u64::MAX);
        let mut writer = ShardWriter::try_new(Vec::new(), schema.clone(), options)?;
        let mask = mask(file, &native);
        let mut lists = HashMap::new();
        for stripe in stripes {
            for group in stripe.clone() {
                let batch = read_group(file, group, &mask).await?;
                let batch = native_batch(&native, group, batch.as_ref(), &schema, &mut lists)?;
                writer.write(&batch)?;
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
        let stored = stripe_file.shard().stored_columns().await?;
        let nodes = stored
            .into_iter()
            .map(|(field, node)| (field.name().clone(), node));
        Ok(Some(Self {
            nodes: nodes.collect(),
            file: stripe_file,
            lists,
        }))
    }

    /// Returns the lists around a leaf in a row group.
    pub(super) fn lists(&self, group: usize, leaf: &FileLeaf) -> Option<&ListsAround> {
        self.lists.get(&(group, leaf.column))
    }

    /// Returns the descriptors of a column's nodes for a stripe, or of its structs and lists if only those are in the
    /// stripe file. Adds the URL of the stripe file to `urls`.
    pub(super) async fn descriptors(
        &self,
        stripe: u64,
        column: &FileColumn<'_>,
        urls: &mut Vec<String>,
    ) -> Result<Vec<Option<StripeFieldDescriptor>>> {
        let Some(stored) = self.nodes.get(column.name()) else {
            return Err(Error::corrupt("a column was not written"));
        };
        let ids = match column.source {
            ColumnSource::StripeFile(_) => {
                let mut ids = Vec::new();
                stored.walk(&mut |node| ids.push(Some(node.schema_id)));
                ids
            }
            _ => level_nodes(column.node, stored),
        };
        let mut fields = Vec::with_capacity(ids.len());
        for id in ids {
            fields.push(match id {
                Some(id) => self.file.descriptor(stripe, id, urls).await?,
                None => None,
            });
        }
        Ok(fields)
    }

    /// Returns the name and the bytes of the stripe file.
    pub(super) fn into_file(self) -> (String, Bytes) {
        self.file.file()
    }
}

fn native_column<'a>(column: &'a FileColumn<'_>) -> Option<NativeColumn<'a>> {
    match &column.source {
        ColumnSource::StripeFile(field) => Some(NativeColumn {
            field,
            leaves: None,
        }),
        ColumnSource::Leaves {
            field,
            leaves,
            has_levels: true,
        } => Some(NativeColumn {
            field,
            leaves: Some(leaves),
        }),
        ColumnSource::Leaves { .. } | ColumnSource::Constant(_) | ColumnSource::Nowhere => None,
    }
}

/// Returns the columns of the file to read: all of those that are copied, and of the others enough for their levels.
fn mask(file: &ParquetFile, native: &[NativeColumn<'_>]) -> ProjectionMask {
    let descriptor = file.metadata().file_metadata().schema_descr();
    let mut wanted = Vec::new();
    for column in native {
        let Some(leaves) = column.leaves else {
            wanted.extend(leaves_of(file, column.field.name()));
            continue;
        };
        let size = |leaf: &FileLeaf| {
            let groups = file.metadata().row_groups().iter();
            let chunks = groups.filter_map(|group| group.columns().get(leaf.column));
            let sizes = chunks.map(|chunk| u64::try_from(chunk.uncompressed_size()).unwrap_or(0));
            sizes.fold(0, u64::saturating_add)
        };
        let sizes: Vec<u64> = leaves.iter().map(size).collect();
        let chosen = leaves_for_levels(column.field, &sizes).into_iter();
        wanted.extend(chosen.filter_map(|leaf| Some(leaves.get(leaf)?.column)));
    }
    ProjectionMask::leaves(descriptor, wanted)
}

/// Returns the leaves of a column of a file.
pub(super) fn leaves_of(file: &ParquetFile, column: &str) -> Vec<usize> {
    let descriptor = file.metadata().file_metadata().schema_descr();
    let is_own = |&leaf: &usize| descriptor.get_column_root(leaf).name() == column;
    (0..descriptor.num_columns()).filter(is_own).collect()
}

/// Reads the columns of a row group as one batch; `None` if it has no rows.
pub(super) async fn read_group(
    file: &ParquetFile,
    group: usize,
    mask: &ProjectionMask,
) -> Result<Option<RecordBatch>> {
    let rows = to_usize(file.rows_of(&(group..group + 1))?)?;
    if rows == 0 {
        return Ok(None);
    }
    let mut columns = CheckedColumns::new(file.arrow.metadata().clone(), Limits::default());
    let metadata = file.metadata().row_groups().get(group);
    for (leaf, chunk) in metadata
        .iter()
        .flat_map(|group| group.columns().iter().enumerate())
    {
        if !mask.leaf_included(leaf) {
            continue;
        }
        let mut places = ChunkPlaces::of(file, chunk)?;
        places.find_dictionary(file, chunk).await?;
        let dictionary = match places.dictionary {
            Some(range) => Some(file.read_one(range).await?),
            None => None,
        };
        let data = file.read_one(places.data).await?;
        let added = columns.add(leaf, chunk, rows as u64, dictionary, data);
        added.within(|| format!("row group {group}, column {leaf}"))?;
    }
    let batch = columns.read(file.schema().fields(), rows);
    batch.within(|| format!("row group {group}")).map(Some)
}

/// Returns the rows to write of a row group, and notes the lists around its leaves.
fn native_batch(
    native: &[NativeColumn<'_>],
    group: usize,
    read: Option<&RecordBatch>,
    schema: &SchemaRef,
    lists: &mut HashMap<(usize, usize), ListsAround>,
) -> Result<RecordBatch> {
    let Some(read) = read else {
        return Ok(RecordBatch::new_empty(schema.clone()));
    };
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(native.len());
    for column in native {
        let array = read.column_by_name(column.field.name());
        let array = array.ok_or_else(|| Error::corrupt("a column was not read"))?;
        let Some(leaves) = column.leaves else {
            arrays.push(array.clone());
            continue;
        };
        let levels = Levels::of(column.field, array)?;
        let around = leaves.iter().zip(levels.lists);
        lists.extend(around.map(|(leaf, around)| ((group, leaf.column), around)));
        arrays.push(levels.array);
    }
    Ok(RecordBatch::try_new(schema.clone(), arrays)?)
}
