//! How do shards over Parquet files compare with the files themselves, read by the crate `parquet`? Both run in the
//! same process, on one thread, in turns, and read the same files. The crate reads with its page index and with filters
//! pushed down. Prints the median time of each, and the ratio.
//!
//! ```sh
//! cargo bench --features parquet --bench attached                # everything
//! cargo bench --features parquet --bench attached -- --quick     # fewer rows, files and runs
//! cargo bench --features parquet --bench attached -- take        # cases with this word in their names
//! ```
#![expect(clippy::expect_used, reason = "a bench that fails has nothing to tell")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "rows of a bench are few"
)]

#[path = "../common/clock.rs"]
mod clock;
mod lake;
#[path = "../common/options.rs"]
mod options;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{BooleanArray, Date32Array, Int64Array, RecordBatch, Scalar, StringViewArray};
use arrow_ord::cmp::{eq, gt_eq, lt};
use arrow_schema::ArrowError;
use arrow_shard::Shard;
use arrow_shard::ops::attach;
use arrow_shard::read::{Literal, col};
use clock::medians_in_turns;
use lake::Lake;
use options::Options;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
    RowFilter, RowSelection, RowSelector,
};
use parquet::file::metadata::PageIndexPolicy;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fs::File;
use std::path::Path;

fn main() {
    let options = Options::of_command_line(&["--quick"]);
    assert!(options.svg.is_none(), "this bench draws nothing");
    println!("| case | attached shard, ms | `parquet`, ms | ratio |\n|-|-|-|-|");
    for (name, case) in CASES {
        if options.ask_for(name) {
            let [shard, parquet] = case(&options);
            println!(
                "| {name} | {shard:.3} | {parquet:.3} | {:.3} |",
                shard / parquet
            );
        }
    }
}

type Case = fn(&Options) -> [f64; 2];

const CASES: &[(&str, Case)] = &[
    (
        "attach 1,000 files of 8 row groups; reading their footers",
        attach_files,
    ),
    ("scan of all columns", scan),
    ("scan of 3 columns", scan_some),
    ("a month of lineitem", month),
    ("rows with one of 7 texts", one_text),
    ("rows with a text that no row has", no_text),
    ("take of 1,000 rows from an open file", take),
    ("a row of 1,000 files by its key", key),
    ("first row of 3 of 10,000 columns", wide),
];

fn attach_files(options: &Options) -> [f64; 2] {
    let lake = Lake::of_files(if options.has("--quick") { 50 } else { 1_000 });
    let attached = || {
        let target = lake.folder.path().join("again.amudai.shard");
        let summary = attach(&lake.files, &target).expect("a shard");
        std::fs::remove_file(target).expect("a file");
        summary.num_rows()
    };
    let footers = || {
        let rows = lake.files.iter().map(|file| {
            let footer = metadata(file);
            footer.metadata().file_metadata().num_rows() as u64
        });
        rows.sum()
    };
    medians_in_turns(3, attached, footers)
}

fn scan(options: &Options) -> [f64; 2] {
    let lake = Lake::of_lineitem(options.rows(1_200_000, 100_000));
    let shard = || {
        rows(
            Shard::open(&lake.shard)
                .expect("a shard")
                .scan()
                .build()
                .expect("a scan"),
        )
    };
    let parquet = || rows(builder(lake.file()).build().expect("a reader"));
    medians_in_turns(options.least_runs(), shard, parquet)
}

const SOME: [&str; 3] = ["l_orderkey", "l_extendedprice", "l_shipmode"];

fn scan_some(options: &Options) -> [f64; 2] {
    let lake = Lake::of_lineitem(options.rows(1_200_000, 100_000));
    let shard = || {
        let shard = Shard::open(&lake.shard).expect("a shard");
        rows(shard.scan().with_projection(SOME).build().expect("a scan"))
    };
    let parquet = || {
        let builder = builder(lake.file());
        let mask = ProjectionMask::columns(builder.parquet_schema(), SOME);
        rows(builder.with_projection(mask).build().expect("a reader"))
    };
    medians_in_turns(options.least_runs(), shard, parquet)
}

/// 1995-03-01 and 1995-04-01, in days since 1970.
const MONTH: [i32; 2] = [9_190, 9_221];

fn month(options: &Options) -> [f64; 2] {
    let lake = Lake::of_lineitem(options.rows(1_200_000, 100_000));
    let shard = || {
        let shard = Shard::open(&lake.shard).expect("a shard");
        let date = |day: i32| {
            let literal = Scalar::new(Date32Array::from(vec![day]));
            Literal::try_new(&literal).expect("a literal")
        };
        let dates = || col("l_shipdate");
        let filter = dates()
            .gt_eq(date(MONTH[0]))
            .and(dates().lt(date(MONTH[1])));
        rows(
            shard
                .scan()
                .with_projection(SOME)
                .with_filter(filter)
                .build()
                .expect("a scan"),
        )
    };
    let parquet = || {
        let builder = builder(lake.file());
        let mask = ProjectionMask::columns(builder.parquet_schema(), SOME);
        let dates = ProjectionMask::columns(builder.parquet_schema(), ["l_shipdate"]);
        let is_wanted = |batch: RecordBatch| -> Result<BooleanArray, ArrowError> {
            let dates = batch.column(0).as_primitive::<Date32Type>();
            let [first, end] = MONTH.map(|day| Scalar::new(Date32Array::from(vec![day])));
            arrow_arith::boolean::and(&gt_eq(dates, &first)?, &lt(dates, &end)?)
        };
        let filter = RowFilter::new(vec![Box::new(ArrowPredicateFn::new(dates, is_wanted))]);
        rows(
            builder
                .with_projection(mask)
                .with_row_filter(filter)
                .build()
                .expect("a reader"),
        )
    };
    medians_in_turns(options.least_runs(), shard, parquet)
}

