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
    /// The entries, in parts that are joined when a batch needs all of them.
    parts: Vec<ArrayRef>,
    rows: RowConverter,
    /// The position of each entry.
    known: HashMap<OwnedRow, u64>,
    /// The last dictionary, and the positions of its entries here.
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
            parts: vec![new_empty_array(value)],
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
            .add_child_data(self.entries()?.to_data());
        Ok(make_array(data.build()?))
    }

    /// Returns all entries.
    fn entries(&mut self) -> Result<ArrayRef, Failure> {
        if self.parts.len() != 1 {
            self.parts = vec![joined(&self.parts)?];
        }
        Ok(self.parts[0].clone())
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
            self.parts.push(taken(values, new)?);
        }
        let ordinals: Arc<[u64]> = ordinals.into();
        self.last = Some((data, ordinals.clone()));
        Ok(ordinals)
    }
}

/// Whether values have no bytes: kernels lose the number of such values.
fn is_empty_value(value: &DataType) -> bool {
    matches!(
        value,
        DataType::FixedSizeBinary(0) | DataType::FixedSizeList(_, 0)
    )
}

/// Returns the entries in these rows.
fn taken(entries: &ArrayRef, rows: Vec<u64>) -> Result<ArrayRef, Failure> {
    if !is_empty_value(entries.data_type()) {
        return Ok(arrow_select::take::take(
            entries,
            &UInt64Array::from(rows),
            None,
        )?);
    }
    let entries = entries.to_data();
    let mut taken = MutableArrayData::new(vec![&entries], false, 0);
    for row in rows {
        let row = usize::try_from(row).map_err(std::io::Error::other)?;
        taken.try_extend(0, row, row + 1)?;
    }
    Ok(make_array(taken.freeze()))
}

/// Returns the entries of all parts.
fn joined(parts: &[ArrayRef]) -> Result<ArrayRef, Failure> {
    let all: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    if !all
        .first()
        .is_some_and(|part| is_empty_value(part.data_type()))
    {
        return Ok(arrow_select::concat::concat(&all)?);
    }
    let parts: Vec<ArrayData> = all.iter().map(|part| part.to_data()).collect();
    let mut joined = MutableArrayData::new(parts.iter().collect(), false, 0);
    for (i, part) in parts.iter().enumerate() {
        joined.try_extend(i, 0, part.len())?;
    }
    Ok(make_array(joined.freeze()))
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
