//! Parquet files, with data that the crate `parquet` drops: metadata of the table, instants out of the range of
//! nanoseconds, months of intervals, and units that only the Arrow schema contains.

use super::columns::Needed;
use super::parquet_batches::ParquetBatches;
use super::source::{Batches, Input};
use crate::failure::Failure;
use crate::leaves::{any_array, cast_batch, change_leaves};
use crate::output::parquet_leaf;
use crate::progress::Total;
use arrow_array::cast::AsArray;
use arrow_array::types::{IntervalDayTimeType, IntervalYearMonthType};
use arrow_array::{Array, ArrayRef, IntervalMonthDayNanoArray, RecordBatch};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, IntervalUnit, Schema, SchemaRef, TimeUnit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ProjectionMask};
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::file::metadata::ParquetMetaData;
use std::fs::File;
use std::sync::Arc;

/// Opens a file, with the needed columns, and with the rows of these ascending numbers or all rows.
pub(super) fn open(file: File, needed: Needed<'_>, rows: Option<&[u64]>) -> Result<Input, Failure> {
    let read = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
    let num_rows = num_rows(read.metadata())?;
    let parquet = Parquet {
        file,
        metadata: read.metadata().clone(),
        mask: mask(&read, needed),
        selection: rows.map(|rows| selection(rows, num_rows)),
    };
    let mut schema = read.schema().clone();
    if let Some(coarse) = parquet.instants(&schema)? {
        schema = coarse;
    }
    let (schema, batches) = match parquet.intervals(&schema)? {
        Some((months, days)) => parquet.whole_intervals(&months, &days)?,
        None => parquet.read_selected(&schema)?,
    };
    let (schema, batches) = original_units(&schema, batches, arrow_schema(&parquet.metadata))?;
    Ok(Input {
        schema,
        total: Total::Rows(rows.map_or(num_rows, |rows| rows.len() as u64)),
        batches,
    })
}

/// Returns the number of rows.
pub(super) fn num_rows(metadata: &ParquetMetaData) -> Result<u64, Failure> {
    let groups = metadata.row_groups().iter();
    let stored: i64 = groups.map(|group| group.num_rows()).sum();
    let said = metadata.file_metadata().num_rows();
    match u64::try_from(said) {
        Ok(rows) if said == stored => Ok(rows),
        _ => Err(Failure::new(format!(
            "the footer declares {said} rows, but the row groups have {stored}"
        ))),
    }
}

/// Returns the selection of the rows with these ascending numbers.
fn selection(rows: &[u64], num_rows: u64) -> RowSelection {
    let position = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
    let chosen = rows.iter().filter(|row| **row < num_rows);
    let ranges = chosen.map(|row| position(*row)..position(row + 1));
    RowSelection::from_consecutive_ranges(ranges, position(num_rows))
}

/// Returns the mask of the needed columns.
fn mask(read: &ArrowReaderMetadata, needed: Needed<'_>) -> ProjectionMask {
    match needed.of(read.schema()) {
        Some(wanted) => ProjectionMask::roots(read.parquet_schema(), wanted),
        None => ProjectionMask::all(),
    }
}

struct Parquet {
    file: File,
    metadata: Arc<ParquetMetaData>,
    mask: ProjectionMask,
    selection: Option<RowSelection>,
}

impl Parquet {
    /// Reads the selected rows in the types of a schema of all columns. Returns the schema of the result.
    fn read_selected(&self, schema: &SchemaRef) -> Result<(SchemaRef, Batches), Failure> {
        self.read(schema, self.mask.clone(), self.selection.clone())
    }

    /// Reads the columns of the mask in the types of a schema of all columns. Returns the schema of the result.
    fn read(
        &self,
        schema: &SchemaRef,
        mask: ProjectionMask,
        selection: Option<RowSelection>,
    ) -> Result<(SchemaRef, Batches), Failure> {
        let options = ArrowReaderOptions::new().with_schema(schema.clone());
        let read = ArrowReaderMetadata::try_new(self.metadata.clone(), options)?;
        let mut stored = ParquetBatches::open(self.file.try_clone()?, read, mask, selection)?;
        // The reader drops the metadata of the table.
        let projected = Arc::new(Schema::new_with_metadata(
            arrow_array::RecordBatchReader::schema(&stored.reader)
                .fields()
                .clone(),
            schema.metadata().clone(),
        ));
        let schema = projected.clone();
        let batches = std::iter::from_fn(move || stored.next().transpose())
            .map(move |batch| Ok(batch?.with_schema(projected.clone())?));
        Ok((schema, Box::new(batches)))
    }