fn one_text(options: &Options) -> [f64; 2] {
    text(options, "MAIL")
}

fn no_text(options: &Options) -> [f64; 2] {
    text(options, "MAIL and more")
}

fn text(options: &Options, wanted: &'static str) -> [f64; 2] {
    let lake = Lake::of_lineitem(options.rows(1_200_000, 100_000));
    let shard = || {
        let shard = Shard::open(&lake.shard).expect("a shard");
        let scan = shard.scan().with_projection(SOME);
        let filter = col("l_shipmode").eq(wanted);
        rows(scan.with_filter(filter).build().expect("a scan"))
    };
    let parquet = || {
        let builder = builder(lake.file());
        let mask = ProjectionMask::columns(builder.parquet_schema(), SOME);
        let modes = ProjectionMask::columns(builder.parquet_schema(), ["l_shipmode"]);
        let is_wanted = move |batch: RecordBatch| {
            let mode = Scalar::new(StringViewArray::from(vec![wanted]));
            eq(batch.column(0), &mode)
        };
        let filter = RowFilter::new(vec![Box::new(ArrowPredicateFn::new(modes, is_wanted))]);
        let builder = builder.with_projection(mask).with_row_filter(filter);
        rows(builder.build().expect("a reader"))
    };
    medians_in_turns(options.least_runs(), shard, parquet)
}

fn take(options: &Options) -> [f64; 2] {
    let lake = Lake::of_lineitem(options.rows(1_200_000, 100_000));
    let shard = Shard::open(&lake.shard).expect("a shard");
    let mut random = StdRng::seed_from_u64(7);
    let mut wanted: Vec<u64> = (0..1_000)
        .map(|_| random.random_range(0..shard.num_rows()))
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let footer = metadata(lake.file());
    let from_shard = || shard.take(&wanted, SOME).expect("rows").num_rows() as u64;
    let from_parquet = || {
        let (mut selectors, mut next) = (Vec::new(), 0);
        for &row in &wanted {
            selectors.push(RowSelector::skip((row - next) as usize));
            selectors.push(RowSelector::select(1));
            next = row + 1;
        }
        let file = File::open(lake.file()).expect("a file");
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer.clone());
        let mask = ProjectionMask::columns(builder.parquet_schema(), SOME);
        let builder = builder
            .with_projection(mask)
            .with_row_selection(RowSelection::from(selectors));
        rows(builder.build().expect("a reader"))
    };
    medians_in_turns(options.least_runs(), from_shard, from_parquet)
}

fn key(options: &Options) -> [f64; 2] {
    let count = if options.has("--quick") { 50 } else { 1_000 };
    let lake = Lake::of_files(count);
    let wanted = (count * lake::ROWS_OF_FILE / 2) as i64 + 17;
    let shard = || {
        let shard = Shard::open(&lake.shard).expect("a shard");
        let filter = col("id").eq(wanted);
        rows(shard.scan().with_filter(filter).build().expect("a scan"))
    };
    let parquet = || {
        let found = lake.files.iter().map(|path| rows_of_key(path, wanted));
        found.sum()
    };
    medians_in_turns(options.least_runs(), shard, parquet)
}

/// Returns the number of rows with a key in a file. Reads only the row groups that may have it.
fn rows_of_key(path: &Path, wanted: i64) -> u64 {
    let footer = metadata(path);
    let (schema, groups) = (footer.parquet_schema(), footer.metadata().row_groups());
    let converter = StatisticsConverter::try_new("id", footer.schema(), schema).expect("ids");
    let min = converter.row_group_mins(groups).expect("bounds");
    let max = converter.row_group_maxes(groups).expect("bounds");
    let (min, max) = (
        min.as_primitive::<Int64Type>(),
        max.as_primitive::<Int64Type>(),
    );
    let may_have = |&group: &usize| min.value(group) <= wanted && wanted <= max.value(group);
    let groups: Vec<usize> = (0..groups.len()).filter(may_have).collect();
    if groups.is_empty() {
        return 0;
    }
    let file = File::open(path).expect("a file");
    let ids = ProjectionMask::columns(schema, ["id"]);
    let is_wanted = move |batch: RecordBatch| {
        eq(
            batch.column(0),
            &Scalar::new(Int64Array::from(vec![wanted])),
        )
    };
    let filter = RowFilter::new(vec![Box::new(ArrowPredicateFn::new(ids, is_wanted))]);
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer.clone());
    let builder = builder.with_row_groups(groups).with_row_filter(filter);
    rows(builder.build().expect("a reader"))
}

fn wide(options: &Options) -> [f64; 2] {
    let lake = Lake::of_columns(10_000);
    let columns = ["c7", "c5000", "c9999"];
    let shard = || {
        let shard = Shard::open(&lake.shard).expect("a shard");
        shard.take(&[0], columns).expect("a row").num_rows() as u64
    };
    let parquet = || {
        let builder = builder(lake.file()).with_limit(1);
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns);
        rows(builder.with_projection(mask).build().expect("a reader"))
    };
    medians_in_turns(options.least_runs(), shard, parquet)
}

fn metadata(path: &Path) -> ArrowReaderMetadata {
    let file = File::open(path).expect("a file");
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    ArrowReaderMetadata::load(&file, options).expect("a footer")
}

fn builder(path: &Path) -> ParquetRecordBatchReaderBuilder<File> {
    let file = File::open(path).expect("a file");
    ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata(path)).with_batch_size(8192)
}

fn rows(batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>) -> u64 {
    let rows = batches.map(|batch| batch.expect("a batch").num_rows() as u64);
    rows.sum()
}
