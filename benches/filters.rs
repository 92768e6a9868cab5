//! What does a filter cost, and what does it save? Reads from lineitem of TPC-H at scale factor 0.1 a month of rows,
//! rows with rare and frequent values, shares of the rows, and single rows. Compares a scan with a filter, a full
//! scan with arrow's kernels, and Parquet with page index and row filter. All run in the same process, on one thread,
//! from memory. Prints the ratios at the end.
//!
//! ```sh
//! cargo bench --bench filters            # everything
//! cargo bench --bench filters -- month   # benches with `month` in their names
//! ```
#![expect(clippy::expect_used, reason = "a bench that fails has nothing to tell")]
#![expect(clippy::cast_possible_truncation, reason = "rows of a bench are few")]

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Int64Array, RecordBatch, Scalar, StringViewArray,
};
use arrow_ord::cmp;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::filter::filter_record_batch;
use arrow_shard::Shard;
use arrow_shard::read::{Predicate, RowSelection as ShardRows, ScanMetrics, col, lit};
use arrow_shard::write::{ShardWriter, WriterOptions};
use bytes::Bytes;
use criterion::Criterion;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowFilter, RowSelection,
    RowSelector,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::WriterProperties;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

type Kernel = fn(&dyn Array) -> Result<BooleanArray, ArrowError>;

/// A question about a column, as a predicate and as a kernel.
struct Question {
    name: &'static str,
    column: &'static str,
    predicate: fn() -> Predicate,
    kernel: Kernel,
}

/// Days from 1970-01-01 to 1995-09-01 and 1995-10-01.
const MONTH: [i32; 2] = [9374, 9404];

fn month(array: &dyn Array) -> Result<BooleanArray, ArrowError> {
    let bound = |day| Scalar::new(Date32Array::from_value(day, 1));
    let from = cmp::gt_eq(&array, &bound(MONTH[0]))?;
    arrow_arith::boolean::and_kleene(&from, &cmp::lt(&array, &bound(MONTH[1]))?)
}

fn text(array: &dyn Array, value: &str) -> Result<BooleanArray, ArrowError> {
    cmp::eq(
        &array,
        &Scalar::new(StringViewArray::from_iter_values([value])),
    )
}

/// Returns which quantities are below a bound. Quantities are decimals with two digits after the point.
fn less(array: &dyn Array, quantity: i128) -> Result<BooleanArray, ArrowError> {
    let quantity = arrow_array::Decimal128Array::from_value(quantity * 100, 1)
        .with_precision_and_scale(15, 2)?;
    cmp::lt(&array, &Scalar::new(quantity))
}

fn positive(array: &dyn Array) -> Result<BooleanArray, ArrowError> {
    let values = array.as_primitive::<Decimal128Type>();
    Ok(BooleanArray::from_unary(values, |v| v > 0))
}

const QUESTIONS: [Question; 7] = [
    Question {
        name: "month",
        column: "l_shipdate",
        predicate: || {
            let shipped = || col("l_shipdate");
            shipped()
                .gt_eq(lit("1995-09-01"))
                .and(shipped().lt("1995-10-01"))
        },
        kernel: month,
    },
    Question {
        name: "mode",
        column: "l_shipmode",
        predicate: || col("l_shipmode").eq("AIR"),
        kernel: |array| text(array, "AIR"),
    },
    Question {
        name: "no_mode",
        column: "l_shipmode",
        predicate: || col("l_shipmode").eq("MULE"),
        kernel: |array| text(array, "MULE"),
    },
    Question {
        name: "no_comment",
        column: "l_comment",
        predicate: || col("l_comment").eq("furiously absent"),
        kernel: |array| text(array, "furiously absent"),
    },
    Question {
        name: "tenth",
        column: "l_quantity",
        predicate: || col("l_quantity").lt(6),
        kernel: |array| less(array, 6),
    },
    Question {
        name: "half",
        column: "l_quantity",
        predicate: || col("l_quantity").lt(26),
        kernel: |array| less(array, 26),
    },
    Question {
        name: "everything",
        column: "l_extendedprice",
        predicate: || {
            Predicate::from_fn(["l_extendedprice"], |batch| {
                positive(batch.column(0).as_ref())
            })
        },
        kernel: positive,
    },
];

