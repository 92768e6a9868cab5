//! Parquet files, with what `parquet` leaves out of them: metadata of the table, instants that
//! nanoseconds cannot hold, months of intervals, and units that only the Arrow schema names.

use super::parquet_batches;
use super::source::{Batches, Input, Total};
use crate::failure::Failure;
use crate::leaves::{any_array, cast_batch, change_leaves};
use crate::output::parquet_leaf;
use arrow_array::cast::AsArray;
use arrow_array::types::{IntervalDayTimeType, IntervalYearMonthType};
use arrow_array::{Array, ArrayRef, IntervalMonthDayNanoArray, RecordBatch};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, IntervalUnit, Schema, SchemaRef, TimeUnit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ProjectionMask};
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::file::metadata::ParquetMetaData;
use std::fs::File;
use std::sync::Arc;

/// Opens a file, of which only these columns are wanted, or all.
pub(super) fn open(file: File, columns: &[String]) -> Result<Input, Failure> {
    let read = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
    let parquet = Parquet {
        file,
        metadata: read.metadata().clone(),
        mask: mask(&read, columns),
    };
    let rows = parquet.rows()?;
    let mut schema = read.schema().clone();
    if let Some(coarse) = parquet.instants(&schema)? {
        schema = coarse;
    }
    let (schema, batches) = match parquet.intervals(&schema)? {
        Some((months, days)) => parquet.whole_intervals(&months, &days)?,
        None => parquet.read(&schema, parquet.mask.clone())?,
    };
    let (schema, batches) = original_units(&schema, batches, arrow_schema(&parquet.metadata))?;
    Ok(Input {
        schema,
        total: Total::Rows(rows),
        batches,
    })
}

/// The columns of these names. With an unknown name all of them, for the error that lists them.
fn mask(read: &ArrowReaderMetadata, columns: &[String]) -> ProjectionMask {
    let fields = read.schema().fields();
    let index = |name: &String| fields.iter().position(|field| field.name() == name);
    let wanted: Option<Vec<usize>> = columns.iter().map(index).collect();
    match wanted {
        Some(wanted) if !wanted.is_empty() => ProjectionMask::roots(read.parquet_schema(), wanted),
        _ => ProjectionMask::all(),
    }
}

struct Parquet {
    file: File,
    metadata: Arc<ParquetMetaData>,
    mask: ProjectionMask,
}

impl Parquet {
    /// Number of rows.
    fn rows(&self) -> Result<u64, Failure> {
        let groups = self.metadata.row_groups().iter();
        let stored: i64 = groups.map(|group| group.num_rows()).sum();
        let said = self.metadata.file_metadata().num_rows();
        match u64::try_from(said) {
            Ok(rows) if said == stored => Ok(rows),
            _ => Err(Failure::new(format!(
                "the footer says {said} rows, but the row groups have {stored}"
            ))),
        }
    }

    /// The columns of the mask, in the types of a schema of all columns, and what they are called.
    fn read(
        &self,
        schema: &SchemaRef,
        mask: ProjectionMask,
    ) -> Result<(SchemaRef, Batches), Failure> {
        let options = ArrowReaderOptions::new().with_schema(schema.clone());
        let read = ArrowReaderMetadata::try_new(self.metadata.clone(), options)?;
        let mut batches = parquet_batches::Batches::open(self.file.try_clone()?, read, mask)?;
        // The reader forgets the metadata of the table.
        let projected = Schema::new_with_metadata(
            arrow_array::RecordBatchReader::schema(&batches.reader)
                .fields()
                .clone(),
            schema.metadata().clone(),
        );
        let projected = Arc::new(projected);
        let schema = projected.clone();
        let batches = std::iter::from_fn(move || batches.next().transpose());
        let batches = batches.map(move |batch| Ok(batch?.with_schema(projected.clone())?));
        Ok((schema, Box::new(batches)))
    }

    /// The leaves of the wanted columns that `is` picks, and the schema with other types for them.
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

