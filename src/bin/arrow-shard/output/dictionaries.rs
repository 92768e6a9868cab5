//! Builds a single dictionary for each column of a table, as Arrow IPC files need it. In a shard, every stripe has its
//! own.

use crate::failure::Failure;
use crate::leaves::children;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, make_array, new_empty_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::{DataType, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// The dictionaries of a table, with the entries of all batches.
pub(super) struct Dictionaries {
    /// A dictionary for each dictionary type in the schema, in the order of the schema.
    all: Vec<Growing>,
}

/// The entries of a dictionary so far.
struct Growing {
    key: DataType,
    values: ArrayRef,
    rows: RowConverter,
    /// The position of each entry in `values`.
    known: HashMap<OwnedRow, u64>,
    /// The last dictionary, and the positions of its entries in `values`.
    last: Option<(ArrayData, Arc<[u64]>)>,
}

impl Dictionaries {
    /// Returns the dictionaries of a schema, without entries.
    ///
    /// # Errors
    /// Fails for entries of a type that cannot be compared.
    pub(super) fn new(schema: &SchemaRef) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for field in schema.fields() {
            add(field.data_type(), &mut all)?;
        }
        Ok(Self { all })
    }

    /// Whether no column has a dictionary.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds the entries of a batch.
    ///
    /// # Errors
    /// Fails if the keys of a column cannot number its entries.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let mut all = self.all.iter_mut();
        for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
            add_entries(column, &mut all)
                .map_err(|e| e.within(format!("column `{}`", field.name())))?;
        }
        Ok(())
    }

    /// Returns a batch with these dictionaries. Its entries must have been added before.
    pub(super) fn apply(&mut self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        let schema = batch.schema();
        let mut all = self.all.iter_mut();
        let pairs = batch.columns().iter().zip(schema.fields());
        let columns = pairs.map(|(column, field)| {
            let place = || format!("column `{}`", field.name());
            unified(column, &mut all).map_err(|e| e.within(place()))
        });
        let columns = columns.collect::<Result<_, _>>()?;
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

/// Adds the dictionaries of a type. A dictionary within the entries of another one is part of these entries.
fn add(data_type: &DataType, all: &mut Vec<Growing>) -> Result<(), Failure> {
    if let DataType::Dictionary(key, value) = data_type {
        all.push(Growing {
            key: key.as_ref().clone(),
            values: new_empty_array(value),
            rows: RowConverter::new(vec![SortField::new(value.as_ref().clone())])?,
            known: HashMap::new(),
            last: None,
        });
    }
    children(data_type)
        .into_iter()
        .try_for_each(|child| add(child.data_type(), all))
}

/// Adds the entries of an array to the next dictionaries.
fn add_entries<'a>(
    array: &ArrayRef,
    all: &mut impl Iterator<Item = &'a mut Growing>,
) -> Result<(), Failure> {
    if let DataType::Dictionary(..) = array.data_type() {
        return match all.next() {
            Some(growing) => growing
                .ordinals(array.as_any_dictionary().values())
                .map(drop),
            None => Ok(()),
        };
    }
    for child in array.to_data().child_data() {
        add_entries(&make_array(child.clone()), all)?;
    }
    Ok(())
}

/// Returns the array with the next dictionaries.
fn unified<'a>(
    array: &ArrayRef,
    all: &mut impl Iterator<Item = &'a mut Growing>,
) -> Result<ArrayRef, Failure> {
    if let DataType::Dictionary(..) = array.data_type() {
        return match all.next() {
            Some(growing) => growing.apply(array),
            None => Ok(array.clone()),
        };
    }
    let data = array.to_data();
    // `DataType::is_nested` is false for runs of dictionaries.
    if data.child_data().is_empty() {
        return Ok(array.clone());
    }
    let children = (data.child_data().iter())
        .map(|child| Ok(unified(&make_array(child.clone()), all)?.to_data()))
        .collect::<Result<_, Failure>>()?;
    Ok(make_array(
        data.into_builder().child_data(children).build()?,
    ))
}

impl Growing {
    fn apply(&mut self, column: &ArrayRef) -> Result<ArrayRef, Failure> {
        let dictionary = column.as_any_dictionary();
        let values = dictionary.values();
        let ordinals = self.ordinals(values)?;
        let nulls = dictionary.keys().nulls();
        let codes = if values.is_empty() {
            vec![0; column.len()]
        } else {
            let keys = dictionary.normalized_keys();
            keys.into_iter().map(|key| ordinals[key]).collect()
        };
        let positions = UInt64Array::new(codes.into(), nulls.cloned());
        let strict = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let keys = cast_with_options(&positions, &self.key, &strict)?;
        let data = ArrayData::builder(column.data_type().clone())
            .len(column.len())
            .nulls(nulls.cloned())
            .buffers(keys.to_data().buffers().to_vec())
            .add_child_data(self.values.to_data());
        Ok(make_array(data.build()?))
    }

    /// Returns the positions of the entries of a dictionary, after adding the new ones.
    fn ordinals(&mut self, values: &ArrayRef) -> Result<Arc<[u64]>, Failure> {
        // Batches with the same dictionary share its buffers, but not the array object.
        let data = values.to_data();
        if let Some((last, ordinals)) = &self.last
            && last.ptr_eq(&data)
        {
            return Ok(ordinals.clone());
        }
        let rows = self.rows.convert_columns(std::slice::from_ref(values))?;
        let (mut new, mut ordinals) = (Vec::new(), Vec::with_capacity(values.len()));
        for (i, row) in (0u64..).zip(&rows) {
            let next = self.known.len() as u64;
            let ordinal = *self.known.entry(row.owned()).or_insert(next);
            if ordinal == next {
                new.push(i);
            }
            ordinals.push(ordinal);
        }
        if self.known.len() as u64 > most_entries(&self.key) {
            return Err(Failure::new(
                "a file has one dictionary for all rows, and the type of the keys is too small for its entries; write \
                 a stream (.arrows)",
            ));
        }
        if !new.is_empty() {
            self.values = appended(&self.values, values, new)?;
        }
        let ordinals: Arc<[u64]> = ordinals.into();
        self.last = Some((data, ordinals.clone()));
        Ok(ordinals)
    }
}

/// Returns the entries of a dictionary, followed by the given `rows` of other entries.
fn appended(entries: &ArrayRef, others: &ArrayRef, rows: Vec<u64>) -> Result<ArrayRef, Failure> {
    if let DataType::FixedSizeBinary(0) | DataType::FixedSizeList(_, 0) = entries.data_type() {
        // `take` and `concat` lose the number of values if values have no bytes.
        let (entries, others) = (entries.to_data(), others.to_data());
        let mut all = MutableArrayData::new(vec![&entries, &others], false, 0);
        all.try_extend(0, 0, entries.len())?;
        for row in rows {
            let row = usize::try_from(row).map_err(std::io::Error::other)?;
            all.try_extend(1, row, row + 1)?;
        }
        return Ok(make_array(all.freeze()));
    }
    let new = arrow_select::take::take(others, &UInt64Array::from(rows), None)?;
    Ok(arrow_select::concat::concat(&[entries, &new])?)
}

/// Returns the maximum number of entries for keys of a type.
fn most_entries(key: &DataType) -> u64 {
    match key {
        DataType::Int8 => 1 << 7,
        DataType::UInt8 => 1 << 8,
        DataType::Int16 => 1 << 15,
        DataType::UInt16 => 1 << 16,
        DataType::Int32 => 1 << 31,
        DataType::UInt32 => 1 << 32,
        _ => u64::MAX,
    }
}
