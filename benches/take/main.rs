//! Does it ever cost more to take K rows at once than to do it otherwise? Takes 1, 10, 100, ... and all rows of several
//! tables, and compares the time with the cheaper of two alternatives: K takes of one row, and a scan that picks the
//! rows afterwards. Every profile, from a file and from memory, rows sorted and shuffled, on one thread. Prints a line
//! for each point, and at the end the points with the largest ratios.
//!
//! ```sh
//! cargo bench --bench take                        # 1,000,000 rows, or the variable ROWS; fewer if rows are large
//! cargo bench --bench take -- texts Plain/File    # points with both words in their names
//! cargo bench --bench take -- --quick             # fewer rows and runs
//! cargo bench --bench take -- --svg take.svg      # also draws the ratios
//! ```
#![expect(clippy::expect_used, reason = "a bench that fails has nothing to tell")]
#![expect(clippy::cast_possible_truncation, reason = "rows of a bench are few")]

#[path = "../common/mod.rs"]
mod common;
mod plot;
mod tables;

use arrow_array::{BooleanArray, RecordBatch, UInt64Array};
use arrow_buffer::BooleanBuffer;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use arrow_shard::Shard;
use arrow_shard::read::Projection;
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use common::clock::{median, medians_in_turns, milliseconds};
use common::options::Options;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use std::fmt;
use std::hint::black_box;
use std::iter::successors;
use std::path::Path;
use std::time::{Duration, Instant};
use tables::{TABLES, Table};

const PROFILES: [Profile; 3] = [Profile::Balanced, Profile::Plain, Profile::HighCompression];

/// The time of one row is the median of this number of takes, or of fewer if they take longer than this time.
const MOST_SINGLES: usize = 1000;
const SINGLES_TIME: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    File,
    Memory,
}

impl Access {
    fn open(self, path: &Path) -> Shard {
        let shard = match self {
            Self::File => Shard::open(path),
            Self::Memory => Shard::from_bytes(std::fs::read(path).expect("a file").into()),
        };
        shard.expect("a shard")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Sorted,
    Shuffled,
}

const ORDERS: [Order; 2] = [Order::Sorted, Order::Shuffled];

/// A line of the plot.
#[derive(Clone, Copy)]
struct Series {
    table: &'static Table,
    profile: Profile,
    access: Access,
    order: Order,
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, profile, access, order) =
            (self.table.name, self.profile, self.access, self.order);
        write!(f, "{table}/{profile:?}/{access:?}/{order:?}")
    }
}

/// Milliseconds of a point.
struct Measurement {
    series: Series,
    /// Number of taken rows.
    rows: usize,
    take: f64,
    /// A scan that picks the rows.
    pick: f64,
    /// `rows` takes of one row each.
    singles: f64,
}

impl Measurement {
    fn ratio(&self) -> f64 {
        self.take / self.pick.min(self.singles)
    }
}

/// A line of the table.
impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, rows, ratio) = (self.series.to_string(), self.rows, self.ratio());
        let (take, pick, singles) = (self.take, self.pick, self.singles);
        write!(f, "{name:<40} {rows:>8} ")?;
        write!(f, "{take:>10.3} {pick:>10.3} {singles:>12.3} {ratio:>6.3}")
    }
}

/// An open shard.
struct Subject {
    shard: Shard,
    /// All rows, shuffled. The first ones are taken.
    rows: Vec<u64>,
    /// Milliseconds to take one row.
    single: f64,
}

impl Subject {
    fn new(shard: Shard) -> Self {
        let mut rows: Vec<u64> = (0..shard.num_rows()).collect();
        rows.shuffle(&mut StdRng::seed_from_u64(11));
        // The first take reads metadata, which the shard keeps.
        black_box(take(&shard, &rows[..1]));
        let start = Instant::now();
        let singles = rows.chunks(1).take(MOST_SINGLES);
        let times = singles
            .take_while(|_| start.elapsed() < SINGLES_TIME)
            .map(|row| milliseconds(|| take(&shard, row)))
            .collect();
        let single = median(times);
        Self {
            shard,
            rows,
            single,
        }
    }

    /// Returns the numbers of rows to take.
    fn counts(&self) -> impl Iterator<Item = usize> {
        let all = self.rows.len();
        let tens = successors(Some(1_usize), |count| Some(count * 10));
        let tens = tens.take_while(move |count| *count < all / 2);
        tens.chain([all / 2, all])
    }

