//! Slices that the Lance encoders do not take.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};

/// Copies columns with Booleans in structs or lists, if the Booleans begin in the middle of their bits.
///
/// Lance combines the nulls of a struct with the nulls of its members, and takes the wrong bits of a sliced Boolean
/// member: it ends with "null_bit_buffer size too small", or with other nulls.
pub(super) fn without_sliced_booleans(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(|column| {
        let is_nested = column.data_type().is_nested();
        if !is_nested {
            return Ok(column.clone());
        }
        let data = column.to_data();
        if has_sliced_booleans(&data) {
            copied(&data)
        } else {
            Ok(column.clone())
        }
    });
    let columns = columns.collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

fn has_sliced_booleans(data: &ArrayData) -> bool {
    let is_sliced = data.data_type() == &DataType::Boolean && data.offset() != 0;
    is_sliced || data.child_data().iter().any(has_sliced_booleans)
}

fn copied(data: &ArrayData) -> Result<ArrayRef, ArrowError> {
    let mut copy = MutableArrayData::new(vec![data], false, data.len());
    copy.try_extend(0, 0, data.len())?;
    Ok(make_array(copy.freeze()))
}
