//! New columns with the same value in every row of a shard.

use crate::Shard;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{DataType, FieldDescriptor, Wire};
use crate::write::{ShardWriter, WriterOptions};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{Field, Schema};
use arrow_select::take::take;
use std::collections::HashMap;
use std::sync::Arc;

/// A value for all rows of each source of an edited shard.
#[derive(Debug, Clone)]
pub(super) struct Constants {
    /// The distinct values: for each the descriptor of the column for a stripe of one row, or `None` for null.
    of_one: Vec<Option<FieldDescriptor>>,
    /// The index of the value of each source that existed when the column was added.
    sources: Vec<usize>,
}

impl Constants {
    /// Returns the stored type of a column and its constants: one value for all `sources` sources.
    pub(super) async fn of_one(
        field: &Field,
        value: &ArrayRef,
        sources: usize,
        wire: Wire,
    ) -> Result<(DataType, Self)> {
        if value.len() != 1 {
            return Err(Error::invalid(format!(
                "a new column takes one value, found {}",
                value.len()
            )));
        }
        Self::of(field, value, vec![0; sources], wire).await
    }

    /// Returns the stored type of a column and its constants: the values, and the index of the value of each source.
    async fn of(
        field: &Field,
        values: &ArrayRef,
        sources: Vec<usize>,
        wire: Wire,
    ) -> Result<(DataType, Self)> {
        let (node, first) = constant(field, &values.slice(0, values.len().min(1)), wire).await?;
        let mut of_one = vec![first];
        for i in 1..values.len() {
            of_one.push(constant(field, &values.slice(i, 1), wire).await?.1);
        }
        Ok((node, Self { of_one, sources }))
    }

    /// Returns the stored type of a column and its constants: a value for each source.
    pub(super) async fn of_each(
        field: &Field,
        values: &ArrayRef,
        wire: Wire,
    ) -> Result<(DataType, Self)> {
        let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
        let rows = converter.convert_columns(std::slice::from_ref(values))?;
        // Shards of one folder have the same value, which is encoded once.
        let (mut known, mut firsts) = (HashMap::new(), Vec::new());
        let mut sources = Vec::with_capacity(values.len());
        for (row, i) in rows.iter().zip(0u64..) {
            let group = *known.entry(row).or_insert(firsts.len());
            if group == firsts.len() {
                firsts.push(i);
            }
            sources.push(group);
        }
        let distinct = take(values, &UInt64Array::from(firsts), None)?;
        Self::of(field, &distinct, sources, wire).await
    }

    /// Returns the descriptor of the column for a stripe of one row of a source, or `None` if it is null there.
    pub(super) fn of_source(&self, source: usize) -> Option<&FieldDescriptor> {
        self.of_one.get(*self.sources.get(source)?)?.as_ref()
    }
}

/// Returns the stored type of a column with a single value, and its descriptor for a stripe of one row, or `None` for
/// null.
async fn constant(
    field: &Field,
    value: &ArrayRef,
    wire: Wire,
) -> Result<(DataType, Option<FieldDescriptor>)> {
    if value.is_empty() {
        return Err(Error::invalid("a new column takes a value for each shard"));
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
