//! Files in a folder for each combination of values, as in `year=2024/month=5/part-00001.parquet`.

use super::sort::{Order, Sorter};
use super::writing::{Target, Writing, complete_before};
use crate::allocator;
use crate::failure::Failure;
use crate::input::{folder_name, indices};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::take::take_record_batch;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum number of files that are written at the same time. Each holds rows in memory until they are encoded.
const MAX_OPEN: usize = 8;
/// Number of rows after which a file that none of them belongs to makes room for another one.
const IDLE_ROWS: u64 = 1 << 16;

/// Bytes of rows that are sorted in memory: the open files take memory, too.
const SORT_MEMORY: usize = 48 << 20;

/// Writes rows to files in folders that are named by values. If rows of more folders than [`MAX_OPEN`] take turns, those
/// of the others are sorted by their folders, in temporary files, and written at the end.
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
    /// Number of rows so far.
    rows: u64,
    /// The rows that are written at the end.
    late: Option<Sorter>,
    /// The order and the columns of these rows.
    order: Order,
    all: SchemaRef,
}

/// The files of a combination of values.
struct Partition {
    folder: PathBuf,
    /// Number of complete files.
    files: u64,
    open: Option<Writing>,
    /// Number of rows before the last batch that had some of it.
    used: u64,
    /// Whether there are late rows of it.
    is_late: bool,
}

/// The rows of a batch that belong to a partition.
type Part = (usize, Vec<u32>);

impl Partitions {
    /// Fails if a column does not exist, or if its values cannot be names of folders.
    pub(super) fn start(
        target: Target,
        schema: &SchemaRef,
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
            order: Order::ascending(schema, &columns)?,
            all: schema.clone(),
            target,
            kept,
            columns,
            names: names.to_vec(),
            keys: RowConverter::new(fields)?,
            known: HashMap::new(),
            partitions: Vec::new(),
            rows: 0,
            late: None,
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
        let mut late = Vec::new();
        for (partition, rows) in self.parts(batch)? {
            if self.opens(partition)? {
                self.write_part(partition, batch, rows)?;
            } else {
                late.extend(rows);
            }
        }
        self.rows += batch.num_rows() as u64;
        if late.is_empty() {
            return Ok(());
        }
        let late = take_record_batch(batch, &UInt32Array::from(late))?;
        let sorter = self.late.get_or_insert_with(|| {
            // Many files will be written one after the other.
            allocator::return_free_pages();
            let threads = self.target.sort_threads;
            Sorter::new(
                self.all.clone(),
                self.order.clone(),
                Some(SORT_MEMORY),
                threads,
            )
        });
        sorter.add(&late)
    }

    /// Splits the rows of a batch by their partitions.
    fn parts(&mut self, batch: &RecordBatch) -> Result<Vec<Part>, Failure> {
        let columns = self.columns.iter();
        let columns: Vec<ArrayRef> = columns.map(|&it| batch.column(it).clone()).collect();
        let keys = self.keys.convert_columns(&columns)?;
        let mut parts: Vec<Part> = Vec::new();
        let mut places = HashMap::new();
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
            let place = *places.entry(partition).or_insert(parts.len());
            match parts.get_mut(place) {
                Some((_, rows)) => rows.push(row),
                None => parts.push((partition, vec![row])),
            }
        }
        Ok(parts)
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
            is_late: false,
        })
    }

    /// Whether rows of a partition can be written now. If too many files are open, completes one that is idle.
    fn opens(&mut self, partition: usize) -> Result<bool, Failure> {
        let is_open = |it: &Partition| it.open.is_some();
        let of = self.partitions.get(partition);
        if of.is_some_and(is_open) {
            return Ok(true);
        }
        if of.is_some_and(|it| it.is_late) {
            return Ok(false);
        }
        if self.partitions.iter().filter(|it| is_open(it)).count() < MAX_OPEN {
            return Ok(true);
        }
        let open = self.partitions.iter_mut().filter(|it| is_open(it));
        match open.min_by_key(|it| it.used) {
            Some(idle) if self.rows - idle.used >= IDLE_ROWS => {
                idle.complete()?;
                Ok(true)
            }
            _ => {
                let partition = self.partitions.get_mut(partition);
                partition.into_iter().for_each(|it| it.is_late = true);
                Ok(false)
            }
        }
    }

    /// Appends rows of a batch to the file of their partition.
    fn write_part(
        &mut self,
        partition: usize,
        batch: &RecordBatch,
        rows: Vec<u32>,
    ) -> Result<(), Failure> {
        let rows = take_record_batch(&batch.project(&self.kept)?, &UInt32Array::from(rows))?;
        let Some(partition) = self.partitions.get_mut(partition) else {
            return Ok(());
        };
        partition.used = self.rows;
        let writing = match &mut partition.open {
            Some(writing) => writing,
            closed => {
                let target = self.target.within(&partition.folder)?;
                let first = partition.files + 1;
                closed.insert(Writing::start(target, first, self.schema.clone())?)
            }
        };
        writing.write(&rows)
    }

    /// Completes all files. Returns their number.
    pub(super) fn finish(mut self) -> Result<u64, Failure> {
        self.complete_all()?;
        if let Some(late) = self.late.take() {
            let mut current = None;
            for batch in late.finish()?.batches {
                let batch = batch?;
                for (partition, rows) in self.parts(&batch)? {
                    // The rows of a partition follow each other.
                    let before = current.replace(partition).filter(|it| *it != partition);
                    if let Some(before) = before.and_then(|it| self.partitions.get_mut(it)) {
                        before.complete()?;
                    }
                    self.write_part(partition, &batch, rows)?;
                }
            }
            self.complete_all()?;
        }
        Ok(self.partitions.iter().map(|it| it.files).sum())
    }

    fn complete_all(&mut self) -> Result<(), Failure> {
        self.partitions.iter_mut().try_for_each(Partition::complete)
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
