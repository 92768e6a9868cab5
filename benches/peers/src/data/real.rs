//! Small tables of real data, repeated to a million rows with a running key. Repetition at a distance of thousands of
//! rows favors compressors with a long window.

use super::scale::Scale;
use super::table::Table;
use anyhow::{Context, Result};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::take::take;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Returns a table by its name; `None` if its file is not in `folder`.
pub(super) fn table(name: &str, scale: Scale, folder: &Path) -> Result<Option<Table>> {
    let file = match name {
        "flights" => "flights-200k.arrow",
        "birdstrikes" => "birdstrikes.csv",
        "hdfs" => "HDFS.csv",
        "bgl" => "BGL.csv",
        "apache" => "Apache.csv",
        "openstack" => "OpenStack.csv",
        "city_temperature" => "city_temperature_f_tw.bin",
        "food_prices" => "food_prices_tw.bin",
        "nyc29" => "nyc29_tw.bin",
        name => anyhow::bail!("no table is called {name}"),
    };
    let path = folder.join(file);
    if !path.is_file() {
        return Ok(None);
    }
    let read = match path.extension().and_then(|e| e.to_str()) {
        Some("arrow") => read_ipc(&path),
        Some("csv") => read_csv(&path),
        _ => read_doubles(&path),
    };
    let once = read.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(repeated(once, scale.of(1_000_000))))
}

fn repeated(once: RecordBatch, rows: usize) -> Table {
    let key: FieldRef = Arc::new(Field::new("key", DataType::Int64, false));
    let fields = std::iter::once(&key).chain(once.schema_ref().fields());
    let schema = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
    let mut next = 0;
    Table::of_rows(schema.clone(), rows, move |rows| {
        let keys = next..next + rows;
        next += rows;
        let wrapped = keys.clone().map(|key| (key % once.num_rows()) as u64);
        let indices = UInt64Array::from_iter_values(wrapped);
        let keys = Int64Array::from_iter_values(keys.map(|key| key as i64));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(keys)];
        for column in once.columns() {
            columns.push(take(column, &indices, None)?);
        }
        RecordBatch::try_new(schema.clone(), columns)
    })
}

fn read_ipc(path: &Path) -> Result<RecordBatch> {
    let reader = arrow_ipc::reader::FileReader::try_new_buffered(File::open(path)?, None)?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    Ok(concat_batches(&schema, &batches)?)
}

fn read_csv(path: &Path) -> Result<RecordBatch> {
    let format = arrow_csv::reader::Format::default().with_header(true);
    let (schema, _) = format.infer_schema(File::open(path)?, None)?;
    let schema = Arc::new(schema);
    let reader = arrow_csv::ReaderBuilder::new(schema.clone())
        .with_format(format)
        .build(File::open(path)?)?;
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    Ok(concat_batches(&schema, &batches)?)
}

/// Reads a file of little-endian f64.
fn read_doubles(path: &Path) -> Result<RecordBatch> {
    let bytes = std::fs::read(path)?;
    let values = bytes.as_chunks().0.iter().map(|c| f64::from_le_bytes(*c));
    let column = Float64Array::from_iter_values(values);
    let schema = Schema::new(vec![Field::new("value", DataType::Float64, false)]);
    Ok(RecordBatch::try_new(
        Arc::new(schema),
        vec![Arc::new(column)],
    )?)
}
