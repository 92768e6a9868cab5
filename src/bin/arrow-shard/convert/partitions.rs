//! Files in a folder for each combination of values, as in `year=2024/month=5/part-00001.parquet`.

use super::writing::{Target, Writing, complete_before};
use crate::failure::Failure;
use crate::input::{folder_name, indices};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum number of files that are written at the same time. Each holds rows in memory until they are encoded.
const MAX_OPEN: usize = 16;

/// Writes rows to files in folders that are named by values.
pub(super) struct Partitions {
    target: Target,
    /// The columns of the files.
    schema: SchemaRef,
    kept: Vec<usize>,
    /// The columns with values that name folders.
    columns: Vec<usize>,
    names: Vec<String>,
    keys: RowConverter,
    /// The ordinals of combinations of values.
    known: HashMap<Box<[u8]>, usize>,
    partitions: Vec<Partition>,
    /// Number of batches so far.
    batches: u64,
}

/// The files of a combination of values.
struct Partition {
    folder: PathBuf,
    /// Number of complete files.
    files: u64,
    open: Option<Writing>,
    /// The number of the last batch with rows of it.
    used: u64,
}

impl Partitions {
    /// Fails if a column does not exist, or if its values cannot be names of folders.
    pub(super) fn start(
        target: Target,
        schema: &Schema,
        names: &[String],
    ) -> Result<Self, Failure> {
        let columns = indices(schema, names).map_err(|e| e.within("--partition-by"))?;
        let mut fields = Vec::with_capacity(columns.len());
        for &index in &columns {
            let field = schema.field(index);
            let data_type = field.data_type();
            if !names_folders(data_type) {
                return Err(Failure::Usage(format!(
                    "--partition-by: column `{}` is {data_type}, which names no folders",
                    field.name()
                )));
            }
            fields.push(SortField::new(data_type.clone()));
        }
        let is_kept = |index: &usize| !columns.contains(index);
        let kept: Vec<usize> = (0..schema.fields().len()).filter(is_kept).collect();
        if kept.is_empty() {
            let why = "--partition-by names all columns, and files need at least one";
            return Err(Failure::Usage(why.to_owned()));
        }
        Ok(Self {
            schema: Arc::new(schema.project(&kept)?),
            target,
            kept,
            columns,
            names: names.to_vec(),
            keys: RowConverter::new(fields)?,
            known: HashMap::new(),
            partitions: Vec::new(),
            batches: 0,
        })
    }

    /// Adds the number of complete files to an error of the input.
    pub(super) fn interrupted(&self, failure: Failure) -> Failure {
        complete_before(self.partitions.iter().map(|it| it.files).sum(), failure)
    }

    /// Returns the columns of the files.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Appends the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.batches += 1;
        let columns = self.columns.iter();
        let columns: Vec<ArrayRef> = columns.map(|&it| batch.column(it).clone()).collect();
        let keys = self.keys.convert_columns(&columns)?;
        let mut rows: HashMap<usize, Vec<u32>> = HashMap::new();
        let mut order = Vec::new();
        for (row, key) in (0_u32..).zip(keys.iter()) {
            let partition = match self.known.get(key.as_ref()) {
                Some(partition) => *partition,
                None => {
                    let partition = self.partitions.len();
                    self.partitions.push(self.partition(&columns, row)?);
                    self.known.insert(key.as_ref().into(), partition);
                    partition
                }
            };
            let of = rows.entry(partition).or_insert_with(|| {
                order.push(partition);
                Vec::new()
            });
            of.push(row);
        }
        let kept = batch.project(&self.kept)?;
        for partition in order {
            let of = rows.remove(&partition).unwrap_or_default();
            let part = take_record_batch(&kept, &UInt32Array::from(of))?;
            self.write_to(partition, &part)?;
        }
        Ok(())
    }

    /// Returns the partition of a row.
    fn partition(&self, columns: &[ArrayRef], row: u32) -> Result<Partition, Failure> {
        let mut folder = PathBuf::new();
        for (name, column) in self.names.iter().zip(columns) {
            let value = text(column, row as usize)?;
            let name = folder_name(name, value.as_deref());
            folder.push(name.map_err(|e| e.within("--partition-by"))?);
        }
        Ok(Partition {
            folder,
            files: 0,
            open: None,
            used: 0,
        })
    }

    /// Appends rows to the file of a partition. If too many files are open, completes the one that was used longest ago.
    fn write_to(&mut self, partition: usize, rows: &RecordBatch) -> Result<(), Failure> {
        let is_open = |it: &Partition| it.open.is_some();
        if self
            .partitions
            .get(partition)
            .is_some_and(|it| !is_open(it))
            && self.partitions.iter().filter(|it| is_open(it)).count() >= MAX_OPEN
        {
            let open = self.partitions.iter_mut().filter(|it| is_open(it));
            if let Some(oldest) = open.min_by_key(|it| it.used) {
                oldest.complete()?;
            }
        }
        let Some(partition) = self.partitions.get_mut(partition) else {
            return Ok(());
        };
        partition.used = self.batches;
        let writing = match &mut partition.open {
            Some(writing) => writing,
            closed => {
                let target = self.target.within(&partition.folder)?;
                let first = partition.files + 1;
                closed.insert(Writing::start(target, first, self.schema.clone())?)
            }
        };
        writing.write(rows)
    }

    /// Completes all files. Returns their number.
    pub(super) fn finish(mut self) -> Result<u64, Failure> {
        self.partitions
            .iter_mut()
            .try_for_each(Partition::complete)?;
        Ok(self.partitions.iter().map(|it| it.files).sum())
    }
}

impl Partition {
    /// Completes the open file, if there is one.
    fn complete(&mut self) -> Result<(), Failure> {
        if let Some(writing) = self.open.take() {
            self.files = writing.finish()?;
        }
        Ok(())
    }
}

/// Whether values of a type can be names of folders.
fn names_folders(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Dictionary(_, value) => names_folders(value),
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => false,
        other => !other.is_nested(),
    }
}

/// Returns the text of a value, or `None` if it is null.
fn text(column: &ArrayRef, row: usize) -> Result<Option<String>, Failure> {
    if column
        .logical_nulls()
        .is_some_and(|nulls| nulls.is_null(row))
    {
        return Ok(None);
    }
    let options = FormatOptions::new().with_display_error(false);
    let formatter = ArrayFormatter::try_new(column, &options)?;
    Ok(Some(formatter.value(row).try_to_string()?))
}