fn write_shard(batches: &[RecordBatch], options: WriterOptions) -> Bytes {
    let mut file = Vec::new();
    let mut writer =
        ShardWriter::try_new(&mut file, batches[0].schema(), options).expect("a schema");
    for batch in batches {
        writer.write(batch).expect("a batch");
    }
    writer.finish().expect("a shard");
    file.into()
}

fn write_parquet(batches: &[RecordBatch]) -> Bytes {
    let zstd = ZstdLevel::try_new(3).expect("a level");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(zstd))
        .build();
    let mut file = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut file, batches[0].schema(), Some(properties)).expect("a schema");
    for batch in batches {
        writer.write(batch).expect("a batch");
    }
    writer.close().expect("a file");
    file.into()
}

/// Returns six million readings of a state that stays for about 300 rows, without statistics and dictionaries, so
/// filters must read values.
fn states() -> Bytes {
    let batches: Vec<RecordBatch> = (0..60i64)
        .map(|batch| {
            let rows = batch * 100_000..(batch + 1) * 100_000;
            let states = rows.map(|row| (row / 300).wrapping_mul(0x1E37_79B9_7F4A_7C15) >> 30);
            let states: ArrayRef = Arc::new(Int64Array::from_iter_values(states));
            RecordBatch::try_from_iter([("state", states)]).expect("a batch")
        })
        .collect();
    let options = WriterOptions::default()
        .with_statistics_enabled(false)
        .with_dictionary_enabled(false);
    write_shard(&batches, options)
}

fn count<E: std::fmt::Debug>(batches: impl Iterator<Item = Result<RecordBatch, E>>) -> usize {
    batches
        .map(|batch| black_box(batch.expect("a batch")).num_rows())
        .sum()
}

fn filtered(shard: &Shard, question: &Question) -> (usize, ScanMetrics) {
    let scan = shard.scan().with_filter((question.predicate)());
    let mut reader = scan.build().expect("a scan");
    let rows = count(reader.by_ref());
    (rows, reader.metrics().expect("a filter"))
}

fn full(shard: &Shard, schema: &SchemaRef, question: &Question) -> usize {
    let column = schema.index_of(question.column).expect("a column");
    let scan = shard.scan().build().expect("a scan");
    count(scan.map(|batch| {
        let batch = batch?;
        let matches = (question.kernel)(batch.column(column).as_ref())?;
        filter_record_batch(&batch, &matches)
    }))
}

fn parquet(file: &Bytes, question: &Question) -> usize {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file.clone(), options)
        .expect("a file")
        .with_batch_size(8192);
    let mask = ProjectionMask::columns(builder.parquet_schema(), [question.column]);
    let kernel = question.kernel;
    let predicate = ArrowPredicateFn::new(mask, move |batch| kernel(batch.column(0).as_ref()));
    let filter = RowFilter::new(vec![Box::new(predicate)]);
    count(builder.with_row_filter(filter).build().expect("a reader"))
}

fn take_parquet(file: &Bytes, rows: &[u64]) -> usize {
    let mut selectors = Vec::new();
    let mut next = 0;
    for &row in rows {
        selectors.push(RowSelector::skip((row - next) as usize));
        selectors.push(RowSelector::select(1));
        next = row + 1;
    }
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file.clone(), options)
        .expect("a file")
        .with_row_selection(RowSelection::from(selectors))
        .build();
    count(reader.expect("a reader"))
}

