//! Ranges, and numbers of nulls and of distinct values, from the statistics of Parquet files.

use super::columns::FileLeaf;
use super::parquet_file::ParquetFile;
use crate::column::{Chunk, Values, shred};
use crate::error::Result;
use crate::external::parquet::guarded;
use crate::format::{AnyValue, CardinalityInfo, DataType, RangeStats, ValueKind};
use crate::write::range_of;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow_schema::Field;
use arrow_select::concat::concat;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::{ColumnOrder, ConvertedType, LogicalType, SortOrder, Type as PhysicalType};
use parquet::schema::types::ColumnDescriptor;

/// Bytes of values of a fixed length up to which they have bounds. The crate `parquet` reserves memory for many of
/// them, whatever length the schema claims.
const MAX_FIXED_BYTES: i32 = 4096;

/// The statistics of a leaf in the row groups of a file.
#[derive(Debug)]
pub(super) struct LeafStatistics {
    /// Smallest and largest value of each row group, null where unknown.
    pub(super) bounds: Option<(ArrayRef, ArrayRef)>,
    /// Whether these are values, and not just bounds.
    exact: Option<(BooleanArray, BooleanArray)>,
    nulls: Option<UInt64Array>,
    /// Number of distinct values of each row group.
    distinct: Vec<Option<u64>>,
    /// Whether there can be nulls, of the leaf or of a group around it.
    pub(super) is_nullable: bool,
    pub(super) has_groups: bool,
    /// Whether bounds may be cut values, which are not values themselves.
    may_be_cut: bool,
}

/// Returns a bound below a value that may be the smallest one, or below it.
fn below(value: AnyValue) -> Option<AnyValue> {
    let kind = match value.kind? {
        ValueKind::String(mut text) => {
            text.pop()?;
            ValueKind::String(text)
        }
        ValueKind::Bytes(bytes) => {
            let len = bytes.len().checked_sub(1)?;
            ValueKind::Bytes(bytes.slice(..len))
        }
        _ => return None,
    };
    Some(kind.into())
}

/// Returns a bound above a value that may be the largest one, or above it.
fn above(value: AnyValue) -> Option<AnyValue> {
    let kind = match value.kind? {
        ValueKind::String(text) => ValueKind::String(text + "\0"),
        ValueKind::Bytes(bytes) => ValueKind::Bytes([&bytes[..], &[0]].concat().into()),
        _ => return None,
    };
    Some(kind.into())
}

/// Returns bounds as the node stores values. `None` if the type cannot hold one of them; it tells nothing then.
pub(super) fn stored_bounds(node: &DataType, bounds: &ArrayRef) -> Option<Chunk<Values>> {
    let field = Field::new(&node.name, bounds.data_type().clone(), true);
    let mut chunk: Option<Chunk<Values>> = None;
    let shredded = shred(&field, bounds, node, &mut |_, found| {
        chunk = Some(found);
        Ok(())
    });
    chunk.filter(|_| shredded.is_ok())
}

/// Whether a file declares the order of the values of a leaf. Old files do not, and have the order of signed numbers.
pub(super) fn has_declared_order(file: &ParquetFile, leaf: &FileLeaf) -> bool {
    match file.metadata().file_metadata().column_orders() {
        None => is_signed_number(&leaf.descriptor),
        Some(orders) => matches!(
            orders.get(leaf.column),
            Some(ColumnOrder::TYPE_DEFINED_ORDER(
                SortOrder::SIGNED | SortOrder::UNSIGNED
            ))
        ),
    }
}

/// Whether statistics of a leaf may be cut values.
fn may_be_cut(leaf: &ColumnDescriptor) -> bool {
    let is_decimal = leaf.converted_type() == ConvertedType::DECIMAL
        || matches!(leaf.logical_type_ref(), Some(LogicalType::Decimal(_)));
    // A cut value of a fixed size has another size, and is not used as a bound.
    leaf.physical_type() == PhysicalType::BYTE_ARRAY && !is_decimal
}

