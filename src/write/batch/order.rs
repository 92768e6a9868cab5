//! Errors for rows that break the declared order.

use crate::error::{Error, Result};
use crate::sorting::OrderCheck;
use arrow_array::RecordBatch;

/// Refuses a batch that breaks the declared order. `first` is the row number of its first row in the shard.
pub(in crate::write) fn check_order(
    order: &mut OrderCheck,
    batch: &RecordBatch,
    first: u64,
) -> Result<()> {
    let Some(disorder) = order.check(batch.columns(), batch.num_rows())? else {
        return Ok(());
    };
    let (row, path) = (first + disorder.row as u64, &disorder.column.path);
    let error = Error::invalid(format!(
        "row {row} of the shard, row {} of the batch, sorts before the preceding row, and \
         with_sorting_columns declares `{path}` to be {}; sort the rows, or declare no order",
        disorder.row,
        disorder.declared()
    ));
    Err(error.within(format!("column `{path}`")))
}