    fn measure(&self, series: Series, count: usize, least_runs: usize) -> Measurement {
        let mut rows = self.rows[..count].to_vec();
        if series.order == Order::Sorted {
            rows.sort_unstable();
        }
        let at_once = || take(&self.shard, &rows);
        let afterwards = || pick(&self.shard, &rows, series.order);
        assert!(at_once() == afterwards(), "{series}: {count} rows");
        let [take, pick] = medians_in_turns(least_runs, at_once, afterwards);
        Measurement {
            series,
            rows: count,
            // For one row, the median of more runs.
            take: if count == 1 { self.single } else { take },
            pick,
            singles: self.single * count as f64,
        }
    }
}

fn take(shard: &Shard, rows: &[u64]) -> RecordBatch {
    shard.take(rows, Projection::All).expect("rows")
}

/// Scans all rows, and picks some of them afterwards.
fn pick(shard: &Shard, rows: &[u64], order: Order) -> RecordBatch {
    let mut bits = vec![false; shard.num_rows() as usize];
    rows.iter().for_each(|row| bits[*row as usize] = true);
    let bits = BooleanBuffer::from(bits);
    let mut batches = Vec::new();
    let mut start = 0;
    for batch in shard.scan().build().expect("a scan") {
        let batch = batch.expect("a batch");
        let matches = BooleanArray::new(bits.slice(start, batch.num_rows()), None);
        start += batch.num_rows();
        batches.push(filter_record_batch(&batch, &matches).expect("rows"));
    }
    let schema = batches[0].schema();
    let batch = concat_batches(&schema, &batches).expect("rows that fit");
    if order == Order::Sorted {
        return batch;
    }
    let mut ordinals = vec![0u64; bits.len()];
    for (ordinal, row) in bits.set_indices().enumerate() {
        ordinals[row] = ordinal as u64;
    }
    let indices = rows.iter().map(|row| ordinals[*row as usize]);
    let indices = UInt64Array::from_iter_values(indices);
    take_record_batch(&batch, &indices).expect("rows")
}

fn print_summary(measurements: &[Measurement]) {
    let by_ratio = |a: &&Measurement, b: &&Measurement| a.ratio().total_cmp(&b.ratio());
    println!("\nlargest ratios of each table and order");
    for table in &TABLES {
        for order in ORDERS {
            let of_group =
                |m: &&Measurement| m.series.table.name == table.name && m.series.order == order;
            if let Some(largest) = measurements.iter().filter(of_group).max_by(by_ratio) {
                println!("{largest}");
            }
        }
    }
    let above = measurements.iter().filter(|m| m.ratio() > 1.1);
    let mut above: Vec<&Measurement> = above.collect();
    above.sort_by(|a, b| by_ratio(b, a));
    println!(
        "\nratio above 1.1: {} of {}",
        above.len(),
        measurements.len()
    );
    above.iter().for_each(|m| println!("{m}"));
}

fn write(path: &Path, batches: &[RecordBatch], profile: Profile) {
    let options = WriterOptions::default().with_profile(profile);
    let mut writer =
        ShardWriter::create_with(path, batches[0].schema(), options).expect("a schema");
    for batch in batches {
        writer.write(batch).expect("a batch");
    }
    writer.finish().expect("a shard");
}

fn main() {
    let options = Options::of_command_line(&["--quick"]);
    let (rows, start) = (options.rows(1_000_000, 200_000), Instant::now());
    let folder = tempfile::tempdir().expect("a folder");
    let mut measurements = Vec::new();
    println!("milliseconds");
    println!(
        "{:<40} {:>8} {:>10} {:>10} {:>12} {:>6}",
        "table/profile/access/order", "rows", "take", "pick", "singles", "ratio"
    );
    for table in &TABLES {
        let mut batches = None;
        for profile in PROFILES.into_iter().filter(|p| p.is_available()) {
            for access in [Access::File, Access::Memory] {
                let orders = ORDERS.map(|order| Series {
                    table,
                    profile,
                    access,
                    order,
                });
                let mut asked = orders.to_vec();
                asked.retain(|series| options.ask_for(series));
                if asked.is_empty() {
                    continue;
                }
                let batches = batches.get_or_insert_with(|| (table.generate)(rows));
                let name = format!("{}-{profile:?}.amudai.shard", table.name);
                let path = folder.path().join(name);
                if !path.exists() {
                    write(&path, batches, profile);
                }
                let subject = Subject::new(access.open(&path));
                for series in asked {
                    for count in subject.counts() {
                        let measurement = subject.measure(series, count, options.least_runs());
                        println!("{measurement}");
                        measurements.push(measurement);
                    }
                }
            }
        }
    }
    print_summary(&measurements);
    println!("\n{:.0} seconds", start.elapsed().as_secs_f64());
    if let Some(file) = options.svg {
        std::fs::write(file, plot::plot(&measurements)).expect("a plot");
    }
}
