//! Checks whether rows are in the order that sorting columns declare.

use super::SortingColumn;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Fields, SortOptions};
use arrow_select::take::take;
use std::cmp::Ordering;
use std::ops::Range;

/// Compares each row with the row before it, over any number of batches. It keeps one row between batches.
pub(crate) struct OrderCheck {
    columns: Vec<Sorted>,
    last: Option<Vec<Keys>>,
}

/// A sorting column, and its place: the index of the column and of the struct member at each level.
struct Sorted {
    column: SortingColumn,
    place: Vec<usize>,
}

/// A row that sorts before the preceding row.
#[derive(Debug)]
pub(crate) struct Disorder {
    /// The row, by its number in the batch.
    pub(crate) row: usize,
    /// The most significant column with different values.
    pub(crate) column: SortingColumn,
}

impl Disorder {
    /// Returns the declared order of the column, such as `descending, nulls first`.
    pub(crate) fn declared(&self) -> String {
        let direction = if self.column.descending {
            "descending"
        } else {
            "ascending"
        };
        let nulls = if self.column.nulls_first {
            "first"
        } else {
            "last"
        };
        format!("{direction}, nulls {nulls}")
    }
}

/// Finds a column, or a member of structs, by its path. Returns the index at each level. Names may contain dots: if a
/// column's whole name equals the path, it wins over a member.
pub(crate) fn place_of(fields: &Fields, path: &str) -> Option<Vec<usize>> {
    if let Some(whole) = fields.iter().position(|field| field.name() == path) {
        return Some(vec![whole]);
    }
    fields.iter().enumerate().find_map(|(i, field)| {
        let DataType::Struct(members) = field.data_type() else {
            return None;
        };
        let below = path
            .strip_prefix(field.name().as_str())?
            .strip_prefix('.')?;
        let mut place = place_of(members, below)?;
        place.insert(0, i);
        Some(place)
    })
}

/// The values of a sorting column.
struct Keys {
    values: ArrayRef,
    /// Nulls of the values, including nulls of enclosing structs.
    nulls: Option<NullBuffer>,
}

impl Keys {
    fn of(columns: &[ArrayRef], place: &[usize]) -> Option<Self> {
        let (column, members) = place.split_first()?;
        let mut values = columns.get(*column)?.clone();
        let mut nulls = None;
        for member in members {
            nulls = NullBuffer::union(nulls.as_ref(), values.nulls());
            values = values.as_struct_opt()?.columns().get(*member)?.clone();
        }
        let nulls = NullBuffer::union(nulls.as_ref(), values.logical_nulls().as_ref());
        Some(Self { values, nulls })
    }

    /// Returns a copy of the last value.
    fn last(&self) -> Result<Self> {
        let last = self.values.len().saturating_sub(1);
        let row = UInt64Array::from_value(last as u64, 1);
        Ok(Self {
            values: take(&self.values, &row, None)?,
            nulls: self.nulls.as_ref().map(|nulls| nulls.slice(last, 1)),
        })
    }

    fn is_null(&self, i: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(i))
    }

    /// Compares a value of these keys with a value of `others`, in the declared order of the column.
    fn compared<'a>(
        &'a self,
        others: &'a Self,
        order: &SortingColumn,
    ) -> Result<impl Fn(usize, usize) -> Ordering + 'a> {
        let options = SortOptions {
            descending: order.descending,
            nulls_first: order.nulls_first,
        };
        let compare = make_comparator(&self.values, &others.values, options)?;
        let null = if order.nulls_first {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        Ok(move |i, j| match (self.is_null(i), others.is_null(j)) {
            (true, true) => Ordering::Equal,
            (true, false) => null,
            (false, true) => null.reverse(),
            (false, false) => compare(i, j),
        })
    }
}

impl OrderCheck {
    /// Returns a check for batches with these fields.
    ///
    /// # Errors
    /// Returns [`UnknownColumn`](ErrorKind::UnknownColumn) if the batches lack a sorting column.
    pub(crate) fn try_new(columns: &[SortingColumn], fields: &Fields) -> Result<Self> {
        let columns = columns.iter().map(|column| {
            let place = place_of(fields, &column.path).ok_or_else(|| unknown(column))?;
            Ok(Sorted {
                column: column.clone(),
                place,
            })
        });
        Ok(Self {
            columns: columns.collect::<Result<_>>()?,
            last: None,
        })
    }

    /// Drops the previous row, so that any row may come next.
    pub(crate) fn restart(&mut self) {
        self.last = None;
    }

    /// Returns the first row that sorts before the preceding row, if there is one. Floating-point numbers are in total
    /// order, texts in the order of their bytes. After a batch that breaks the order, the next batch is compared with
    /// the last batch that kept it.
    ///
    /// # Errors
    /// Returns [`UnknownColumn`](ErrorKind::UnknownColumn) if the batch lacks a sorting column, and
    /// [`Arrow`](ErrorKind::Arrow) for values without an order.
    pub(crate) fn check(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Option<Disorder>> {
        if rows == 0 {
            return Ok(None);
        }
        let keys = self.keys(columns)?;
        let first = match &self.last {
            Some(before) => self.disorder(before, &keys, 0..1, |_| 0)?,
            None => None,
        };
        let disorder = match first {
            Some(first) => Some(first),
            None => self.disorder(&keys, &keys, 1..rows, |row| row - 1)?,
        };
        if disorder.is_none() {
            self.last = Some(last_of(&keys)?);
        }
        Ok(disorder)
    }

    /// Makes the last row of a batch the preceding row of the next batch, even if the batch breaks the order.
    ///
    /// # Errors
    /// Returns the errors of [`check`](Self::check).
    pub(crate) fn skip(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.last = Some(last_of(&self.keys(columns)?)?);
        Ok(())
    }

    fn keys(&self, columns: &[ArrayRef]) -> Result<Vec<Keys>> {
        let keys = self
            .columns
            .iter()
            .map(|sorted| Keys::of(columns, &sorted.place).ok_or_else(|| unknown(&sorted.column)));
        keys.collect()
    }

    /// Returns the first of `rows` in `keys` that sorts before its preceding row. `preceding` returns the index of the
    /// preceding row in `before`.
    fn disorder(
        &self,
        before: &[Keys],
        keys: &[Keys],
        mut rows: Range<usize>,
        preceding: impl Fn(usize) -> usize,
    ) -> Result<Option<Disorder>> {
        let pairs = self.columns.iter().zip(before.iter().zip(keys));
        let comparators = pairs
            .map(|(sorted, (before, keys))| {
                let compare = before.compared(keys, &sorted.column)?;
                Ok((compare, &sorted.column))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(rows.find_map(|row| {
            let differing = comparators.iter().find_map(|(compare, column)| {
                let order = compare(preceding(row), row);
                order.is_ne().then_some((order, *column))
            });
            match differing {
                Some((Ordering::Greater, column)) => Some(Disorder {
                    row,
                    column: column.clone(),
                }),
                _ => None,
            }
        }))
    }
}

fn last_of(keys: &[Keys]) -> Result<Vec<Keys>> {
    keys.iter().map(Keys::last).collect()
}

fn unknown(column: &SortingColumn) -> Error {
    Error::new(
        ErrorKind::UnknownColumn,
        format!(
            "the sorting column `{}` is neither a column nor a member of a struct",
            column.path
        ),
    )
}
