//! TPC-H lineitem and orders: decimals as Decimal128, strings as views or as Utf8.

use super::{BATCH_ROWS, Scale, Table};
use crate::strings::{cast_batch, with_utf8};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::sync::Arc;
use tpchgen::generators::{LineItemGenerator, OrderGenerator};
use tpchgen_arrow::{LineItemArrow, OrderArrow};

pub(super) fn lineitem(scale: Scale) -> Table {
    let generator = LineItemGenerator::new(scale.tpch(), 1, 1);
    table(LineItemArrow::new(generator).with_batch_size(BATCH_ROWS))
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

/// The same table, with strings as Utf8 instead of views.
pub(super) fn as_utf8(table: Table) -> Table {
    let schema: SchemaRef = Arc::new(with_utf8(&table.schema));
    let target = schema.clone();
    let cast = move |batch: Result<RecordBatch, ArrowError>| cast_batch(&batch?, &target);
    Table {
        schema,
        batches: Box::new(table.batches.map(cast)),
    }
}
