//! Several files as one input, one after the other.

use super::columns::{ColumnArgs, indices};
use super::exact_cast::{cast_exactly, cast_lossily};
use super::filter::{matching, parsed_for, predicate};
use super::folder_columns::folder_columns;
use super::folder_values::FolderValues;
use super::plan::{Plan, has_same_columns, is_read_once};
use super::provided::Provided;
use super::source::{Batches, Input};
use super::united_schema::{indices_in, united};
use super::wanted::Wanted;
use super::{ReadArgs, RowWindow};
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::progress::Total;
use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{Field, Schema, SchemaRef};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Opens files with columns that are united by name. Each file is read when its turn has come.
pub(super) fn open(
    reading: &ReadArgs,
    paths: &[PathBuf],
    columns: &ColumnArgs,
    rows: RowWindow<'_>,
    wanted: Wanted,
) -> Result<Input, Failure> {
    let plans = planned(reading, paths, rows, &wanted)?;
    read(reading, plans, columns, rows, wanted)
}

/// Opens files in the wanted types, and returns the columns that each of them provides.
pub(super) fn open_for(
    reading: &ReadArgs,
    paths: &[PathBuf],
    columns: &ColumnArgs,
    wanted: Wanted,
) -> Result<(Input, Vec<Provided>), Failure> {
    let rows = RowWindow::default();
    let plans = planned(reading, paths, rows, &wanted)?;
    let names = columns.names();
    let provided = plans.iter().map(|plan| Provided::of(plan, &names));
    let provided = provided.collect();
    Ok((read(reading, plans, columns, rows, wanted)?, provided))
}

/// Reads planned files, one after the other.
fn read(
    reading: &ReadArgs,
    mut plans: Vec<Plan>,
    columns: &ColumnArgs,
    rows: RowWindow<'_>,
    wanted: Wanted,
) -> Result<Input, Failure> {
    let names = columns.names();
    let paths: Vec<String> = plans.iter().map(Plan::name).collect();
    let is_uniform = plans.iter().all(|plan| plan.has_columns_of(&plans[0]));
    // The condition may use other columns than those that are selected, and has to see the united types.
    let filter = rows
        .filter
        .filter(|_| !is_uniform || !wanted.is_empty() || reading.has_folder_columns());
    let selected = if filter.is_none() {
        names.as_slice()
    } else {
        &[]
    };
    let schema = united_schema(&mut plans, selected, reading, &wanted)?;
    let mut rest = rows;
    if rows.filter.is_none() {
        skip(&mut plans, &mut rest.offset);
    }
    let total = total(&plans, rows);
    let each = Each {
        reading: reading.clone(),
        schema: schema.clone(),
        filter: rows.filter.filter(|_| filter.is_none()).map(str::to_owned),
        limit: match filter {
            Some(_) => None,
            None => rest.limit.map(|limit| limit.saturating_add(rest.offset)),
        },
        threads: rows.threads,
    };
    let mut input = Input {
        schema,
        total,
        batches: each.batches(plans),
    };
    if let Some(filter) = filter {
        let name = match paths.as_slice() {
            [path] => path.as_str(),
            _ => "the united files",
        };
        input = matching(input, filter, name)?;
        if !names.is_empty() {
            let indices = indices(&input.schema, &names)?;
            input = input.project(indices)?;
        }
    }
    Ok(input.window(rest))
}

/// Whether all files have columns of the same names and types. Files that can be read only once are not looked at: they
/// count as different.
pub(super) fn are_alike(reading: &ReadArgs, paths: &[PathBuf]) -> Result<bool, Failure> {
    if paths.iter().any(|path| is_read_once(path)) {
        return Ok(false);
    }
    let plans = planned(reading, paths, RowWindow::default(), &Wanted::default())?;
    Ok(plans.iter().all(|plan| plan.has_columns_of(&plans[0])))
}

