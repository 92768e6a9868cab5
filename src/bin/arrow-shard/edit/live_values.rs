//! New columns of a shard with deleted rows.

use crate::failure::Failure;
use crate::input::{Input, row_numbers};
use crate::text;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::Field;
use arrow_select::interleave::interleave;
use arrow_shard::Shard;

/// Columns to add, each with its values for all rows.
pub(super) type Added = Vec<(Field, Vec<ArrayRef>)>;

/// Reads columns that have a value for each row that is not deleted. Returns each with its field, and with a value for
/// each row: deleted rows are null.
pub(super) fn live_values(input: Input, shard: &Shard, quiet: bool) -> Result<Added, Failure> {
    let input = input.with_progress(quiet);
    let mut columns: Added = input
        .schema
        .fields()
        .iter()
        .map(|field| (field.as_ref().clone(), Vec::new()))
        .collect();
    let mut places = Places::of(shard)?;
    let mut given = 0;
    for batch in input.batches {
        let batch = batch?;
        given += batch.num_rows() as u64;
        if given > shard.num_rows() {
            continue;
        }
        let pieces = places.next(batch.num_rows())?;
        for ((_, column), array) in columns.iter_mut().zip(batch.columns()) {
            for piece in &pieces {
                column.push(piece.values(array)?);
            }
        }
    }
    let rows = shard.num_rows();
    if given != rows {
        return Err(Failure::new(format!(
            "{} of new values, expected {rows}: one for each row of the shard",
            text::count(given, "row")
        )));
    }
    for (field, column) in &mut columns {
        if let Some(deleted) = places.last() {
            column.push(new_null_array(field.data_type(), deleted));
        }
        if places.have_gaps() {
            *field = field.clone().with_nullable(true);
        }
    }
    Ok(columns)
}

/// Most deleted rows in a row that are put among values. More become an array of nulls, which costs no index for each.
const FEW: usize = 1024;

/// The places of the rows that are not deleted.
struct Places {
    /// The numbers of these rows; `None` if no row is deleted.
    live: Option<Box<dyn Iterator<Item = Result<u64, Failure>>>>,
    /// The first row that has no value yet.
    next: u64,
    /// Number of all rows.
    rows: u64,
}

/// Values of rows one after the other.
enum Piece {
    /// All of the next values.
    Live,
    /// Some of the next values, and nulls: an array, and a place in it.
    Mixed(Vec<(usize, usize)>),
    /// Only nulls.
    Deleted(usize),
}

impl Places {
    fn of(shard: &Shard) -> Result<Self, Failure> {
        let deleted = shard.num_deleted_rows();
        let live: Option<Box<dyn Iterator<Item = Result<u64, Failure>>>> = if deleted == 0 {
            None
        } else {
            let numbers = row_numbers(shard, None)?.flat_map(|numbers| {
                let (numbers, failure) = match numbers {
                    Ok(numbers) => (numbers, None),
                    Err(failure) => (Vec::new(), Some(Err(failure))),
                };
                numbers.into_iter().map(Ok).chain(failure)
            });
            Some(Box::new(numbers))
        };
        Ok(Self {
            live,
            next: 0,
            rows: shard.num_rows() + deleted,
        })
    }

    fn have_gaps(&self) -> bool {
        self.live.is_some()
    }

    /// Returns the rows that the next `count` values belong to, and the deleted rows before them.
    fn next(&mut self, count: usize) -> Result<Vec<Piece>, Failure> {
        let Some(live) = &mut self.live else {
            return Ok(vec![Piece::Live]);
        };
        let (mut pieces, mut mixed) = (Vec::new(), Vec::new());
        for (place, number) in (0..count).zip(live) {
            let number = number?;
            let gap = usize::try_from(number - self.next).unwrap_or(usize::MAX);
            if gap > FEW {
                pieces.push(Piece::Mixed(std::mem::take(&mut mixed)));
                pieces.push(Piece::Deleted(gap));
            } else {
                mixed.extend((0..gap).map(|_| (1, 0)));
            }
            mixed.push((0, place));
            self.next = number + 1;
        }
        pieces.push(Piece::Mixed(mixed));
        pieces.retain(|piece| !matches!(piece, Piece::Mixed(rows) if rows.is_empty()));
        Ok(pieces)
    }

    /// Returns the number of rows behind the last value, if there are any.
    fn last(&self) -> Option<usize> {
        let rows = self.live.as_ref().map(|_| self.rows - self.next)?;
        usize::try_from(rows).ok().filter(|rows| *rows > 0)
    }
}

impl Piece {
    /// Returns the values of these rows. `array` has the next values.
    fn values(&self, array: &ArrayRef) -> Result<ArrayRef, Failure> {
        match self {
            Self::Live => Ok(array.clone()),
            Self::Mixed(rows) => {
                let null = new_null_array(array.data_type(), 1);
                Ok(interleave(&[array.as_ref(), null.as_ref()], rows)?)
            }
            Self::Deleted(rows) => Ok(new_null_array(array.data_type(), *rows)),
        }
    }
}
