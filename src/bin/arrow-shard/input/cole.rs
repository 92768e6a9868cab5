//! COLE files.

use super::RowWindow;
use super::columns::{ColumnArgs, indices, repeated};
use super::filter::predicate;
use super::origin::Origin;
use super::source::{Input, batches};
use crate::failure::Failure;
use crate::progress::Total;
use arrow_array::RecordBatchReader;
use arrow_shard::Limits;
use arrow_shard::interop::cole::ReaderBuilder;
use arrow_shard::io::LocalFile;
use std::path::Path;
use std::sync::Arc;

/// Returns the number of rows of a file.
pub(super) fn num_rows(path: &Path, limits: Limits) -> Result<u64, Failure> {
    Ok(builder(path, limits)?.num_rows())
}

fn builder(path: &Path, limits: Limits) -> Result<ReaderBuilder, Failure> {
    let name = path.display().to_string();
    let file = match Origin::find(path)? {
        Origin::Path(path) => LocalFile::open(path)?.with_name(&name),
        copy => LocalFile::from_file(copy.file()?, &name)?,
    };
    Ok(ReaderBuilder::try_new_with(Arc::new(file), limits)?)
}

/// Opens the requested columns and rows of a file.
pub(super) fn open(
    path: &Path,
    limits: Limits,
    columns: &ColumnArgs,
    rows: RowWindow<'_>,
) -> Result<Input, Failure> {
    let name = path.display().to_string();
    let mut builder = builder(path, limits)?
        .with_offset(rows.offset)
        .with_batch_size(rows.batch_rows());
    let mut total = Total::Rows(builder.num_rows().saturating_sub(rows.offset));
    let names = columns.names();
    if !names.is_empty() {
        let indices = indices(builder.schema(), &names).map_err(|e| e.within(&name))?;
        builder = builder.with_projection(indices);
    }
    if let Some(limit) = rows.limit {
        builder = builder.with_limit(limit);
        total = Total::Unknown;
    }
    if let Some(filter) = rows.filter {
        let filter = predicate("--filter", builder.parse_predicate(filter))?;
        builder = builder.with_filter(filter);
        total = Total::Unknown;
    }
    let reader = builder.build()?;
    let schema = reader.schema();
    let repeated = repeated(&schema, &names);
    let input = Input {
        schema,
        batches: batches(reader),
        total,
    };
    match repeated {
        Some(indices) => input.project(indices),
        None => Ok(input),
    }
}