/// Returns the rows of inputs with columns of the same names and types, one after the other. A column is nullable if it
/// is in one of them.
pub(crate) fn chained(inputs: Vec<Input>) -> Result<Input, Failure> {
    let Some(first) = inputs.first() else {
        return Err(Failure::new("there is no input"));
    };
    let schemas = || inputs.iter().map(|input| &input.schema);
    if !schemas().all(|schema| has_same_columns(schema, &first.schema)) {
        return Err(Failure::new("a file was replaced while the command ran"));
    }
    let fields = first.schema.fields().iter().enumerate().map(|(i, field)| {
        let is_nullable = schemas().any(|schema| schema.field(i).is_nullable());
        Field::clone(field).with_nullable(is_nullable)
    });
    let fields: Vec<Field> = fields.collect();
    let schema = Arc::new(Schema::new_with_metadata(
        fields,
        first.schema.metadata().clone(),
    ));
    let united = schema.clone();
    let batches = inputs.into_iter().flat_map(|input| input.batches);
    let batches = batches.map(move |batch| {
        let batch = batch?;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        Ok(RecordBatch::try_new_with_options(
            united.clone(),
            columns,
            &rows,
        )?)
    });
    Ok(Input {
        schema,
        total: Total::Unknown,
        batches: Box::new(batches),
    })
}

/// The files of an input and their columns.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Each file with its format and, if it is known, the number of its rows.
    pub(crate) files: Vec<(PathBuf, FileFormat, Option<u64>)>,
    /// The united columns.
    pub(crate) schema: SchemaRef,
}

/// Looks at files without reading them. Fails if the columns do not fit the filter.
pub(super) fn survey(
    reading: &ReadArgs,
    paths: &[PathBuf],
    columns: &ColumnArgs,
    filter: Option<&str>,
    wanted: &Wanted,
) -> Result<Survey, Failure> {
    let mut plans = planned(reading, paths, RowWindow::default(), wanted)?;
    if let Some(filter) = filter {
        // The condition may use other columns than those that are selected.
        let all = united_schema(&mut plans, &[], reading, wanted)?;
        let parsed = match plans.as_slice() {
            [plan] => plan.shard().map(|shard| shard.parse_predicate(filter)),
            _ => None,
        };
        match parsed {
            Some(parsed) => drop(predicate("--filter", parsed)?),
            None => drop(parsed_for(&all, filter, "the inputs")?),
        }
    }
    let schema = united_schema(&mut plans, &columns.names(), reading, wanted)?;
    let files = plans
        .into_iter()
        .map(|plan| (plan.path, plan.format, plan.rows));
    Ok(Survey {
        files: files.collect(),
        schema,
    })
}

/// Looks at all files.
fn planned(
    reading: &ReadArgs,
    paths: &[PathBuf],
    rows: RowWindow<'_>,
    wanted: &Wanted,
) -> Result<Vec<Plan>, Failure> {
    let mut plans: Vec<Plan> = Vec::with_capacity(paths.len());
    for path in paths {
        let mut plan = Plan::of(path, reading, rows, wanted)?;
        if let Some(last) = plans.last()
            && last.schema == plan.schema
        {
            // Thousands of files with the same columns share them.
            plan.schema = last.schema.clone();
        }
        plans.push(plan);
    }
    Ok(plans)
}

/// Selects the columns in all files, and returns the schema of the result.
fn united_schema(
    plans: &mut [Plan],
    selected: &[String],
    reading: &ReadArgs,
    wanted: &Wanted,
) -> Result<SchemaRef, Failure> {
    let mut folders = folder_columns(plans, wanted)?;
    if !selected.is_empty() {
        for plan in plans.iter_mut() {
            plan.select(reading, selected)?;
        }
        let is_folder = |name: &String| folders.iter().any(|field| field.name() == name);
        let is_known = |name: &&String| is_folder(name) || plans.iter().any(|plan| plan.has(name));
        if let (Some(name), Some(first)) =
            (selected.iter().find(|name| !is_known(name)), plans.first())
        {
            return Err(unknown(name, first, reading));
        }
        folders.retain(|field| selected.contains(field.name()));
    }
    united(plans, folders, selected, reading.unify, wanted)
}

