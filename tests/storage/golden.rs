//! Shards of the reference implementation are read back as their source data, except for the changes of its type
//! mapping (docs/format.md): every string and list is large, every field nullable, instants are ticks of 100 ns,
//! decimals have 34 digits.

use crate::common::equal::{rows_equal, values_equal};
use crate::common::schemas::any_type;
use crate::support::shared;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal256Type, Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Decimal256Array, DurationMicrosecondArray, RecordBatch,
    TimestampMicrosecondArray,
};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow_shard::metadata::Wire;
use arrow_shard::read::{Projection, ShardOptions};
use arrow_shard::{ErrorKind, Shard};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the source data of a shard.
fn source(name: &str) -> Option<RecordBatch> {
    let path = shared("golden/in")?.join(format!("{name}.arrow"));
    let reader = arrow_ipc::reader::FileReader::try_new(File::open(path).unwrap(), None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    if schema.fields().is_empty() {
        return Some(RecordBatch::new_empty(schema));
    }
    Some(arrow_select::concat::concat_batches(&schema, &batches).unwrap())
}

fn has_label(field: &Field) -> bool {
    field.extension_type_name().is_some()
}

fn is_labeled(field: &Field, label: &str) -> bool {
    field.extension_type_name() == Some(label)
}

/// Returns the requested type of a column, and the expected values.
fn wanted(field: &Field, values: &ArrayRef) -> (DataType, ArrayRef) {
    let cast = |to: DataType| {
        let values = arrow_cast::cast(values, &to).unwrap();
        (to, values)
    };
    match field.data_type() {
        _ if is_labeled(field, "arrow.json") => cast(DataType::Utf8),
        DataType::UInt64 if is_labeled(field, "KustoDateTime") => from_ticks(values),
        DataType::Int64 if is_labeled(field, "KustoTimeSpan") => from_spans(values),
        DataType::Decimal256(_, _) => (field.data_type().clone(), rounded(values)),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            let cut = values
                .as_primitive::<TimestampNanosecondType>()
                .unary(|ns| ns / 100 * 100);
            let cut: arrow_array::TimestampNanosecondArray = cut;
            let cut = cut.with_timezone_opt(zone.clone());
            (field.data_type().clone(), Arc::new(cut))
        }
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => {
            cast(field.data_type().clone())
        }
        other => (nullable(other), values.clone()),
    }
}

/// Converts ticks of 100 ns since the year 1 to microseconds.
fn from_ticks(values: &ArrayRef) -> (DataType, ArrayRef) {
    const EPOCH: i64 = 621_355_968_000_000_000;
    let micros = |ticks: u64| (i64::try_from(ticks).unwrap() - EPOCH) / 10;
    let ticks = values.as_primitive::<UInt64Type>();
    let micros: TimestampMicrosecondArray = ticks.iter().map(|ticks| ticks.map(micros)).collect();
    let micros = micros.with_timezone("UTC");
    (micros.data_type().clone(), Arc::new(micros))
}

/// Converts ticks of 100 ns to durations.
fn from_spans(values: &ArrayRef) -> (DataType, ArrayRef) {
    let ticks = values.as_primitive::<Int64Type>();
    let micros: DurationMicrosecondArray = ticks.unary(|ticks| ticks / 10);
    (micros.data_type().clone(), Arc::new(micros))
}

/// Rounds decimals half to even to the 34 digits of the reference.
fn rounded(values: &ArrayRef) -> ArrayRef {
    let limit = i256::from_i128(10i128.pow(34));
    let round = |value: i256| {
        let mut unit = i256::ONE;
        while value.wrapping_div(unit).wrapping_abs() >= limit {
            unit = unit.wrapping_mul(i256::from_i128(10));
        }
        let (down, rest) = (value.wrapping_div(unit), value.wrapping_rem(unit));
        let twice = rest.wrapping_mul(i256::from_i128(2)).wrapping_abs();
        let is_odd = down.wrapping_rem(i256::from_i128(2)) != i256::ZERO;
        let up = twice > unit || (twice == unit && is_odd);
        let step = if up { value.signum() } else { i256::ZERO };
        down.wrapping_add(step).wrapping_mul(unit)
    };
    let decimals = values.as_primitive::<Decimal256Type>();
    let rounded: Decimal256Array = decimals.unary(round);
    Arc::new(rounded.with_data_type(values.data_type().clone()))
}

