//! Statistics of a column.

use crate::bounds::Bound;
use crate::failure::Failure;
use crate::field_tree::outline;
use crate::values::Json;
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The sum of the lengths of values, and the number of the values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    pub(super) sum: u64,
    pub(super) count: u64,
}

impl Lengths {
    /// Returns the lengths of these and other values.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            sum: self.sum.saturating_add(other.sum),
            count: self.count.saturating_add(other.count),
        }
    }
}

/// The known statistics of a column.
#[derive(Debug)]
pub(super) struct ColumnStats {
    pub(super) path: String,
    pub(super) data_type: DataType,
    pub(super) nulls: Option<u64>,
    pub(super) min: Option<Bound>,
    pub(super) max: Option<Bound>,
    /// Whether all values are null, so that bounds do not exist.
    pub(super) is_null: bool,
    /// Number of distinct values, and whether it is exact.
    pub(super) distinct: Option<(u64, bool)>,
    pub(super) lengths: Option<Lengths>,
    pub(super) bytes: Option<u64>,
}

impl ColumnStats {
    /// Returns statistics without any known value.
    pub(super) fn unknown(path: String, data_type: DataType) -> Self {
        Self {
            path,
            data_type,
            nulls: None,
            min: None,
            max: None,
            is_null: false,
            distinct: None,
            lengths: None,
            bytes: None,
        }
    }

    fn mean_length(&self) -> Option<f64> {
        let lengths = self.lengths.filter(|lengths| lengths.count > 0)?;
        Some(lengths.sum as f64 / lengths.count as f64)
    }

    /// Returns the cells of the column's row in a table.
    pub(super) fn cells(&self) -> Result<[String; 8], Failure> {
        let number = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
        let distinct = self.distinct.map(|(count, is_exact)| {
            let about = if is_exact { "" } else { "~" };
            format!("{about}{count}")
        });
        let length = self.mean_length().map(|length| format!("{length:.1}"));
        let cell = |bound: &Option<Bound>, sign| match bound {
            Some(bound) => bound.text(sign),
            None => Ok(String::new()),
        };
        Ok([
            self.path.clone(),
            outline(&self.data_type).0,
            number(self.nulls),
            cell(&self.min, ">= ")?,
            cell(&self.max, "<= ")?,
            distinct.unwrap_or_default(),
            length.unwrap_or_default(),
            number(self.bytes),
        ])
    }

    /// Returns the statistics as an object; unknown ones are null.
    pub(super) fn json(&self) -> Result<Json, Failure> {
        let [min, max, min_is_exact, max_is_exact] =
            Bound::json(self.min.as_ref(), self.max.as_ref())?;
        let distinct_is_exact = self.distinct.map(|(_, is_exact)| is_exact);
        Ok(Json::object([
            ("column", Json::of(self.path.as_str())),
            ("type", Json::of(outline(&self.data_type).0)),
            ("nulls", Json::of(self.nulls)),
            min,
            max,
            min_is_exact,
            max_is_exact,
            ("distinct", Json::of(self.distinct.map(|(count, _)| count))),
            ("distinct_is_exact", Json::of(distinct_is_exact)),
            ("mean_length", Json::of(self.mean_length())),
            ("bytes", Json::of(self.bytes)),
        ]))
    }
}

/// Adds the statistics of the columns of another file.
///
/// # Errors
/// Fails if the files have other columns, or other types of them.
pub(super) fn merge(all: &mut [ColumnStats], others: Vec<ColumnStats>) -> Result<(), Failure> {
    if all.len() != others.len() {
        return Err(Failure::new(format!(
            "it has {} columns, and the files before have {}; choose common columns with --columns",
            others.len(),
            all.len()
        )));
    }
    let places = all.iter().map(|column| column.path.clone()).zip(0..);
    let places: HashMap<String, usize> = places.collect();
    for other in others {
        let place = places.get(&other.path);
        let Some(column) = place.and_then(|&place: &usize| all.get_mut(place)) else {
            return Err(Failure::new(format!(
                "it has a column `{}`, which the files before do not have; choose common columns with --columns",
                other.path
            )));
        };
        if column.data_type != other.data_type {
            return Err(Failure::new(format!(
                "column `{}` is {}, and {} in the files before",
                other.path, other.data_type, column.data_type
            )));
        }
        add(column, other)?;
    }
    Ok(())
}

fn add(column: &mut ColumnStats, other: ColumnStats) -> Result<(), Failure> {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let are_null = (column.is_null, other.is_null);
    column.min = united(column.min.take(), other.min, are_null, Ordering::Less)?;
    column.max = united(column.max.take(), other.max, are_null, Ordering::Greater)?;
    column.is_null &= other.is_null;
    column.nulls = sum(column.nulls, other.nulls);
    column.bytes = sum(column.bytes, other.bytes);
    let lengths = column.lengths.zip(other.lengths);
    column.lengths = lengths.map(|(a, b)| a.and(b));
    // Values may be in several files.
    column.distinct = None;
    Ok(())
}

/// Returns the bound of the values of two files. `are_null` says whether all values of each are null.
fn united(
    a: Option<Bound>,
    b: Option<Bound>,
    are_null: (bool, bool),
    wanted: Ordering,
) -> Result<Option<Bound>, Failure> {
    match (a, b) {
        (Some(a), Some(b)) => outer(a, b, wanted).map(Some),
        (a, None) if are_null.1 => Ok(a),
        (None, b) if are_null.0 => Ok(b),
        _ => Ok(None),
    }
}

/// Returns the bound that lies on the wanted side of the other.
pub(super) fn outer(a: Bound, b: Bound, wanted: Ordering) -> Result<Bound, Failure> {
    let compare = make_comparator(&b.value, &a.value, SortOptions::default())?;
    Ok(if compare(0, 0) == wanted { b } else { a })
}