/// Returns the error of the first file for a column that no file has.
fn unknown(name: &str, first: &Plan, reading: &ReadArgs) -> Failure {
    let columns = ColumnArgs::of(vec![name.to_owned()]);
    let opened = reading.open(&first.path, &columns, RowWindow::default());
    let other = || Failure::Usage(format!("no file has a column `{name}`"));
    opened.err().unwrap_or_else(other)
}

/// Drops the files whose rows are all skipped.
fn skip(plans: &mut Vec<Plan>, offset: &mut u64) {
    let mut skipped = 0;
    for plan in plans.iter() {
        match plan.rows {
            Some(rows) if rows <= *offset => *offset -= rows,
            _ => break,
        }
        skipped += 1;
    }
    plans.drain(..skipped);
}

/// Returns the number of rows, if all files are read and their numbers are known.
fn total(plans: &[Plan], rows: RowWindow<'_>) -> Total {
    let known: Option<u64> = plans.iter().map(|plan| plan.rows).sum();
    match known {
        Some(known) if rows.filter.is_none() && rows.limit.is_none() => Total::Rows(known),
        _ => Total::Unknown,
    }
}

/// Reads each of the files.
struct Each {
    reading: ReadArgs,
    /// The columns of the result.
    schema: SchemaRef,
    /// The condition, if it is the same for all files.
    filter: Option<String>,
    /// Maximum number of rows of a file.
    limit: Option<u64>,
    threads: usize,
}

impl Each {
    fn batches(self, plans: Vec<Plan>) -> Batches {
        let each = Rc::new(self);
        let batches = plans.into_iter().flat_map(move |plan| {
            let batches = each.clone().read(plan);
            batches.unwrap_or_else(|failure| Box::new(std::iter::once(Err(failure))))
        });
        Box::new(batches)
    }

    fn read(self: Rc<Self>, mut plan: Plan) -> Result<Batches, Failure> {
        let name = plan.name();
        let folders = std::mem::take(&mut plan.folders);
        let indices = indices_in(&plan.schema, &self.schema);
        let rows = RowWindow {
            filter: self.filter.as_deref(),
            limit: self.limit,
            threads: self.threads,
            ..RowWindow::default()
        };
        let input = plan.read(&self.reading, rows)?;
        let mut first_row = 0;
        let batches = input.batches.map(move |batch| {
            let batch = batch?;
            let rows = batch.num_rows() as u64;
            let aligned = self.aligned(&batch, &indices, &folders, first_row);
            first_row += rows;
            aligned.map_err(|failure| failure.within(&name))
        });
        Ok(Box::new(batches))
    }

    /// Returns a batch with the united columns; `indices` are their places in `batch`, unless `folders` give them.
    fn aligned(
        &self,
        batch: &RecordBatch,
        indices: &[Option<usize>],
        folders: &FolderValues,
        first_row: u64,
    ) -> Result<RecordBatch, Failure> {
        let is_lossy = self.reading.lossy;
        let pairs = self.schema.fields().iter().zip(indices);
        let columns = pairs.map(|(field, index)| match index {
            Some(index) if is_lossy => cast_lossily(batch.column(*index), field),
            Some(index) => {
                let cast = cast_exactly(batch.column(*index), field, first_row);
                cast.map_err(|failure| self.reading.with_lossy_advice(failure))
            }
            None => {
                let value = folders.repeated(field, batch.num_rows(), is_lossy)?;
                Ok(value.unwrap_or_else(|| new_null_array(field.data_type(), batch.num_rows())))
            }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = self.schema.clone();
        Ok(RecordBatch::try_new_with_options(schema, columns, &rows)?)
    }
}
