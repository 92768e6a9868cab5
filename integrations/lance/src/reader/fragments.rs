//! Reads the batches of all fragments, one after the other.

use super::data_file::Rows;
use super::plan::{FragmentPlan, Plan};
use crate::failure::file_name;
use crate::ffi::column_name;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, FieldRef, SchemaRef};
use arrow_select::filter::filter_record_batch;
use arrow_shard::{Error, ErrorKind, Result};
use lance_core::datatypes::{Field, Schema};
use lance_core::utils::deletion::DeletionVector;
use std::collections::VecDeque;
use std::sync::Arc;

/// Reads the batches of a plan.
#[derive(Debug)]
pub(super) struct Fragments {
    columns: Arc<Schema>,
    schema: SchemaRef,
    rest: VecDeque<FragmentPlan>,
    current: Option<Current>,
    batch_rows: u32,
}

/// The fragment that is being read.
#[derive(Debug)]
struct Current {
    parts: Vec<Part>,
    /// The number of the next row.
    row: u64,
    rows: u64,
    deleted: DeletionVector,
}

/// A data file of the fragment.
#[derive(Debug)]
struct Part {
    columns: Arc<Schema>,
    rows: Rows,
    /// Rows that were read, and are not in a batch yet.
    ahead: Option<RecordBatch>,
}

impl Fragments {
    pub(super) fn new(plan: Plan, batch_rows: u32) -> Self {
        Self {
            columns: plan.columns,
            schema: plan.schema,
            rest: plan.fragments,
            current: None,
            batch_rows,
        }
    }

    /// Returns the next batch, which is not empty; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let current = match &mut self.current {
                Some(current) if current.row < current.rows => current,
                _ => {
                    // Closes the files of the previous fragment.
                    self.current = None;
                    let Some(plan) = self.rest.pop_front() else {
                        return Ok(None);
                    };
                    self.current
                        .insert(Current::open(plan, self.batch_rows).await?)
                }
            };
            if current.row == current.rows {
                continue;
            }
            let batch = current
                .next(&self.columns, &self.schema, u64::from(self.batch_rows))
                .await?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }
}

impl Current {
    async fn open(plan: FragmentPlan, batch_rows: u32) -> Result<Self> {
        let mut parts = Vec::with_capacity(plan.files.len());
        for mut file in plan.files {
            let opened = file.open(plan.rows).await?;
            let columns = file.columns.schema.clone();
            // The Lance crates have no rows without columns, and none in an empty file.
            if columns.fields.is_empty() || plan.rows == 0 {
                continue;
            }
            parts.push(Part {
                columns,
                rows: Rows::start(&file.path, opened, file.columns, batch_rows).await?,
                ahead: None,
            });
        }
        Ok(Self {
            parts,
            row: 0,
            rows: plan.rows,
            deleted: match plan.deletions {
                Some(deletions) => deletions.read().await?,
                None => DeletionVector::NoDeletions,
            },
        })
    }

