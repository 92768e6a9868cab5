//! Dictionaries that only grow, as Arrow IPC files need them: there, all batches share the
//! dictionary of a column, whereas every stripe of a shard has its own.

use crate::failure::Failure;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, make_array, new_empty_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::{DataType, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// Gives the batches of a file dictionaries of which each begins with the one before.
pub(crate) struct Dictionaries {
    /// Of each dictionary in the schema, nested ones included, in the order in which they are met.
    all: Vec<Growing>,
}

/// The entries of a dictionary so far.
struct Growing {
    key: DataType,
    values: ArrayRef,
    rows: RowConverter,
    ordinals: HashMap<OwnedRow, u64>,
    /// The dictionary met last, and where its entries are in `values`.
    last: Option<(ArrayRef, Vec<u64>)>,
}

impl Dictionaries {
    /// The dictionaries of a schema.
    pub(crate) fn new(schema: &SchemaRef) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for field in schema.fields() {
            add(field.data_type(), &mut all)?;
        }
        Ok(Self { all })
    }

    /// The batch with these dictionaries.
    pub(crate) fn apply(&mut self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        if self.all.is_empty() {
            return Ok(batch.clone());
        }
        let schema = batch.schema();
        let mut all = self.all.iter_mut();
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| {
            let place = || format!("column `{}`", field.name());
            unified(column, &mut all).map_err(|e| e.within(place()))
        });
        let columns = columns.collect::<Result<_, _>>()?;
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

/// Adds the dictionaries of a type. Those of the values of a dictionary are left alone.
fn add(data_type: &DataType, all: &mut Vec<Growing>) -> Result<(), Failure> {
    use DataType as T;
    match data_type {
        T::Dictionary(key, value) => all.push(Growing {
            key: key.as_ref().clone(),
            values: new_empty_array(value),
            rows: RowConverter::new(vec![SortField::new(value.as_ref().clone())])?,
            ordinals: HashMap::new(),
            last: None,
        }),
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _)
        | T::Map(item, _) => add(item.data_type(), all)?,
        T::RunEndEncoded(ends, values) => {
            add(ends.data_type(), all)?;
            add(values.data_type(), all)?;
        }
        T::Struct(members) => {
            for member in members {
                add(member.data_type(), all)?;
            }
        }
        T::Union(variants, _) => {
            for (_, variant) in variants.iter() {
                add(variant.data_type(), all)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The array with the dictionaries that come next.
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
    if !array.data_type().is_nested() {
        return Ok(array.clone());
    }
    let data = array.to_data();
    let children = data.child_data().iter();
    let children = children.map(|child| Ok(unified(&make_array(child.clone()), all)?.to_data()));
    let children = children.collect::<Result<_, Failure>>()?;
    Ok(make_array(
        data.into_builder().child_data(children).build()?,
    ))
}

impl Growing {
    fn apply(&mut self, column: &ArrayRef) -> Result<ArrayRef, Failure> {
        let dictionary = column.as_any_dictionary();
        let values = dictionary.values();
        let ordinals = match self.last.take() {
            Some((last, ordinals)) if Arc::ptr_eq(&last, values) => ordinals,
            _ => self.add(values)?,
        };
        let nulls = dictionary.keys().nulls();
        let keys = match values.is_empty() {
            true => vec![0; column.len()],
            false => {
                let keys = dictionary.normalized_keys();
                keys.into_iter().map(|key| ordinals[key]).collect()
            }
        };
        self.last = Some((values.clone(), ordinals));
        let keys = UInt64Array::new(keys.into(), nulls.cloned());
        let strict = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let keys = cast_with_options(&keys, &self.key, &strict).map_err(|e| {
            let e = Failure::from(e);
            e.within("the dictionaries of all stripes together exceed the keys; write a stream (.arrows)")
        })?;
        let data = ArrayData::builder(column.data_type().clone())
            .len(column.len())
            .nulls(nulls.cloned())
            .buffers(keys.to_data().buffers().to_vec())
            .add_child_data(self.values.to_data());
        Ok(make_array(data.build()?))
    }

    /// Adds the entries of a dictionary that are new; tells where all of them are.
    fn add(&mut self, values: &ArrayRef) -> Result<Vec<u64>, Failure> {
        let rows = self.rows.convert_columns(std::slice::from_ref(values))?;
        let (mut new, mut ordinals) = (Vec::new(), Vec::with_capacity(values.len()));
        for (i, row) in (0u64..).zip(&rows) {
            let next = self.ordinals.len() as u64;
            let ordinal = *self.ordinals.entry(row.owned()).or_insert(next);
            if ordinal == next {
                new.push(i);
            }
            ordinals.push(ordinal);
        }
        if !new.is_empty() {
            let new = arrow_select::take::take(values, &UInt64Array::from(new), None)?;
            self.values = arrow_select::concat::concat(&[&self.values, &new])?;
        }
        Ok(ordinals)
    }
}
