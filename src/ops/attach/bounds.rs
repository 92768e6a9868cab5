//! Ranges and numbers of nulls from the statistics of Parquet files.

use super::columns::FileLeaf;
use super::parquet_file::ParquetFile;
use crate::column::{Chunk, Values, shred};
use crate::error::Result;
use crate::external::parquet::guarded;
use crate::format::{DataType, RangeStats};
use crate::write::range_of;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow_schema::Field;
use arrow_select::concat::concat;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type as PhysicalType;
use std::ops::Range;

/// What the row groups of a file say about the values of a leaf.
#[derive(Debug)]
pub(super) struct LeafStatistics {
    /// Smallest and largest value of each row group, null where unknown.
    bounds: Option<(ArrayRef, ArrayRef)>,
    /// Whether these are values, and not just bounds.
    exact: Option<(BooleanArray, BooleanArray)>,
    nulls: Option<UInt64Array>,
    is_nullable: bool,
}

impl LeafStatistics {
    pub(super) fn load(file: &ParquetFile, leaf: &FileLeaf) -> Self {
        let groups = || file.metadata().row_groups().iter();
        let schema = file.metadata().file_metadata().schema_descr();
        // Damaged statistics are as good as none.
        let converter = guarded(|| {
            let found = StatisticsConverter::from_column_index(leaf.column, &leaf.field, schema);
            Ok(found?.with_missing_null_counts_as_zero(false))
        });
        let mut loaded = Self {
            bounds: None,
            exact: None,
            nulls: None,
            is_nullable: leaf.descriptor.max_def_level() > 0,
        };
        let Ok(converter) = converter else {
            return loaded;
        };
        loaded.nulls = guarded(|| converter.row_group_null_counts(groups())).ok();
        let are_ordered = leaf.descriptor.physical_type() != PhysicalType::INT96
            && groups().all(|group| {
                let chunk = group.columns().get(leaf.column);
                // Old files order some types in another way.
                chunk
                    .and_then(|chunk| chunk.statistics())
                    .is_none_or(|found| {
                        !found.is_min_max_deprecated() || found.is_min_max_backwards_compatible()
                    })
            });
        if are_ordered {
            let bounds = || {
                let min = converter.row_group_mins(groups())?;
                Ok((min, converter.row_group_maxes(groups())?))
            };
            loaded.bounds = guarded(bounds).ok();
            loaded.exact = guarded(|| {
                let min = converter.row_group_is_min_value_exact(groups())?;
                Ok((min, converter.row_group_is_max_value_exact(groups())?))
            })
            .ok();
        }
        loaded
    }

    /// Returns the number of nulls in some row groups, if it is known.
    pub(super) fn nulls(&self, groups: &Range<usize>) -> Option<u64> {
        if !self.is_nullable {
            return Some(0);
        }
        let nulls = self.nulls.as_ref()?;
        groups
            .clone()
            .map(|group| (nulls.len() > group && nulls.is_valid(group)).then(|| nulls.value(group)))
            .sum()
    }

    /// Returns the range of the values in some row groups, if it is known. `all_null` tells which of them have no
    /// values.
    pub(super) fn range(
        &self,
        node: &DataType,
        groups: &Range<usize>,
        all_null: impl Fn(usize) -> bool,
    ) -> Result<Option<RangeStats>> {
        let Some((min, max)) = &self.bounds else {
            return Ok(None);
        };
        let with_values = groups.clone().filter(|&group| !all_null(group));
        let with_values: Vec<usize> = with_values.collect();
        let pieces = with_values
            .iter()
            .flat_map(|&group| [min.slice(group, 1), max.slice(group, 1)]);
        let pieces: Vec<ArrayRef> = pieces.collect();
        if pieces.is_empty() || pieces.iter().any(|bound| bound.logical_null_count() > 0) {
            return Ok(None);
        }
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        let values = concat(&pieces)?;
        let field = Field::new(&node.name, values.data_type().clone(), true);
        let mut chunk: Option<Chunk<Values>> = None;
        let shredded = shred(&field, &values, node, &mut |_, found| {
            chunk = Some(found);
            Ok(())
        });
        // A bound that the type cannot hold tells nothing.
        let (Ok(()), Some(chunk)) = (shredded, chunk) else {
            return Ok(None);
        };
        let mut range = range_of(node, &chunk)?;
        if let Some(range) = &mut range {
            let all = |exact: &BooleanArray| {
                let mut groups = with_values.iter();
                groups.all(|&group| exact.is_valid(group) && exact.value(group))
            };
            let (min, max) = self
                .exact
                .as_ref()
                .map_or((false, false), |(min, max)| (all(min), all(max)));
            range.min_inclusive &= min;
            range.max_inclusive &= max;
        }
        Ok(range)
    }
}