    /// Returns the rows that were read of all data files, after reading more of files without any.
    async fn next(
        &mut self,
        columns: &Schema,
        schema: &SchemaRef,
        batch_rows: u64,
    ) -> Result<RecordBatch> {
        let rest = self.rows - self.row;
        let mut rows = usize::try_from(rest.min(batch_rows)).unwrap_or(usize::MAX);
        for part in &mut self.parts {
            rows = rows.min(part.fill(self.row, rest).await?);
        }
        let taken: Vec<_> = self.parts.iter_mut().map(|part| part.take(rows)).collect();
        let parts: Vec<_> = taken
            .iter()
            .map(|(columns, batch)| (&columns.fields[..], batch.columns()))
            .collect();
        let mut arrays = Vec::with_capacity(columns.fields.len());
        for (field, ours) in columns.fields.iter().zip(schema.fields()) {
            let array = assemble(field, ours, &parts, rows);
            arrays.push(array.map_err(|e| e.within(column_name(&field.name)))?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?;
        let first = self.row;
        self.row += rows as u64;
        let is_deleted = |row: u64| u32::try_from(row).is_ok_and(|row| self.deleted.contains(row));
        if matches!(self.deleted, DeletionVector::NoDeletions) {
            return Ok(batch);
        }
        let kept = BooleanBuffer::collect_bool(rows, |row| !is_deleted(first + row as u64));
        Ok(filter_record_batch(&batch, &BooleanArray::new(kept, None))?)
    }
}

impl Part {
    /// Returns the number of rows that were read ahead, after reading some if there were none.
    async fn fill(&mut self, row: u64, rest: u64) -> Result<usize> {
        if let Some(ahead) = &self.ahead {
            return Ok(ahead.num_rows());
        }
        let why = loop {
            match self.rows.next().await? {
                None => break format!("the data end after {row} rows, and {rest} are missing"),
                Some(batch) if batch.num_rows() as u64 > rest => {
                    break format!("the data have more than {} rows", row + rest);
                }
                Some(batch) if batch.num_rows() > 0 => {
                    let rows = batch.num_rows();
                    self.ahead = Some(batch);
                    return Ok(rows);
                }
                Some(_) => {}
            }
        };
        Err(Error::new(ErrorKind::Corrupt, why).within(file_name(self.rows.path())))
    }

    /// Takes rows that were read ahead.
    fn take(&mut self, rows: usize) -> (Arc<Schema>, RecordBatch) {
        let batch = match self.ahead.take() {
            Some(ahead) if ahead.num_rows() > rows => {
                self.ahead = Some(ahead.slice(rows, ahead.num_rows() - rows));
                ahead.slice(0, rows)
            }
            Some(ahead) => ahead,
            None => RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty())),
        };
        (self.columns.clone(), batch)
    }
}

/// Columns of a data file.
type Columns<'a> = (&'a [Field], &'a [ArrayRef]);

/// Finds the values of a column in data files, by its id. A column that was added to the dataset later, and without
/// values, is in none of them: it is null. Members of a struct may be in different files.
fn assemble(
    field: &Field,
    ours: &FieldRef,
    parts: &[Columns<'_>],
    rows: usize,
) -> Result<ArrayRef> {
    let found: Vec<_> = parts
        .iter()
        .flat_map(|(fields, arrays)| fields.iter().zip(arrays.iter()))
        .filter(|(it, _)| it.id == field.id)
        .collect();
    match found.as_slice() {
        [] if ours.is_nullable() => Ok(new_null_array(ours.data_type(), rows)),
        [] => Err(Error::new(
            ErrorKind::Corrupt,
            "no data file has the column, and it cannot be null",
        )),
        [(it, array)] if is_whole(it, field) => Ok((*array).clone()),
        [(_, first), ..] => {
            let (DataType::Struct(fields), Some(first)) = (
                ours.data_type(),
                first.as_any().downcast_ref::<StructArray>(),
            ) else {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "members of structs within lists or maps are in different data files, or were added later",
                ));
            };
            let nulls = first.nulls().cloned();
            let members: Vec<Columns<'_>> = found
                .iter()
                .filter_map(|(it, array)| {
                    let array = array.as_any().downcast_ref::<StructArray>()?;
                    Some((&it.children[..], array.columns()))
                })
                .collect();
            let columns = field
                .children
                .iter()
                .zip(fields)
                .map(|(child, ours)| assemble(child, ours, &members, rows))
                .collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(
                fields.clone(),
                columns,
                nulls,
                rows,
            )?))
        }
    }
}

/// Returns whether a column of a data file has all members of the dataset's column, in the same order.
fn is_whole(it: &Field, field: &Field) -> bool {
    it.id == field.id
        && it.children.len() == field.children.len()
        && it
            .children
            .iter()
            .zip(&field.children)
            .all(|(it, field)| is_whole(it, field))
}
