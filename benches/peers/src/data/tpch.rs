//! TPC-H lineitem and orders: decimals as Decimal128, strings as views or as Utf8.

use super::scale::Scale;
use super::table::{BATCH_ROWS, Table};
use crate::strings::{cast_batch, with_utf8};
use anyhow::{Context, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_array::{RecordBatch, RecordBatchReader, UInt64Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use std::sync::Arc;
use tpchgen::generators::{LineItemGenerator, OrderGenerator};
use tpchgen_arrow::{LineItemArrow, OrderArrow};

pub(super) fn lineitem(scale: Scale) -> Table {
    let generator = LineItemGenerator::new(scale.tpch(), 1, 1);
    table(LineItemArrow::new(generator).with_batch_size(BATCH_ROWS))
}

/// Returns lineitem in the order of `l_shipdate`.
pub(super) fn lineitem_sorted(scale: Scale) -> Result<Table> {
    let schema = lineitem(scale).schema;
    // `take` of Utf8 copies strings; with views, every batch would refer to the strings of the whole table.
    let unsorted = as_utf8(lineitem(scale));
    let batches = unsorted.batches.collect::<Result<Vec<_>, _>>()?;
    let whole = concat_batches(&unsorted.schema, &batches)?;
    let column = whole.column_by_name("l_shipdate").context("l_shipdate")?;
    let dates = column.as_primitive::<Date32Type>().values();
    let mut sorted_rows: Vec<u64> = (0..whole.num_rows() as u64).collect();
    sorted_rows.sort_by_key(|&row| dates[row as usize]);
    let rows = sorted_rows.len();
    let order = UInt64Array::from(sorted_rows);
    let mut start = 0;
    Ok(Table::of_rows(schema.clone(), rows, move |rows| {
        let sorted = take_record_batch(&whole, &order.slice(start, rows))?;
        start += rows;
        cast_batch(&sorted, &schema)
    }))
}

pub(super) fn orders(scale: Scale) -> Table {
    let generator = OrderGenerator::new(scale.tpch(), 1, 1);
    table(OrderArrow::new(generator).with_batch_size(BATCH_ROWS))
}

fn table(batches: impl RecordBatchReader + 'static) -> Table {
    Table {
        schema: batches.schema(),
        batches: Box::new(batches),
    }
}

/// Returns a table with strings as Utf8 instead of views.
pub(super) fn as_utf8(table: Table) -> Table {
    let schema: SchemaRef = Arc::new(with_utf8(&table.schema));
    let target = schema.clone();
    let cast = move |batch: Result<RecordBatch, ArrowError>| cast_batch(&batch?, &target);
    Table {
        schema,
        batches: Box::new(table.batches.map(cast)),
    }
}
