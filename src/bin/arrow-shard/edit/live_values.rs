//! New columns of a shard with deleted rows.

use crate::failure::Failure;
use crate::input::{Input, row_numbers};
use crate::text;
use arrow_array::{Array, ArrayRef, UInt64Array, new_null_array};
use arrow_schema::Field;
use arrow_select::concat::concat;
use arrow_select::take::take;
use arrow_shard::Shard;

/// Reads columns that have a value for each row that is not deleted. Returns each with its field, and with a value for
/// each row: deleted rows are null.
pub(super) fn live_values(
    input: Input,
    shard: &Shard,
    quiet: bool,
) -> Result<Vec<(Field, Vec<ArrayRef>)>, Failure> {
    let input = input.with_progress(quiet);
    let fields = input.schema.fields().clone();
    let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::new(); fields.len()];
    let mut given = 0;
    for batch in input.batches {
        let batch = batch?;
        given += batch.num_rows() as u64;
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            column.push(array.clone());
        }
    }
    let rows = shard.num_rows();
    if given != rows {
        return Err(Failure::new(format!(
            "{}, expected {rows}: one for each row of the shard",
            text::count(given, "row")
        )));
    }
    let places = places(shard)?;
    let fields = fields.iter().map(|field| field.as_ref().clone());
    let columns = fields.zip(columns).map(|(field, column)| match &places {
        None => Ok((field, column)),
        Some(places) => {
            let spread = spread(&field, &column, places)?;
            Ok((field.with_nullable(true), vec![spread]))
        }
    });
    columns.collect()
}

/// Returns the place of each row's value, null for deleted rows; `None` if no row is deleted.
fn places(shard: &Shard) -> Result<Option<UInt64Array>, Failure> {
    let deleted = shard.num_deleted_rows();
    if deleted == 0 {
        return Ok(None);
    }
    let rows = usize::try_from(shard.num_rows() + deleted).unwrap_or(usize::MAX);
    let mut places: Vec<Option<u64>> = vec![None; rows];
    let mut next = 0;
    for numbers in row_numbers(shard, None)? {
        for number in numbers? {
            let place = usize::try_from(number).ok();
            if let Some(place) = place.and_then(|place| places.get_mut(place)) {
                *place = Some(next);
            }
            next += 1;
        }
    }
    Ok(Some(places.into()))
}

fn spread(field: &Field, column: &[ArrayRef], places: &UInt64Array) -> Result<ArrayRef, Failure> {
    if column.is_empty() {
        return Ok(new_null_array(field.data_type(), places.len()));
    }
    let parts: Vec<&dyn Array> = column.iter().map(AsRef::as_ref).collect();
    Ok(take(&concat(&parts)?, places, None)?)
}
