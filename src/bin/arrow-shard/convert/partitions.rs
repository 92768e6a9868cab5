//! Files in a folder for each combination of values, as in `year=2024/month=5/part-00001.parquet`.

use super::sort::{Order, Sorter};
use super::writing::{Target, Writing};
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

/// The columns with values that name folders.
#[derive(Debug, Default)]
pub(super) struct PartitionBy {
    /// The names of the columns.
    pub(super) columns: Vec<String>,
    /// Whether the rows of each folder follow each other.
    pub(super) is_grouped: bool,
    /// Number of threads that sort rows by their folders.
    pub(super) threads: usize,
}

/// Writes rows to files in folders that are named by values. If rows of more folders than [`MAX_OPEN`] take turns, the
/// rows of the other folders are sorted by their folders, in temporary files, and written at the end.
pub(super) struct Partitions {
    target: Target,
    /// The columns of the files.
    schema: SchemaRef,
    kept: Vec<usize>,
    /// The columns with values that name folders.
    columns: Vec<usize>,
    names: Vec<String>,
    is_grouped: bool,
    keys: RowConverter,
    /// The partitions of combinations of values, and of folders: several combinations may have one name.
    known: HashMap<Box<[u8]>, usize>,
    folders: HashMap<PathBuf, usize>,
    partitions: Vec<Partition>,
    /// The partitions with open files.
    open: Vec<usize>,
    /// Number of rows so far.
    rows: u64,
    /// The rows that are written at the end; `None` once they are.
    late: Option<Sorter>,
}

/// The files of a folder.
struct Partition {
    folder: PathBuf,
    /// Number of complete files.
    files: u64,
    open: Option<Writing>,
    /// Number of rows before the last batch that had some of it.
    used: u64,
    /// Whether its rows are written at the end.
    is_late: bool,
}

/// The rows of a batch that belong to a partition.
type Part = (usize, Vec<u32>);

impl Partitions {
    /// Fails if a column does not exist, or if its values cannot be names of folders.
    pub(super) fn start(
        target: Target,
        schema: &SchemaRef,
        by: &PartitionBy,
    ) -> Result<Self, Failure> {
        let columns = indices(schema, &by.columns).map_err(|e| e.within("--partition-by"))?;
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
        let order = Order::ascending(schema, &columns)?;
        Ok(Self {
            schema: Arc::new(schema.project(&kept)?),
            target,
            kept,
            columns,
            names: by.columns.clone(),
            is_grouped: by.is_grouped,
            keys: RowConverter::new(fields)?,
            known: HashMap::new(),
            folders: HashMap::new(),
            partitions: Vec::new(),
            open: Vec::new(),
            rows: 0,
            late: Some(Sorter::new(
                schema.clone(),
                order,
                Some(SORT_MEMORY),
                by.threads,
            )),
        })
    }

    /// Returns the number of complete files.
    pub(super) fn complete(&self) -> u64 {
        self.partitions.iter().map(Partition::complete_files).sum()
    }

    /// Returns the columns of the files.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Appends the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let parts = self.parts(batch)?;
        let kept = batch.project(&self.kept)?;
        for (partition, _) in &parts {
            self.partitions[*partition].used = self.rows;
        }
        let mut late = Vec::new();
        for (partition, rows) in parts {
            if self.opens(partition)? {
                self.write_part(partition, &kept, rows)?;
            } else {
                late.extend(rows);
            }
        }
        self.rows += batch.num_rows() as u64;
        if late.is_empty() {
            return Ok(());
        }
        let late = take_record_batch(batch, &UInt32Array::from(late))?;
        match &mut self.late {
            Some(sorter) => sorter.add(&late),
            None => Err(Failure::new("rows come after the end")),
        }
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
                    let partition = self.partition(&columns, row)?;
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
    fn partition(&mut self, columns: &[ArrayRef], row: u32) -> Result<usize, Failure> {
        let mut folder = PathBuf::new();
        for (name, column) in self.names.iter().zip(columns) {
            let value = text(column, row as usize)?;
            let name = folder_name(name, value.as_deref());
            folder.push(name.map_err(|e| e.within("--partition-by"))?);
        }
        if let Some(partition) = self.folders.get(&folder) {
            return Ok(*partition);
        }
        self.folders.insert(folder.clone(), self.partitions.len());
        self.partitions.push(Partition {
            folder,
            files: 0,
            open: None,
            used: self.rows,
            is_late: false,
        });
        Ok(self.partitions.len() - 1)
    }

    /// Whether rows of a partition are written now. If too many files are open, completes one that is idle.
    fn opens(&mut self, partition: usize) -> Result<bool, Failure> {
        let of = &mut self.partitions[partition];
        if of.open.is_some() {
            return Ok(true);
        }
        if self.is_grouped {
            self.complete_open()?;
            return Ok(true);
        }
        // A folder with a complete file gets one more at the end, for all its later rows.
        of.is_late |= of.files > 0;
        if of.is_late {
            return Ok(false);
        }
        if self.open.len() < MAX_OPEN {
            return Ok(true);
        }
        let places = 0..self.open.len();
        let idle = places.min_by_key(|place| self.partitions[self.open[*place]].used);
        let is_idle = |place: &usize| {
            let used = self.partitions[self.open[*place]].used;
            self.rows - used >= IDLE_ROWS
        };
        let Some(place) = idle.filter(is_idle) else {
            self.partitions[partition].is_late = true;
            return Ok(false);
        };
        let idle = self.open.swap_remove(place);
        self.partitions[idle].complete()?;
        Ok(true)
    }

    /// Appends rows of a batch, which has the columns of the files, to the file of their partition.
    fn write_part(
        &mut self,
        partition: usize,
        kept: &RecordBatch,
        rows: Vec<u32>,
    ) -> Result<(), Failure> {
        let rows = take_record_batch(kept, &UInt32Array::from(rows))?;
        let of = &mut self.partitions[partition];
        let writing = match &mut of.open {
            Some(writing) => writing,
            closed => {
                let target = self.target.within(&of.folder)?;
                let writing = Writing::start(target, of.files + 1, self.schema.clone())?;
                self.open.push(partition);
                closed.insert(writing)
            }
        };
        writing.write(&rows)
    }

    /// Completes all files. Shows the progress of late rows unless `quiet`.
    pub(super) fn finish(&mut self, quiet: bool) -> Result<(), Failure> {
        self.complete_open()?;
        let Some(late) = self.late.take().filter(|it| !it.is_empty()) else {
            return Ok(());
        };
        for batch in late.finish()?.with_progress(quiet).batches {
            let batch = batch?;
            let kept = batch.project(&self.kept)?;
            for (partition, rows) in self.parts(&batch)? {
                // The rows of a partition follow each other, unless several combinations of values name its folder.
                if self.partitions[partition].open.is_none() {
                    self.complete_open()?;
                }
                self.write_part(partition, &kept, rows)?;
            }
        }
        self.complete_open()
    }

    fn complete_open(&mut self) -> Result<(), Failure> {
        for partition in std::mem::take(&mut self.open) {
            self.partitions[partition].complete()?;
        }
        Ok(())
    }
}

impl Partition {
    /// Completes the open file, if there is one.
    fn complete(&mut self) -> Result<(), Failure> {
        self.files = self.complete_files();
        if let Some(writing) = self.open.take() {
            self.files = writing.finish()?;
        }
        Ok(())
    }

    fn complete_files(&self) -> u64 {
        self.open.as_ref().map_or(self.files, Writing::complete)
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