/// Returns the median of a bench in nanoseconds, from criterion's results.
fn median(results: &Path, id: &str) -> Option<f64> {
    let folder = results.join(id.replace('/', "_"));
    let text = std::fs::read_to_string(folder.join("new/estimates.json")).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    json["median"]["point_estimate"].as_f64()
}

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().join("criterion");
    let mut criterion = Criterion::default()
        .output_directory(&results)
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(1000))
        .without_plots()
        .configure_from_args();
    let batches: Vec<RecordBatch> = LineItemArrow::new(LineItemGenerator::new(0.1, 1, 1))
        .collect::<Result<_, _>>()
        .expect("rows");
    let schema = batches[0].schema();
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let (file, parquet_file) = (
        write_shard(&batches, <_>::default()),
        write_parquet(&batches),
    );
    let shard = Shard::from_bytes(file).expect("a shard");
    let mut some: Vec<u64> = (0..1000u64)
        .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % rows as u64)
        .collect();
    some.sort_unstable();
    some.dedup();
    for question in &QUESTIONS {
        let (found, metrics) = filtered(&shard, question);
        assert_eq!(found, full(&shard, &schema, question), "{}", question.name);
        assert_eq!(found, parquet(&parquet_file, question), "{}", question.name);
        println!("{}: {metrics}\n", question.name);
        let name = question.name;
        criterion.bench_function(&format!("{name}/filter"), |b| {
            b.iter(|| filtered(&shard, question));
        });
        criterion.bench_function(&format!("{name}/full scan"), |b| {
            b.iter(|| full(&shard, &schema, question));
        });
        criterion.bench_function(&format!("{name}/parquet"), |b| {
            b.iter(|| parquet(&parquet_file, question));
        });
    }
    let runs = Shard::from_bytes(states()).expect("a shard");
    for (name, least) in [("none", i64::MAX), ("half", 0)] {
        let filter = || runs.scan().with_filter(col("state").gt(least));
        let mut reader = filter().build().expect("a scan");
        let found = count(&mut reader);
        println!("runs, {name}: {found} rows, {:?}\n", reader.metrics());
        criterion.bench_function(&format!("runs/{name}"), |b| {
            b.iter(|| count(filter().build().expect("a scan")));
        });
    }
    criterion.bench_function("runs/full scan", |b| {
        b.iter(|| count(runs.scan().build().expect("a scan")));
    });
    criterion.bench_function("rows/filter", |b| {
        b.iter(|| {
            let rows: ShardRows = some.iter().copied().collect();
            let scan = shard.scan().with_row_selection(rows);
            count(scan.build().expect("a scan"))
        });
    });
    criterion.bench_function("rows/take", |b| {
        b.iter(|| {
            let all = arrow_shard::Projection::All;
            shard.take(&some, all).expect("rows").num_rows()
        });
    });
    criterion.bench_function("rows/full scan", |b| {
        b.iter(|| count(shard.scan().build().expect("a scan")));
    });
    criterion.bench_function("rows/parquet", |b| {
        b.iter(|| take_parquet(&parquet_file, &some));
    });
    criterion.final_summary();
    println!("\n| question | filter, ms | full scan and kernel | parquet |");
    println!("|-|-:|-:|-:|");
    let names = QUESTIONS.iter().map(|question| question.name);
    for name in names.chain(["rows"]) {
        let time = |what: &str| median(&results, &format!("{name}/{what}"));
        let Some(own) = time("filter") else { continue };
        let ratio = |what| time(what).map_or("-".to_owned(), |t| format!("{:.2}", t / own));
        let (full, parquet) = (ratio("full scan"), ratio("parquet"));
        println!("| {name} | {:.3} | {full} | {parquet} |", own / 1e6);
    }
    let [none, half, full] =
        ["none", "half", "full scan"].map(|what| median(&results, &format!("runs/{what}")));
    if let (Some(none), Some(half), Some(full)) = (none, half, full) {
        let [none, half, full] = [none, half, full].map(|time| time / 1e6);
        println!(
            "\nruns: {none:.3} ms for no row, {half:.3} ms for half, {full:.3} ms to read all"
        );
    }
    if let Some(take) = median(&results, "rows/take") {
        println!("\ntake of 1,000 rows: {:.3} ms", take / 1e6);
    }
}
