//! New columns with the same value in every row.

use crate::Shard;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{DataType, FieldDescriptor, Wire};
use crate::write::{ShardWriter, WriterOptions};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use std::sync::Arc;

/// Returns the stored type of a column with a single value, and its descriptor for a stripe of one row, or `None` for
/// null.
pub(super) async fn constant(
    field: &Field,
    value: &ArrayRef,
    wire: Wire,
) -> Result<(DataType, Option<FieldDescriptor>)> {
    if value.len() != 1 {
        return Err(Error::invalid(format!(
            "a new column takes one value, found {}",
            value.len()
        )));
    }
    if value.is_null(0) && !field.is_nullable() {
        return Err(Error::new(
            ErrorKind::SchemaMismatch,
            format!(
                "column `{}` is declared without nulls, and its value is null",
                field.name()
            ),
        ));
    }
    let schema = Arc::new(Schema::new(vec![field.clone()]));
    let batch = RecordBatch::try_new(schema.clone(), vec![value.clone()])?;
    let options = WriterOptions::default().with_wire(wire);
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, schema, options)?;
    writer.write(&batch)?;
    writer.finish()?;
    let shard = Shard::from_bytes(file.into())?;
    let columns = shard.stored_columns().await?;
    let Some((_, node)) = columns.into_iter().next() else {
        return Err(Error::corrupt("a shard of one column has none"));
    };
    let ids = [node.schema_id];
    let stripe = shard
        .descriptors(0, &ids, &mut |_| Ok(String::new()))
        .await?;
    let described = stripe.into_iter().flatten().next();
    let described = described.map(|described| described.field);
    if value.is_null(0) {
        return Ok((node, None));
    }
    match described {
        Some(field) if field.constant_value.is_some() => Ok((node, Some(field))),
        _ => Err(Error::unsupported(format!(
            "a new column of type {} can only be null",
            field.data_type()
        ))),
    }
}

/// Returns the descriptor for a stripe of `rows` rows, made from the descriptor for a stripe of one row.
pub(super) fn repeated(of_one: &FieldDescriptor, rows: u64) -> FieldDescriptor {
    FieldDescriptor {
        position_count: rows,
        null_count: Some(0),
        constant_value: of_one.constant_value.clone(),
        range_stats: of_one.range_stats.clone(),
        raw_data_size: of_one.raw_data_size.map(|bytes| bytes.saturating_mul(rows)),
        ..FieldDescriptor::default()
    }
}
