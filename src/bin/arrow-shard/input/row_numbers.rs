//! Rows by their numbers.

use super::columns::{ColumnArgs, Needed, repeated, unresolved};
use super::origin::Origin;
use super::parquet;
use super::source::Input;
use super::{BATCH_ROWS, ReadArgs, predicate};
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::isolate::Foreign;
use crate::progress::Total;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_shard::Shard;
use arrow_shard::read::Projection;
use std::path::Path;

/// Name of the column with row numbers; no other column is read.
const ROW: &str = "row";

/// Returns the numbers of the rows that are not deleted and match the filter, in ascending order.
pub(crate) fn row_numbers(
    shard: &Shard,
    filter: Option<&str>,
) -> Result<impl Iterator<Item = Result<Vec<u64>, Failure>> + use<>, Failure> {
    let mut scan = shard
        .scan()
        .with_projection(Projection::Paths(Vec::new()))
        .with_row_number(ROW);
    if let Some(filter) = filter {
        scan = scan.with_filter(predicate("--filter", shard.parse_predicate(filter))?);
    }
    Ok(scan.build()?.map(|batch| {
        let batch = batch?;
        let numbers = batch.column(0).as_primitive::<UInt64Type>();
        Ok(numbers.values().to_vec())
    }))
}

impl ReadArgs {
    /// Returns the rows of a shard or a Parquet file with these ascending numbers.
    pub(crate) fn take(
        &self,
        path: &Path,
        columns: &ColumnArgs,
        rows: Vec<u64>,
    ) -> Result<Input, Failure> {
        let names = columns.names();
        if self.format(path)? == FileFormat::Shard {
            return self.take_of_shard(&self.open_one_of_many(path)?, &names, rows);
        }
        let origin = Origin::find(path)?;
        let file = Foreign::new(path, FileFormat::Parquet, origin.bytes());
        let input =
            file.isolate(|| parquet::open(origin.file()?, Needed::names(&names), Some(&rows)))?;
        input.guarded(file.clone()).choose(&names, file.name())
    }

    fn take_of_shard(
        &self,
        shard: &Shard,
        names: &[String],
        rows: Vec<u64>,
    ) -> Result<Input, Failure> {
        let failure = self.failure();
        let scan = self.scan_of(shard, names);
        let schema = scan.clone().take(&[]).map_err(unresolved)?.schema();
        let repeated = repeated(&schema, names);
        let total = Total::Rows(rows.len() as u64);
        let chunks: Vec<Vec<u64>> = rows.chunks(BATCH_ROWS).map(<[u64]>::to_vec).collect();
        let batches = chunks.into_iter().map(move |rows| {
            let taken = scan.clone().take(&rows);
            taken.map_err(|e| failure(e.into()))
        });
        let input = Input {
            schema,
            total,
            batches: Box::new(batches),
        };
        match repeated {
            Some(indices) => input.project(indices),
            None => Ok(input),
        }
    }
}
