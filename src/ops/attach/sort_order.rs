//! The order of attached rows, as far as the Parquet files declare it and their statistics confirm it.

use super::bounds::{LeafStatistics, has_declared_order};
use super::columns::{FileColumn, FileLeaf};
use super::parquet_file::ParquetFile;
use crate::error::Result;
use crate::format::{AnyValue, DataType};
use crate::sorting::{SortingColumn, place_of};
use arrow_schema::{DataType as ArrowType, Fields, Schema};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The columns by which the rows of the added row groups are sorted, in the order of significance.
///
/// A row group declares the order of its own rows. The row groups are in order if their statistics do not overlap.
#[derive(Debug, Default)]
pub(super) struct SortOrder {
    columns: Vec<SortingColumn>,
    /// The greatest key of the previous row group, for each column; `None` before the first row group.
    last: Option<Vec<Option<Key>>>,
}

/// The value of a row in a sorting column.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    Null,
    Value(AnyValue),
}

impl Key {
    /// Compares two keys in the order of a column. `None` if they have no order.
    fn compare(&self, other: &Self, column: &SortingColumn) -> Option<Ordering> {
        let null = if column.nulls_first {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        match (self, other) {
            (Self::Null, Self::Null) => Some(Ordering::Equal),
            (Self::Null, Self::Value(_)) => Some(null),
            (Self::Value(_), Self::Null) => Some(null.reverse()),
            (Self::Value(own), Self::Value(other)) => {
                let order = own.compare(other)?;
                Some(if column.descending {
                    order.reverse()
                } else {
                    order
                })
            }
        }
    }
}

impl SortOrder {
    /// Returns the sorting columns of all row groups.
    pub(super) fn columns(&self) -> &[SortingColumn] {
        &self.columns
    }

    /// Adds the row groups of a file. `schema` is the schema of the shard.
    pub(super) fn add(
        &mut self,
        file: &ParquetFile,
        columns: &[FileColumn<'_>],
        schema: &Schema,
    ) -> Result<()> {
        let leaves: Vec<_> = columns.iter().flat_map(FileColumn::leaves).collect();
        let mut statistics: HashMap<usize, LeafStatistics> = HashMap::new();
        for group in 0..file.metadata().num_row_groups() {
            let rows = file.rows_of(&(group..group + 1))?;
            if rows == 0 {
                continue;
            }
            if self.last.is_some() && self.columns.is_empty() {
                break;
            }
            let declared = declared(file, group, &leaves, schema.fields());
            match self.last {
                None => self.columns = declared.iter().map(|key| key.column.clone()).collect(),
                Some(_) => {
                    let pairs = self.columns.iter().zip(&declared);
                    let same = pairs.take_while(|(own, key)| **own == key.column);
                    let kept = same.count();
                    self.columns.truncate(kept);
                }
            }
            let mut keys = Vec::with_capacity(self.columns.len());
            for key in declared.iter().take(self.columns.len()) {
                let statistics = statistics.entry(key.leaf.column);
                let statistics = statistics.or_insert_with(|| LeafStatistics::load(file, key.leaf));
                keys.push(key.range(statistics, group, rows)?);
            }
            let (first, last): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
            if let Some(before) = self.last.replace(last) {
                let kept = sorted_columns(&self.columns, &before, &first);
                self.columns.truncate(kept);
            }
        }
        Ok(())
    }
}

/// Returns the number of leading columns by which two row groups are sorted, given the greatest keys of the first and
/// the least keys of the second.
fn sorted_columns(columns: &[SortingColumn], last: &[Option<Key>], first: &[Option<Key>]) -> usize {
    let keys = columns.iter().zip(last.iter().zip(first));
    for (ordinal, (column, keys)) in keys.enumerate() {
        let order = match keys {
            (Some(last), Some(first)) => last.compare(first, column),
            _ => None,
        };
        match order {
            Some(Ordering::Less) => return columns.len(),
            // Rows may be equal in this column, so the next one decides.
            Some(Ordering::Equal) => {}
            Some(Ordering::Greater) | None => return ordinal,
        }
    }
    columns.len()
}

/// A sorting column of a row group.
struct DeclaredColumn<'a> {
    column: SortingColumn,
    node: &'a DataType,
    leaf: &'a FileLeaf,
}

/// Returns the leading sorting columns of a row group that have the same order in a shard.
fn declared<'a>(
    file: &ParquetFile,
    group: usize,
    leaves: &[(&'a DataType, &'a FileLeaf)],
    fields: &Fields,
) -> Vec<DeclaredColumn<'a>> {
    let metadata = file.metadata().row_groups().get(group);
    let columns = metadata.and_then(|metadata| metadata.sorting_columns());
    let same_order = columns.into_iter().flatten().map_while(|declared| {
        let ordinal = usize::try_from(declared.column_idx).ok()?;
        let &(node, leaf) = leaves.iter().find(|(_, leaf)| leaf.column == ordinal)?;
        let path = path_of(leaf, fields).filter(|_| has_same_order(file, leaf))?;
        Some(DeclaredColumn {
            column: SortingColumn {
                path,
                descending: declared.descending,
                nulls_first: declared.nulls_first,
            },
            node,
            leaf,
        })
    });
    same_order.collect()
}

