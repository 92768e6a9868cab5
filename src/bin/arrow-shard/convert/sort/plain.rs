//! Types in which rows are sorted.

use crate::failure::Failure;
use crate::leaves::{cast_batch, change_types};
use arrow_array::RecordBatch;
use arrow_cast::can_cast_types;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use std::sync::Arc;

/// The types of a table, and those in which its rows are sorted. Rows of many batches come together there, so narrow
/// keys of dictionaries could not number their entries, and views would keep the buffers of all batches: their values
/// are sorted as they are.
pub(super) struct Types {
    whole: SchemaRef,
    plain: SchemaRef,
}

impl Types {
    pub(super) fn of(whole: &SchemaRef) -> Self {
        Self {
            plain: plain(whole),
            whole: whole.clone(),
        }
    }

    /// Returns the schema of the table.
    pub(super) fn whole(&self) -> &SchemaRef {
        &self.whole
    }

    /// Returns the schema in which rows are sorted.
    pub(super) fn plain(&self) -> &SchemaRef {
        &self.plain
    }

    /// Returns a batch as it is sorted.
    pub(super) fn to_plain(&self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        if self.plain == self.whole {
            return Ok(batch.clone());
        }
        cast_batch(batch, &self.plain)
    }

    /// Returns sorted rows in the types of the table: as several batches if a dictionary would have more entries than
    /// its keys can number.
    pub(super) fn to_whole(&self, batch: RecordBatch) -> Result<Vec<RecordBatch>, Failure> {
        if self.plain == self.whole {
            return Ok(vec![batch]);
        }
        match cast_batch(&batch, &self.whole) {
            Ok(batch) => Ok(vec![batch]),
            Err(failure) if batch.num_rows() <= 1 => Err(failure),
            Err(_) => {
                let half = batch.num_rows() / 2;
                let mut batches = self.to_whole(batch.slice(0, half))?;
                batches.extend(self.to_whole(batch.slice(half, batch.num_rows() - half))?);
                Ok(batches)
            }
        }
    }
}

/// Returns the schema in which rows are sorted.
pub(super) fn plain(schema: &Schema) -> SchemaRef {
    let changed = change_types(schema, &mut |ty| match ty {
        DataType::Dictionary(key, value) => match **key {
            DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16 => {
                Some(of_view(value).unwrap_or_else(|| value.as_ref().clone()))
            }
            _ => None,
        },
        other => of_view(other),
    });
    let chosen = |(whole, plain): (&FieldRef, &FieldRef)| {
        let (from, to) = (whole.data_type(), plain.data_type());
        let is_castable = can_cast_types(from, to) && can_cast_types(to, from);
        if is_castable { plain } else { whole }.clone()
    };
    let fields = schema.fields().iter().zip(changed.fields()).map(chosen);
    let fields: Vec<FieldRef> = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn of_view(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Utf8View => Some(DataType::LargeUtf8),
        DataType::BinaryView => Some(DataType::LargeBinary),
        _ => None,
    }
}