    /// Returns the selected leaves that `is` accepts, and the schema with another type for them.
    fn leaves(
        &self,
        schema: &Schema,
        is: impl Fn(usize) -> bool,
        instead: &DataType,
    ) -> (Vec<usize>, SchemaRef) {
        let (mut at, mut picked) = (0, Vec::new());
        let changed = change_leaves(schema, &mut |_| {
            let leaf = at;
            at += 1;
            (self.mask.leaf_included(leaf) && is(leaf)).then(|| {
                picked.push(leaf);
                instead.clone()
            })
        });
        (picked, changed)
    }

    /// Whether any array of these leaves passes the test. Reads all of them.
    fn any(
        &self,
        schema: &SchemaRef,
        leaves: &[usize],
        test: &dyn Fn(&ArrayData) -> bool,
    ) -> Result<bool, Failure> {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::leaves(descriptor, leaves.iter().copied());
        // All rows are read, so that the types do not depend on the selection.
        for batch in self.read(schema, mask, None)?.1 {
            let batch = batch?;
            if batch
                .columns()
                .iter()
                .any(|column| any_array(&column.to_data(), test))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the schema with microseconds for INT96, if a value is out of the range of nanoseconds, which are the
    /// years 1677 to 2262. This has to read the values, because the metadata do not show it.
    fn instants(&self, schema: &Schema) -> Result<Option<SchemaRef>, Failure> {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let is_int96 = |leaf: usize| descriptor.column(leaf).physical_type() == PhysicalType::INT96;
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let (leaves, coarse) = self.leaves(schema, is_int96, &micros);
        let too_large = |data: &ArrayData| {
            const MAX_MICROS: u64 = i64::MAX as u64 / 1000;
            *data.data_type() == micros
                && data.buffer::<i64>(0)[..data.len()]
                    .iter()
                    .any(|micros| micros.unsigned_abs() > MAX_MICROS)
        };
        let beyond = !leaves.is_empty() && self.any(&coarse, &leaves, &too_large)?;
        Ok(beyond.then_some(coarse))
    }

    /// Returns two schemas if an interval has months, or more milliseconds than a signed 32-bit integer holds: one with
    /// intervals of months, and one with intervals of days and milliseconds. The crate `parquet` reads only one of the
    /// two kinds at a time.
    fn intervals(&self, schema: &Schema) -> Result<Option<(SchemaRef, SchemaRef)>, Failure> {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let is_interval =
            |leaf: usize| descriptor.column(leaf).converted_type() == ConvertedType::INTERVAL;
        let interval = DataType::Interval;
        let (leaves, months) = self.leaves(schema, is_interval, &interval(IntervalUnit::YearMonth));
        let (_, days) = self.leaves(schema, is_interval, &interval(IntervalUnit::DayTime));
        // A writer that stored an Arrow schema used only the parts of the interval type in that schema.
        if leaves.is_empty() || arrow_schema(&self.metadata).is_some() {
            return Ok(None);
        }
        let has_months = |data: &ArrayData| {
            *data.data_type() == interval(IntervalUnit::YearMonth)
                && data.buffer::<i32>(0)[..data.len()]
                    .iter()
                    .any(|&months| months != 0)
        };
        let is_long = |data: &ArrayData| {
            *data.data_type() == interval(IntervalUnit::DayTime)
                && data.buffer::<IntervalDayTime>(0)[..data.len()]
                    .iter()
                    .any(|interval| interval.milliseconds < 0)
        };
        let any = self.any(&months, &leaves, &has_months)? || self.any(&days, &leaves, &is_long)?;
        Ok(any.then_some((months, days)))
    }

    /// Returns batches with intervals of months, days and nanoseconds.
    fn whole_intervals(
        &self,
        months: &SchemaRef,
        days: &SchemaRef,
    ) -> Result<(SchemaRef, Batches), Failure> {
        let whole = DataType::Interval(IntervalUnit::MonthDayNano);
        let is_months = |ty: &DataType| *ty == DataType::Interval(IntervalUnit::YearMonth);
        let (projected, months) = self.read_selected(months)?;
        for field in projected.fields() {
            let mut nested = false;
            let one = Schema::new(vec![field.clone()]);
            change_leaves(&one, &mut |leaf| {
                nested |= is_months(leaf) && !is_months(field.data_type());
                None
            });
            if nested {
                return Err(Failure::new(format!(
                    "column `{}` is {} with intervals of months or many days, which are supported only if \
                     they are not nested; choose other columns with --columns",
                    field.name(),
                    field.data_type()
                )));
            }
        }
        let schema = change_leaves(&projected, &mut |leaf| {
            is_months(leaf).then(|| whole.clone())
        });
        let (_, days) = self.read_selected(days)?;
        let joined = schema.clone();
        let batches = months.zip(days).map(move |(months, days)| {
            let (months, days) = (months?, days?);
            let pairs = months.columns().iter().zip(days.columns());
            let columns = pairs.map(|(months, days)| {
                if is_months(months.data_type()) {
                    whole_interval(months, days)
                } else {
                    months.clone()
                }
            });
            Ok(RecordBatch::try_new(joined.clone(), columns.collect())?)
        });
        Ok((schema, Box::new(batches)))
    }
}

fn whole_interval(months: &ArrayRef, days: &ArrayRef) -> ArrayRef {
    let nulls: Option<NullBuffer> = months.nulls().cloned();
    let months = months.as_primitive::<IntervalYearMonthType>().values();
    let days = days.as_primitive::<IntervalDayTimeType>().values();
    let whole = months.iter().zip(days.iter()).map(|(&months, &days)| {
        let IntervalDayTime { days, milliseconds } = days;
        // All three parts are unsigned in Parquet.
        let milliseconds = i64::from(milliseconds.cast_unsigned());
        IntervalMonthDayNano::new(months, days, milliseconds * 1_000_000)
    });
    Arc::new(IntervalMonthDayNanoArray::new(whole.collect(), nulls))
}

/// Returns the Arrow schema that the writer stored in the file.
fn arrow_schema(metadata: &ParquetMetaData) -> Option<Schema> {
    let properties = metadata.file_metadata().key_value_metadata()?;
    let encoded = properties
        .iter()
        .find(|pair| pair.key == ARROW_SCHEMA_META_KEY)?;
    let message = BASE64_STANDARD.decode(encoded.value.as_ref()?).ok()?;
    arrow_ipc::convert::try_schema_from_ipc_buffer(&message).ok()
}

/// Returns the type in which the crate `parquet` reads a leaf that is stored in another unit.
fn stored_leaf(leaf: &DataType) -> Option<DataType> {
    match parquet_leaf(leaf)? {
        DataType::Timestamp(unit, Some(_)) => Some(DataType::Timestamp(unit, Some("UTC".into()))),
        other => Some(other),
    }
}

/// Restores the units of times in the original Arrow schema: Parquet has no seconds.
fn original_units(
    schema: &SchemaRef,
    batches: Batches,
    original: Option<Schema>,
) -> Result<(SchemaRef, Batches), Failure> {
    let Some(original) = original else {
        return Ok((schema.clone(), batches));
    };
    let fields = schema.fields().iter().map(|field| {
        let Ok(wanted) = original.field_with_name(field.name()) else {
            return field.clone();
        };
        let one = Schema::new(vec![wanted.clone()]);
        let changed = change_leaves(&one, &mut stored_leaf);
        let stored = changed.field(0).data_type();
        // The reader returns plain values for a dictionary of times that are stored in another unit.
        let is_plain = match stored {
            DataType::Dictionary(_, values) => values.as_ref() == field.data_type(),
            _ => false,
        };
        // Other differences are conversions that the reader made deliberately.
        if is_plain || stored == field.data_type() {
            Arc::new(
                field
                    .as_ref()
                    .clone()
                    .with_data_type(wanted.data_type().clone()),
            )
        } else {
            field.clone()
        }
    });
    let fields: Vec<_> = fields.collect();
    let wanted = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    if wanted == *schema {
        return Ok((wanted, batches));
    }
    let target = wanted.clone();
    let batches = batches.map(move |batch| cast_batch(&batch?, &target));
    Ok((wanted, Box::new(batches)))
}