/// Returns the path of a leaf outside of lists; `None` if it names another column.
fn path_of(leaf: &FileLeaf, fields: &Fields) -> Option<String> {
    if leaf.descriptor.max_rep_level() > 0 {
        return None;
    }
    let names = leaf.descriptor.path().parts();
    let path = names.join(".");
    let place = place_of(fields, &path)?;
    let (mut members, mut found) = (fields, Vec::with_capacity(place.len()));
    for ordinal in place {
        let field = members.get(ordinal)?;
        found.push(field.name());
        if let ArrowType::Struct(below) = field.data_type() {
            members = below;
        }
    }
    found.iter().copied().eq(names).then_some(path)
}

/// Whether Parquet and this format have the same order of the values of a leaf. Writers of Parquet disagree on the
/// places of NaNs and zeros.
fn has_same_order(file: &ParquetFile, leaf: &FileLeaf) -> bool {
    has_declared_order(file, leaf) && is_ordered(leaf.field.data_type())
}

fn is_ordered(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Dictionary(_, values) => is_ordered(values),
        ArrowType::Boolean
        | ArrowType::Date32
        | ArrowType::Date64
        | ArrowType::Time32(_)
        | ArrowType::Time64(_)
        | ArrowType::Timestamp(..)
        | ArrowType::Duration(_)
        | ArrowType::Utf8
        | ArrowType::LargeUtf8
        | ArrowType::Utf8View
        | ArrowType::Binary
        | ArrowType::LargeBinary
        | ArrowType::BinaryView
        | ArrowType::FixedSizeBinary(_) => true,
        other => other.is_integer() || other.is_decimal(),
    }
}

impl DeclaredColumn<'_> {
    /// Returns the least and the greatest key in a row group, or keys beyond them; `None` if they are not known.
    fn range(
        &self,
        statistics: &LeafStatistics,
        group: usize,
        rows: u64,
    ) -> Result<(Option<Key>, Option<Key>)> {
        let Some(nulls) = statistics.nulls(group) else {
            return Ok((None, None));
        };
        if nulls == rows {
            return Ok((Some(Key::Null), Some(Key::Null)));
        }
        let Some(range) = statistics.range(self.node, &[group])? else {
            return Ok((None, None));
        };
        let (least, greatest) = if self.column.descending {
            (range.max_value, range.min_value)
        } else {
            (range.min_value, range.max_value)
        };
        let (mut first, mut last) = (least.map(Key::Value), greatest.map(Key::Value));
        if nulls > 0 {
            let end = if self.column.nulls_first {
                &mut first
            } else {
                &mut last
            };
            *end = Some(Key::Null);
        }
        Ok((first, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_groups_are_in_order_by_the_columns_whose_keys_do_not_overlap() {
        let column = |path: &str| SortingColumn {
            path: path.into(),
            descending: false,
            nulls_first: true,
        };
        let columns = [column("a"), column("b")];
        let keys = |a: Option<i64>, b: i64| {
            let a = a.map_or(Key::Null, |a| Key::Value(a.into()));
            [Some(a), Some(Key::Value(b.into()))]
        };
        let sorted = |last: [_; 2], first: [_; 2]| sorted_columns(&columns, &last, &first);
        assert_eq!(sorted(keys(Some(1), 9), keys(Some(2), 0)), 2);
        assert_eq!(sorted(keys(Some(2), 9), keys(Some(2), 9)), 2);
        assert_eq!(sorted(keys(Some(2), 9), keys(Some(2), 8)), 1);
        assert_eq!(sorted(keys(Some(3), 0), keys(Some(2), 9)), 0);
        assert_eq!(sorted(keys(None, 9), keys(Some(0), 0)), 2);
        assert_eq!(sorted(keys(Some(0), 0), keys(None, 9)), 0);
        assert_eq!(sorted([None, None], keys(Some(0), 0)), 0);
    }
}