/// Whether the values of a leaf are numbers that are ordered as signed ones.
fn is_signed_number(leaf: &ColumnDescriptor) -> bool {
    let is_bytes = matches!(
        leaf.physical_type(),
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY
    );
    leaf.sort_order() == SortOrder::SIGNED && !is_bytes
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
        let own_level = i16::from(leaf.descriptor.self_type().is_optional());
        let mut loaded = Self {
            bounds: None,
            exact: None,
            nulls: None,
            distinct: groups()
                .map(|group| {
                    let statistics = group.columns().get(leaf.column)?.statistics()?;
                    statistics.distinct_count_opt()
                })
                .collect(),
            is_nullable: leaf.descriptor.max_def_level() > 0,
            has_groups: leaf.descriptor.max_def_level() > own_level
                || leaf.descriptor.max_rep_level() > 0,
            may_be_cut: may_be_cut(&leaf.descriptor),
        };
        let Ok(converter) = converter else {
            return loaded;
        };
        loaded.nulls = guarded(|| converter.row_group_null_counts(groups())).ok();
        let are_ordered = leaf.descriptor.physical_type() != PhysicalType::INT96
            && leaf.descriptor.type_length() <= MAX_FIXED_BYTES
            && groups().all(|group| {
                let chunk = group.columns().get(leaf.column);
                let found = chunk.and_then(|chunk| chunk.statistics());
                found.is_none_or(|found| {
                    // The crate takes statistics without bounds, as of nulls alone, for old ones.
                    let has_bounds = found.min_bytes_opt().or(found.max_bytes_opt()).is_some();
                    // Old writers compared all values as signed ones, and bytes one by one as well.
                    let is_old = has_bounds && found.is_min_max_deprecated();
                    !is_old || is_signed_number(&leaf.descriptor)
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

    /// Returns the number of nulls in a row group, if it is known.
    pub(super) fn nulls(&self, group: usize) -> Option<u64> {
        if !self.is_nullable {
            return Some(0);
        }
        // Writers disagree on whether the nulls of groups, and empty lists, count.
        let nulls = self.nulls.as_ref().filter(|_| !self.has_groups)?;
        (group < nulls.len() && nulls.is_valid(group)).then(|| nulls.value(group))
    }

    /// Returns the number of distinct values in some row groups, if it is known. Each of them must have a value.
    /// `positions` and `nulls` count the positions of all of them, and the nulls among these.
    pub(super) fn cardinality(
        &self,
        with_values: &[usize],
        positions: u64,
        nulls: Option<u64>,
    ) -> Option<CardinalityInfo> {
        // Row groups may have values in common, so that their numbers do not add up.
        let [group] = with_values else {
            return None;
        };
        let distinct = self.distinct.get(*group).copied().flatten()?;
        let present = positions.checked_sub(nulls.unwrap_or(0))?;
        let has_no_nulls = nulls == Some(0);
        (1..=present).contains(&distinct).then(|| CardinalityInfo {
            count: Some(distinct + u64::from(!has_no_nulls)),
            // Parquet does not say whether null counts as a value, and nothing confirms the number.
            is_estimate: true,
            sketch: None,
        })
    }

    /// Returns the range of the values in some row groups, if it is known. Each of them must have a value.
    pub(super) fn range(
        &self,
        node: &DataType,
        with_values: &[usize],
    ) -> Result<Option<RangeStats>> {
        let Some((min, max)) = &self.bounds else {
            return Ok(None);
        };
        let pieces = with_values
            .iter()
            .flat_map(|&group| [min.slice(group, 1), max.slice(group, 1)]);
        let pieces: Vec<ArrayRef> = pieces.collect();
        if pieces.is_empty() || pieces.iter().any(|bound| bound.logical_null_count() > 0) {
            return Ok(None);
        }
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        let Some(chunk) = stored_bounds(node, &concat(&pieces)?) else {
            return Ok(None);
        };
        let Some(mut range) = range_of(node, &chunk)? else {
            return Ok(None);
        };
        // Only bytes are cut. Files that do not say whether they are may be of writers that cut.
        let is_exact = |exact: &BooleanArray| {
            let mut groups = with_values.iter();
            groups.all(|&group| exact.is_valid(group) && exact.value(group))
        };
        let (exact_min, exact_max) = match &self.exact {
            _ if !self.may_be_cut => (true, true),
            Some((min, max)) => (is_exact(min), is_exact(max)),
            None => (false, false),
        };
        if !exact_min && range.min_inclusive {
            range.min_value = range.min_value.and_then(below);
            range.min_inclusive = false;
        }
        if !exact_max && range.max_inclusive {
            range.max_value = range.max_value.and_then(above);
            range.max_inclusive = false;
        }
        Ok(Some(range).filter(|range| range.min_value.is_some() && range.max_value.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;
    use std::sync::Arc;

    #[test]
    fn bounds_that_may_be_values_are_moved_outwards() {
        let text = |text: &str| AnyValue::from(text);
        assert_eq!(below(text("abé")), Some(text("ab")));
        assert_eq!(below(text("")), None);
        assert_eq!(above(text("")), Some(text("\0")));
        let bytes = |bytes: &[u8]| AnyValue::from(bytes);
        assert_eq!(below(bytes(&[1, 0])), Some(bytes(&[1])));
        assert_eq!(above(bytes(&[255])), Some(bytes(&[255, 0])));
        assert_eq!(below(bytes(&[])), None);
    }

    #[test]
    fn old_statistics_bound_only_signed_numbers() {
        let is_signed = |leaf: &str| {
            let message = parse_message_type(&format!("message m {{ required {leaf}; }}"));
            let schema = SchemaDescriptor::new(Arc::new(message.unwrap()));
            is_signed_number(&schema.column(0))
        };
        for leaf in ["int32 v", "int64 v (TIMESTAMP(MICROS,true))", "double v"] {
            assert!(is_signed(leaf), "{leaf}");
        }
        for leaf in [
            "int32 v (INTEGER(32,false))",
            "binary v (STRING)",
            "fixed_len_byte_array(4) v (DECIMAL(9,2))",
        ] {
            assert!(!is_signed(leaf), "{leaf}");
        }
    }
}
