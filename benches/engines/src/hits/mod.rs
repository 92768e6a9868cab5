//! A table with the schema of ClickBench's `hits`, and values that are distributed in a similar way.
//!
//! A row is a hit: a page view of a user on a site. Hits arrive in the order of their times, except that some are up to
//! a minute and a half late. Many visits take place at the same time, so the hits of one user are close to each other
//! but not adjacent. Equal seeds and numbers of rows make equal tables.

mod columns;
mod origin;
mod site;
mod skew;
#[cfg(test)]
mod tests;
mod visit;
mod visitor;
mod web;
mod words;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use columns::COLUMNS;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use skew::tail;
use std::sync::Arc;
use visit::{Hit, Visit};
use web::Web;

const BATCH_ROWS: usize = 8192;
/// Seconds from 1970 until the first hit, on 2013-07-02.
const START: i64 = 1_372_723_200;
/// Seconds until the last hit, on 2013-07-31.
const DURATION: usize = 30 * 86_400 - 1;
/// Greatest delay of a hit, in seconds.
const DELAY: usize = 90;
/// Rows for each visit that takes place at the same time: hits of a visit are about a minute apart.
const ROWS_PER_VISIT: usize = 30_000;
/// The probability that a visit ends before its next hit: visits have five hits on average.
const END: f64 = 0.2;

/// The rows, in batches of [`BATCH_ROWS`].
pub(crate) struct Hits {
    web: Web,
    rng: StdRng,
    rows: usize,
    /// Number of rows that were returned.
    returned: usize,
    /// Visits that are not over.
    visits: Vec<Visit>,
    /// The visit of the last row.
    current: usize,
}

impl Hits {
    pub(crate) fn new(rows: usize, seed: u64) -> Self {
        let web = Web::new(rows, seed);
        let mut rng = StdRng::seed_from_u64(seed);
        let visits = (rows / ROWS_PER_VISIT).max(16);
        Self {
            visits: (0..visits).map(|_| Visit::new(&web, &mut rng)).collect(),
            web,
            rng,
            rows,
            returned: 0,
            current: 0,
        }
    }

    fn hit(&mut self, row: usize) -> Hit {
        let rng = &mut self.rng;
        // Some hits of a visit are adjacent.
        if rng.random_bool(0.7) {
            self.current = rng.random_range(0..self.visits.len());
        }
        let visit = &mut self.visits[self.current];
        if rng.random_bool(END) {
            *visit = Visit::new(&self.web, rng);
        }
        let elapsed = row as u64 * DURATION as u64 / self.rows as u64;
        let time = START + elapsed as i64 - tail(DELAY, 4, rng) as i64;
        visit.hit(time.max(START), &self.web, rng)
    }
}

impl Iterator for Hits {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = BATCH_ROWS.min(self.rows - self.returned);
        if rows == 0 {
            return None;
        }
        let range = self.returned..self.returned + rows;
        self.returned = range.end;
        let hits: Vec<Hit> = range.map(|row| self.hit(row)).collect();
        let columns = COLUMNS.iter().map(|column| column.array(&hits)).collect();
        Some(RecordBatch::try_new(self.schema(), columns))
    }
}

impl RecordBatchReader for Hits {
    fn schema(&self) -> SchemaRef {
        let fields = COLUMNS.iter().map(|column| column.field());
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}
