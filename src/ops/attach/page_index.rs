//! Range indexes from the page indexes of Parquet files.

use super::bounds::{LeafStatistics, has_declared_order, stored_bounds};
use super::columns::FileLeaf;
use super::parquet_file::ParquetFile;
use crate::error::Result;
use crate::external::parquet::guarded;
use crate::format::DataType;
use crate::write::{IndexedPages, PageNulls, may_have_index, page_index};
use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use std::ops::Range;

/// The pages of a leaf, with arrays of bounds that have one value for each page together.
#[derive(Debug, Default)]
struct LeafPages {
    positions: Vec<(u64, PageNulls)>,
    least: Vec<ArrayRef>,
    greatest: Vec<ArrayRef>,
}

/// Returns the range index of a leaf over row groups. `None` if it gets none, or if the file has no usable page index.
pub(super) fn index_of_pages(
    file: &ParquetFile,
    node: &DataType,
    leaf: &FileLeaf,
    statistics: &LeafStatistics,
    groups: &Range<usize>,
) -> Result<Option<Vec<u8>>> {
    let Some((least, greatest)) = &statistics.bounds else {
        return Ok(None);
    };
    // Readers use an index of rows only.
    if leaf.descriptor.max_rep_level() > 0
        || !has_declared_order(file, leaf)
        || !may_have_index(node, file.rows_of(groups)?)
    {
        return Ok(None);
    }
    let (mut all, mut num_groups) = (LeafPages::default(), 0);
    for group in groups.clone() {
        let rows = file.rows_of(&(group..group + 1))?;
        if rows == 0 {
            continue;
        }
        num_groups += 1;
        let bounds = (least.slice(group, 1), greatest.slice(group, 1));
        match LeafPages::of_group(file, leaf, statistics, group, rows, &bounds) {
            Some(pages) => {
                all.positions.extend(pages.positions);
                all.least.extend(pages.least);
                all.greatest.extend(pages.greatest);
            }
            None => {
                let nulls = match statistics.nulls(group) {
                    Some(0) => PageNulls::None,
                    Some(nulls) if nulls == rows => PageNulls::All,
                    _ => PageNulls::Possible,
                };
                all.positions.push((rows, nulls));
                all.least.push(bounds.0);
                all.greatest.push(bounds.1);
            }
        }
    }
    if all.positions.len() == num_groups && num_groups < 2 {
        return Ok(None);
    }
    let stored = |bounds: &[ArrayRef]| {
        let bounds: Vec<&dyn Array> = bounds.iter().map(AsRef::as_ref).collect();
        Ok::<_, crate::Error>(stored_bounds(node, &concat(&bounds)?))
    };
    let (Some(least), Some(greatest)) = (stored(&all.least)?, stored(&all.greatest)?) else {
        return Ok(None);
    };
    let pages = IndexedPages {
        positions: all.positions,
        least,
        greatest,
    };
    page_index(node, &pages)
}

impl LeafPages {
    /// Returns the pages of a row group. Pages without bounds get the bounds of the row group. `None` if the file has
    /// no index of these pages, or a damaged one.
    fn of_group(
        file: &ParquetFile,
        leaf: &FileLeaf,
        statistics: &LeafStatistics,
        group: usize,
        rows: u64,
        bounds: &(ArrayRef, ArrayRef),
    ) -> Option<Self> {
        let metadata = file.metadata();
        let (columns, offsets) = (metadata.column_index()?, metadata.offset_index()?);
        let index = columns.get(group)?.get(leaf.column)?;
        if matches!(index, ColumnIndexMetaData::NONE) {
            return None;
        }
        let locations = offsets.get(group)?.get(leaf.column)?.page_locations();
        let starts: Option<Vec<u64>> = (locations.iter())
            .map(|location| u64::try_from(location.first_row_index).ok())
            .collect();
        let starts = starts.filter(|starts| starts.first() == Some(&0))?;
        if usize::try_from(index.num_pages()) != Ok(starts.len()) {
            return None;
        }
        let ends = starts.iter().skip(1).copied().chain([rows]);
        let positions = starts
            .iter()
            .zip(ends)
            .enumerate()
            .map(|(page, (start, end))| {
                let len = end.checked_sub(*start)?;
                Some((len, nulls_of(index, page, len, statistics)))
            });
        let positions: Vec<(u64, PageNulls)> = positions.collect::<Option<_>>()?;
        let schema = metadata.file_metadata().schema_descr();
        let found = guarded(|| {
            let pages = StatisticsConverter::from_column_index(leaf.column, &leaf.field, schema)?;
            let least = pages.data_page_mins(columns, offsets, [&group])?;
            Ok((least, pages.data_page_maxes(columns, offsets, [&group])?))
        });
        let (least, greatest) = found.ok()?;
        let all = |of_pages: ArrayRef, of_group: &ArrayRef| {
            let is_whole =
                of_pages.len() == positions.len() && of_pages.data_type() == of_group.data_type();
            is_whole.then(|| with_bounds(of_pages, of_group))
        };
        Some(Self {
            least: all(least, &bounds.0)?,
            greatest: all(greatest, &bounds.1)?,
            positions,
        })
    }
}

/// Returns the bounds of pages in parts. Pages without a bound get that of their row group.
fn with_bounds(of_pages: ArrayRef, of_group: &ArrayRef) -> Vec<ArrayRef> {
    if of_pages.null_count() == 0 {
        return vec![of_pages];
    }
    let bound = |page: usize| {
        if of_pages.is_null(page) {
            of_group.clone()
        } else {
            of_pages.slice(page, 1)
        }
    };
    (0..of_pages.len()).map(bound).collect()
}

/// Returns the nulls of a page of `len` positions.
fn nulls_of(
    index: &ColumnIndexMetaData,
    page: usize,
    len: u64,
    statistics: &LeafStatistics,
) -> PageNulls {
    if index.is_null_page(page) {
        return PageNulls::All;
    }
    if !statistics.is_nullable {
        return PageNulls::None;
    }
    // Writers disagree on whether the nulls of groups count.
    let counts = index.null_counts().filter(|_| !statistics.has_groups);
    let nulls = counts.and_then(|counts| u64::try_from(*counts.get(page)?).ok());
    match nulls {
        Some(0) => PageNulls::None,
        Some(nulls) if nulls == len => PageNulls::All,
        _ => PageNulls::Possible,
    }
}
