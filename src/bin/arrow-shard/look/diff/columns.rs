//! The columns of two tables: what differs, and which columns are compared.

use crate::failure::Failure;
use crate::leaves::cast_column;
use crate::names::no_column;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

/// A column that is in one table only, or has another type in the other.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) name: String,
    pub(super) a: Option<DataType>,
    pub(super) b: Option<DataType>,
}

/// A column of both tables with comparable values.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// Ordinal in each table.
    a: usize,
    b: usize,
    /// The type in which values are compared.
    common: DataType,
}

/// The columns of two tables.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) differences: Vec<Difference>,
    pub(super) compared: Vec<Column>,
}

/// The columns of two tables with a key that identifies rows.
#[derive(Debug)]
pub(super) struct KeyedColumns {
    pub(super) key: Vec<Column>,
    pub(super) values: Vec<Column>,
}

impl Column {
    /// Returns the column of a batch of A, to be compared.
    pub(super) fn of_a(&self, batch: &RecordBatch) -> Result<ArrayRef, Failure> {
        self.cast(self.shown_a(batch))
    }

    /// Returns the column of a batch of B, to be compared.
    pub(super) fn of_b(&self, batch: &RecordBatch) -> Result<ArrayRef, Failure> {
        self.cast(self.shown_b(batch))
    }

    /// Returns the column of a batch of A, to be shown.
    pub(super) fn shown_a<'a>(&self, batch: &'a RecordBatch) -> &'a ArrayRef {
        batch.column(self.a)
    }

    /// Returns the column of a batch of B, to be shown.
    pub(super) fn shown_b<'a>(&self, batch: &'a RecordBatch) -> &'a ArrayRef {
        batch.column(self.b)
    }

    /// Returns the number of the column in A.
    pub(super) fn ordinal_a(&self) -> usize {
        self.a
    }

    /// Returns the number of the column in B.
    pub(super) fn ordinal_b(&self) -> usize {
        self.b
    }

    /// Returns the type in which values are compared.
    pub(super) fn common(&self) -> &DataType {
        &self.common
    }

    fn cast(&self, array: &ArrayRef) -> Result<ArrayRef, Failure> {
        cast_column(array, &Field::new(&self.name, self.common.clone(), true))
    }
}

impl Columns {
    /// Compares two schemas. Of columns with the same name, the first ones belong together, then the second ones.
    pub(super) fn of(a: &Schema, b: &Schema) -> Self {
        let (mut differences, mut compared) = (Vec::new(), Vec::new());
        let mut others: Vec<Option<&Field>> = b.fields().iter().map(|it| Some(&**it)).collect();
        for (i, field) in a.fields().iter().enumerate() {
            let is_same =
                |other: &Option<&Field>| other.is_some_and(|it| it.name() == field.name());
            let found = others.iter().position(is_same);
            let other = found.and_then(|j| Some((j, others.get_mut(j)?.take()?)));
            let types = (field.data_type(), other.map(|(_, other)| other.data_type()));
            if types.1 != Some(types.0) {
                differences.push(Difference {
                    name: field.name().clone(),
                    a: Some(types.0.clone()),
                    b: types.1.cloned(),
                });
            }
            if let Some((j, other)) = other
                && let Some(common) = common(field.data_type(), other.data_type())
            {
                compared.push(Column {
                    name: field.name().clone(),
                    a: i,
                    b: j,
                    common,
                });
            }
        }
        differences.extend(others.into_iter().flatten().map(|field| Difference {
            name: field.name().clone(),
            a: None,
            b: Some(field.data_type().clone()),
        }));
        Self {
            differences,
            compared,
        }
    }

    /// Divides the columns into the key with these names, and the others. Of columns with the same name, the first one
    /// is the key.
    ///
    /// # Errors
    /// Fails if a column of the key is missing, or cannot be compared.
    pub(super) fn split_key(&self, names: &[String]) -> Result<KeyedColumns, Failure> {
        let column = |name: &String| {
            let found = self.compared.iter().find(|column| column.name == *name);
            found.cloned().ok_or_else(|| {
                let known = self.compared.iter().map(|column| column.name.as_str());
                let place = "--key, among columns of comparable types in both files";
                Failure::Usage(no_column(name, known)).within(place)
            })
        };
        let key: Vec<Column> = names.iter().map(column).collect::<Result<_, _>>()?;
        // The number in A identifies a column, also among others of its name.
        let is_value = |column: &&Column| !key.iter().any(|it| it.a == column.a);
        let values = self.compared.iter().filter(is_value).cloned().collect();
        Ok(KeyedColumns { key, values })
    }
}

/// Returns the type in which values of two types can be compared without loss.
fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as T;
    let (a, b) = (plain(a), plain(b));
    if a == b {
        return Some(a);
    }
    let has_sign = |ty: &DataType| ty.is_signed_integer();
    match (&a, &b) {
        _ if a.is_unsigned_integer() && b.is_unsigned_integer() => Some(T::UInt64),
        (T::UInt64, signed) | (signed, T::UInt64) if has_sign(signed) => Some(T::Decimal128(20, 0)),
        _ if a.is_integer() && b.is_integer() => Some(T::Int64),
        _ if a.is_floating() && b.is_floating() => Some(T::Float64),
        (T::Date32 | T::Date64, T::Date32 | T::Date64) => Some(T::Date64),
        (T::Timestamp(unit, zone), T::Timestamp(other, zone_of_other))
            if zone.is_some() == zone_of_other.is_some() =>
        {
            // Units are ordered from seconds to nanoseconds.
            Some(T::Timestamp(*unit.max(other), zone.clone()))
        }
        _ => None,
    }
}

/// Returns the type of the values of dictionaries and runs, with one layout for text and bytes.
fn plain(ty: &DataType) -> DataType {
    use DataType as T;
    match ty {
        T::Dictionary(_, values) => plain(values),
        T::RunEndEncoded(_, values) => plain(values.data_type()),
        T::LargeUtf8 | T::Utf8View => T::Utf8,
        T::LargeBinary | T::BinaryView => T::Binary,
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::TimeUnit;
    use std::sync::Arc;

    #[test]
    fn types_of_other_widths_units_and_encodings_are_compared() {
        use DataType as T;
        let key = Box::new(T::Int8);
        let runs = T::RunEndEncoded(
            Arc::new(Field::new("run_ends", T::Int32, false)),
            Arc::new(Field::new("values", T::LargeUtf8, true)),
        );
        for (a, b, want) in [
            (T::Int8, T::Int64, Some(T::Int64)),
            (T::UInt32, T::Int8, Some(T::Int64)),
            (T::UInt64, T::UInt8, Some(T::UInt64)),
            (T::Int8, T::UInt64, Some(T::Decimal128(20, 0))),
            (T::Float16, T::Float32, Some(T::Float64)),
            (
                T::Dictionary(key, Box::new(T::Utf8View)),
                runs,
                Some(T::Utf8),
            ),
            (
                T::Timestamp(TimeUnit::Second, None),
                T::Timestamp(TimeUnit::Microsecond, None),
                Some(T::Timestamp(TimeUnit::Microsecond, None)),
            ),
            (
                T::Timestamp(TimeUnit::Second, None),
                T::Timestamp(TimeUnit::Second, Some("UTC".into())),
                None,
            ),
            (T::Int64, T::Float64, None),
            (T::Int64, T::Utf8, None),
        ] {
            assert_eq!(common(&a, &b), want, "{a} and {b}");
        }
    }
}