    /// Whether any array of these leaves passes the test; reads them all.
    fn any(
        &self,
        schema: &SchemaRef,
        leaves: &[usize],
        test: &dyn Fn(&ArrayData) -> bool,
    ) -> Result<bool, Failure> {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::leaves(descriptor, leaves.iter().copied());
        for batch in self.read(schema, mask)?.1 {
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

    /// The schema with microseconds for INT96, if it holds instants that 64 bits of nanoseconds do
    /// not: those before 1677 and after 2262. Nothing but the values tells.
    fn instants(&self, schema: &Schema) -> Result<Option<SchemaRef>, Failure> {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let is_int96 = |leaf: usize| descriptor.column(leaf).physical_type() == PhysicalType::INT96;
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let (leaves, coarse) = self.leaves(schema, is_int96, &micros);
        let too_large = |data: &ArrayData| {
            const MOST: u64 = i64::MAX as u64 / 1000;
            *data.data_type() == micros
                && data.buffer::<i64>(0)[..data.len()]
                    .iter()
                    .any(|micros| micros.unsigned_abs() > MOST)
        };
        let beyond = !leaves.is_empty() && self.any(&coarse, &leaves, &too_large)?;
        Ok(beyond.then_some(coarse))
    }

    /// If there are intervals with months, or with more milliseconds than its 32 bits with a sign hold:
    /// the schema with intervals of months, and the one with those of days and milliseconds. `parquet`
    /// reads one or the other.
    fn intervals(&self, schema: &Schema) -> Result<Option<(SchemaRef, SchemaRef)>, Failure> {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let is_interval =
            |leaf: usize| descriptor.column(leaf).converted_type() == ConvertedType::INTERVAL;
        let interval = DataType::Interval;
        let (leaves, months) = self.leaves(schema, is_interval, &interval(IntervalUnit::YearMonth));
        let (_, days) = self.leaves(schema, is_interval, &interval(IntervalUnit::DayTime));
        // Whoever wrote an Arrow schema has put everything in the part that it names.
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

    /// The batches with intervals of months, days and nanoseconds.
    fn whole_intervals(
        &self,
        months: &SchemaRef,
        days: &SchemaRef,
    ) -> Result<(SchemaRef, Batches), Failure> {
        let whole = DataType::Interval(IntervalUnit::MonthDayNano);
        let is_months = |ty: &DataType| *ty == DataType::Interval(IntervalUnit::YearMonth);
        let (projected, months) = self.read(months, self.mask.clone())?;
        for field in projected.fields() {
            let mut nested = false;
            let one = Schema::new(vec![field.clone()]);
            change_leaves(&one, &mut |leaf| {
                nested |= is_months(leaf) && !is_months(field.data_type());
                None
            });
            if nested {
                return Err(Failure::new(format!(
                    "column `{}` has intervals of months or many days below {}, which are read in \
                     columns of their own only; choose other columns with --columns",
                    field.name(),
                    field.data_type()
                )));
            }
        }
        let schema = change_leaves(&projected, &mut |leaf| {
            is_months(leaf).then(|| whole.clone())
        });
        let (_, days) = self.read(days, self.mask.clone())?;
        let joined = schema.clone();
        let batches = months.zip(days).map(move |(months, days)| {
            let (months, days) = (months?, days?);
            let columns = months.columns().iter().zip(days.columns());
            let columns = columns.map(|(months, days)| match is_months(months.data_type()) {
                true => whole_interval(months, days),
                false => months.clone(),
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
        // None of the three has a sign in Parquet.
        let milliseconds = i64::from(milliseconds.cast_unsigned());
        IntervalMonthDayNano::new(months, days, milliseconds * 1_000_000)
    });
    Arc::new(IntervalMonthDayNanoArray::new(whole.collect(), nulls))
}

/// The Arrow schema that the writer left in the file.
fn arrow_schema(metadata: &ParquetMetaData) -> Option<Schema> {
    let properties = metadata.file_metadata().key_value_metadata()?;
    let encoded = properties
        .iter()
        .find(|pair| pair.key == ARROW_SCHEMA_META_KEY)?;
    let message = BASE64_STANDARD.decode(encoded.value.as_ref()?).ok()?;
    arrow_ipc::convert::try_schema_from_ipc_buffer(&message).ok()
}

/// As what `parquet` reads the leaves that are stored in other units.
fn stored_leaf(leaf: &DataType) -> Option<DataType> {
    match parquet_leaf(leaf)? {
        DataType::Timestamp(unit, Some(_)) => Some(DataType::Timestamp(unit, Some("UTC".into()))),
        other => Some(other),
    }
}

/// Times in the units that they had in Arrow: Parquet knows no seconds.
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
        let stored = change_leaves(&one, &mut stored_leaf);
        let stored = stored.field(0).data_type();
        // The reader knows no dictionary of a time that is stored in another unit.
        let is_plain = match stored {
            DataType::Dictionary(_, values) => values.as_ref() == field.data_type(),
            _ => false,
        };
        // Whatever else is different, the reader has its reasons.
        match is_plain || stored == field.data_type() {
            true => Arc::new(
                field
                    .as_ref()
                    .clone()
                    .with_data_type(wanted.data_type().clone()),
            ),
            false => field.clone(),
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
