//! The rows of shards by the values of columns that identify them.

use crate::failure::Failure;
use crate::progress::{InputProgress, Total};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatchReader};
use arrow_row::{RowConverter, SortField};
use arrow_shard::Shard;
use arrow_shard::read::Projection;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use xxhash_rust::xxh3::xxh3_128;

/// A hash of the values of a key. Keys with equal hashes count as equal.
pub(super) type Key = u128;

/// Columns that identify a row. Nulls are equal.
pub(super) struct Keys {
    projection: Projection,
    /// Name of the column with the numbers of rows, which no other column has.
    number: String,
}

impl Keys {
    /// Returns the key of the columns with these names; without names, of all columns.
    pub(super) fn new(shard: &Shard, names: &[String]) -> Result<Self, Failure> {
        let schema = shard.schema()?;
        let mut number = "row".to_owned();
        while schema.index_of(&number).is_ok() {
            number.push('_');
        }
        let projection = match names {
            [] => Projection::All,
            names => names.into(),
        };
        // An unknown column is an error before anything is read or written.
        let scan = shard.scan().with_projection(projection.clone());
        scan.take(&[])
            .map_err(|e| Failure::from(e).within("--key"))?;
        Ok(Self { projection, number })
    }

    /// Calls `meet` with the number and the key of each row that is not deleted.
    pub(super) fn each(
        &self,
        shard: &Shard,
        quiet: bool,
        mut meet: impl FnMut(u64, Key) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let scan = shard.scan().with_projection(self.projection.clone());
        let reader = scan.with_row_number(&self.number).build()?;
        let schema = reader.schema();
        let fields = schema.fields().iter();
        let key_fields = fields.filter(|field| *field.name() != self.number);
        let sort_fields = key_fields.map(|field| SortField::new(field.data_type().clone()));
        let converter = RowConverter::new(sort_fields.collect())?;
        let mut progress = InputProgress::new(Total::Rows(reader.remaining_rows()), quiet);
        for batch in reader {
            let batch = batch?;
            let fields = schema.fields().iter().zip(batch.columns());
            let key_fields = fields.filter(|(field, _)| *field.name() != self.number);
            let columns: Vec<ArrayRef> = key_fields.map(|(_, column)| column.clone()).collect();
            let keys = converter.convert_columns(&columns)?;
            let Some(numbers) = batch.column_by_name(&self.number) else {
                continue;
            };
            let numbers = numbers.as_primitive::<UInt64Type>().values();
            for (number, key) in numbers.iter().zip(keys.iter()) {
                meet(*number, xxh3_128(key.as_ref()))?;
            }
            progress.add(batch.num_rows());
        }
        progress.finish();
        Ok(())
    }

    /// Returns the rows of a shard by their keys.
    ///
    /// # Errors
    /// Fails if two rows have the same key.
    pub(super) fn unique(&self, shard: &Shard, quiet: bool) -> Result<HashMap<Key, u64>, Failure> {
        let mut known = HashMap::new();
        self.each(shard, quiet, |number, key| match known.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(number);
                Ok(())
            }
            Entry::Occupied(entry) => Err(Failure::new(format!(
                "the new rows {} and {number} have the same key; name more columns with --key, or leave one of them out",
                entry.get()
            ))),
        })?;
        Ok(known)
    }
}