/// Returns the type with all fields inside of it nullable, except for keys of maps.
fn nullable(data_type: &DataType) -> DataType {
    let child = |field: &FieldRef| -> FieldRef {
        let data_type = nullable(field.data_type());
        Arc::new(
            field
                .as_ref()
                .clone()
                .with_data_type(data_type)
                .with_nullable(true),
        )
    };
    match data_type {
        DataType::List(item) => DataType::List(child(item)),
        DataType::LargeList(item) => DataType::LargeList(child(item)),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(child(item), *n),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect()),
        DataType::Map(entries, sorted) => {
            let DataType::Struct(fields) = entries.data_type() else {
                panic!("entries of a map are a struct");
            };
            let key = fields[0]
                .as_ref()
                .clone()
                .with_data_type(nullable(fields[0].data_type()));
            let fields = vec![Arc::new(key), child(&fields[1])];
            let entries = Field::new(entries.name(), DataType::Struct(fields.into()), false);
            DataType::Map(Arc::new(entries), *sorted)
        }
        other => other.clone(),
    }
}

/// Returns the default type of a column.
fn default_type(field: &Field) -> DataType {
    let item = |field: &FieldRef| Arc::new(Field::new("item", default_type(field), true));
    match field.data_type() {
        // No document defines an encoding of dynamic values.
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
            if is_labeled(field, "arrow.json") =>
        {
            DataType::LargeBinary
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => DataType::LargeBinary,
        DataType::UInt64 if is_labeled(field, "KustoDateTime") => instant(),
        DataType::Int64 if is_labeled(field, "KustoTimeSpan") => {
            DataType::Duration(TimeUnit::Nanosecond)
        }
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => instant(),
        DataType::FixedSizeBinary(16) if is_labeled(field, "KustoDecimal") => {
            DataType::Decimal128(38, 16)
        }
        DataType::Decimal128(_, _) | DataType::Decimal256(_, _) => DataType::Decimal128(38, 16),
        DataType::List(child) | DataType::LargeList(child) => DataType::LargeList(item(child)),
        DataType::FixedSizeList(child, n) => DataType::FixedSizeList(item(child), *n),
        DataType::Struct(fields) => {
            let child = |field: &FieldRef| Field::new(field.name(), default_type(field), true);
            DataType::Struct(fields.iter().map(child).collect())
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else {
                panic!("entries of a map are a struct");
            };
            let key = Field::new("key", default_type(&fields[0]), false);
            let value = Field::new("value", default_type(&fields[1]), true);
            let entries = DataType::Struct(vec![key, value].into());
            DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
        }
        other => other.clone(),
    }
}

fn instant() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

/// Returns all directory files below a folder, sorted.
fn shards(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(shards(&path));
        } else if path.to_str().unwrap().ends_with(".amudai.shard") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Returns an error if the data of a shard are wrong.
fn check(path: &Path, expected: &RecordBatch) -> Result<(), String> {
    let shard = Shard::open(path).map_err(|e| e.to_string())?;
    assert_eq!(shard.wire(), Wire::Reference);
    if shard.num_rows() != expected.num_rows() as u64 {
        return Err(format!(
            "{} rows, expected {}",
            shard.num_rows(),
            expected.num_rows()
        ));
    }
    let schema = shard.schema().map_err(|e| e.to_string())?;
    for (found, expected) in schema.fields().iter().zip(expected.schema().fields()) {
        if found.name() != expected.name()
            || *found.data_type() != default_type(expected)
            || !found.is_nullable()
        {
            return Err(format!("column {found:?} of {expected:?}"));
        }
    }
    if schema.fields().len() != expected.num_columns() {
        return Err(format!("{} columns", schema.fields().len()));
    }
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for (i, field) in expected.schema().fields().iter().enumerate() {
        let (data_type, values) = wanted(field, expected.column(i));
        fields.push(Field::new(field.name(), data_type, true));
        columns.push(values);
    }
    let wanted = Wanted {
        schema: Arc::new(Schema::new(fields)),
        columns,
    };
    for size in [8192, 999] {
        wanted.scan(&shard, size)?;
    }
    wanted.part(&shard)?;
    wanted.take(&shard, expected)
}

/// Columns in their requested types.
struct Wanted {
    schema: SchemaRef,
    columns: Vec<ArrayRef>,
}

impl Wanted {
    fn scan(&self, shard: &Shard, size: usize) -> Result<(), String> {
        let scan = shard
            .scan()
            .with_schema(self.schema.clone())
            .with_batch_size(size);
        let mut at = 0;
        for batch in scan.build().map_err(|e| e.to_string())? {
            let batch = batch.map_err(|e| format!("from row {at} on: {e}"))?;
            self.compare(&batch, at)?;
            at += batch.num_rows();
        }
        if at as u64 == shard.num_rows() {
            Ok(())
        } else {
            Err(format!("a scan ends at row {at}"))
        }
    }

    fn compare(&self, batch: &RecordBatch, at: usize) -> Result<(), String> {
        for ((field, wanted), found) in self
            .schema
            .fields()
            .iter()
            .zip(&self.columns)
            .zip(batch.columns())
        {
            found
                .to_data()
                .validate_full()
                .map_err(|e| format!("`{}`: {e}", field.name()))?;
            values_equal(&wanted.slice(at, batch.num_rows()), found)
                .map_err(|e| format!("`{}`, rows from {at}{e}", field.name()))?;
        }
        Ok(())
    }

    /// Checks a third of the columns and rows.
    fn part(&self, shard: &Shard) -> Result<(), String> {
        let third = |i: &usize| i % 3 == 1;
        let indices: Vec<usize> = (0..self.columns.len()).filter(third).collect();
        let part = Wanted {
            schema: Arc::new(self.schema.project(&indices).unwrap()),
            columns: indices.iter().map(|&i| self.columns[i].clone()).collect(),
        };
        let rows = shard.num_rows() / 3..shard.num_rows() / 3 * 2;
        let scan = shard
            .scan()
            .with_schema(part.schema.clone())
            .with_row_range(rows.clone());
        let mut at = usize::try_from(rows.start).unwrap();
        for batch in scan.build().map_err(|e| e.to_string())? {
            let batch = batch.map_err(|e| format!("projection, from row {at} on: {e}"))?;
            part.compare(&batch, at)
                .map_err(|e| format!("projection: {e}"))?;
            at += batch.num_rows();
        }
        Ok(())
    }

    /// Checks some rows by number, in columns without conversion.
    fn take(&self, shard: &Shard, expected: &RecordBatch) -> Result<(), String> {
        let total = expected.num_rows();
        let rows: Vec<usize> = match total {
            0 => vec![],
            n => (0..30)
                .map(|i| (i * 7919 + n / 2) % n)
                .chain([n - 1, 0])
                .collect(),
        };
        let same = |i: &usize| {
            let field = expected.schema().field(*i).clone();
            let is_native = |t: &DataType| t.is_temporal() || t.is_decimal();
            !any_type(field.data_type(), &mut |t| is_native(t)) && !has_label(&field)
        };
        let columns: Vec<usize> = (0..expected.num_columns()).filter(same).collect();
        let numbers: Vec<u64> = rows.iter().map(|&row| row as u64).collect();
        let taken = shard.take(&numbers, Projection::from(columns.clone()));
        let taken = taken.map_err(|e| format!("take: {e}"))?;
        for (found, &i) in taken.columns().iter().zip(&columns) {
            let pairs = rows.iter().enumerate().map(|(i, &row)| (row, i));
            rows_equal(expected.column(i), found, pairs)
                .map_err(|e| format!("take: `{}`{e}", expected.schema().field(i).name()))?;
        }
        Ok(())
    }
}

/// Checks all shards of a folder, and their least number.
fn check_all(folder: &str, least: usize) {
    let Some(folder) = shared(folder) else {
        return;
    };
    let manifest = manifest(&folder);
    let mut wrong = Vec::new();
    let paths = shards(&folder);
    assert!(paths.len() >= least, "only {} shards", paths.len());
    for path in &paths {
        let name = name_of(path);
        let mut expected = source(name.split('.').next().unwrap()).unwrap();
        if let Some(columns) = manifest
            .iter()
            .find_map(|(n, columns)| (n == name).then_some(columns))
        {
            let schema = expected.schema();
            let index = |column: &String| schema.index_of(column).unwrap();
            let indices: Vec<usize> = columns.iter().map(index).collect();
            expected = expected.project(&indices).unwrap();
        }
        if let Err(e) = check(path, &expected) {
            wrong.push(format!("{name}: {e}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn shards_of_the_reference_hold_what_it_was_given() {
    check_all("golden/shards", 55);
}

#[test]
fn every_encoding_of_the_reference_decodes_to_what_it_was_given() {
    check_all("golden/encodings", 51);
}

/// Returns the shards and columns in the manifest of a folder; nothing if it has no manifest.
fn manifest(folder: &Path) -> Vec<(String, Vec<String>)> {
    let Ok(manifest) = std::fs::read(folder.join("manifest.json")) else {
        return Vec::new();
    };
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let entry = |entry: &serde_json::Value| {
        let columns = entry["columns"].as_array().unwrap().iter().map(text);
        (text(&entry["shard"]), columns.collect())
    };
    manifest.as_array().unwrap().iter().map(entry).collect()
}

#[test]
fn the_manifest_lists_all_encoded_shards() {
    let Some(folder) = shared("golden/encodings") else {
        return;
    };
    let listed: BTreeSet<String> = manifest(&folder)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let found = shards(&folder)
        .iter()
        .map(|path| name_of(path).to_owned())
        .collect();
    assert_eq!(listed, found);
}

/// Arrow's precision and scale are not stored, so a reader may choose them.
#[test]
fn decimals_of_the_reference_are_read_as_the_type_that_options_say() {
    let Some(folder) = shared("golden/shards") else {
        return;
    };
    let expected = source("decimal128").unwrap();
    let options = ShardOptions::default().with_default_precision_and_scale(18, 2);
    let path = folder.join("decimal128.amudai.shard");
    let shard = Shard::open_with(path, options).unwrap();
    let mut at = 0;
    for batch in shard.scan().build().unwrap() {
        let batch = batch.unwrap();
        let values = expected.column(0).slice(at, batch.num_rows());
        assert_eq!(batch.column(0).as_ref(), values.as_ref());
        at += batch.num_rows();
    }
    assert_eq!(at, expected.num_rows());
}

/// The values of this shard are around 10^-6158, which no Arrow decimal can represent.
#[test]
fn a_decimal_that_arrow_cannot_hold_is_an_error_of_the_scan_and_no_damage() {
    let Some(folder) = shared("golden/shards") else {
        return;
    };
    let shard = Shard::open(folder.join("kusto_ext.amudai.shard")).unwrap();
    let error = shard.scan().build().unwrap().next().unwrap().unwrap_err();
    let error = crate::support::inner(&error);
    assert_eq!(error.kind(), ErrorKind::ValueOutOfRange);
    let text = error.to_string();
    assert!(
        text.contains("E-61") && text.contains("value 0 of these"),
        "{text}"
    );
    let report = shard.verify().unwrap();
    assert!(report.problems().is_empty(), "{report:?}");
}
