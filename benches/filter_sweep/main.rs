//! Does a filter in the scan ever cost more than scanning and filtering afterwards? Measures both over a table in
//! memory, on one thread, in turns: by profile, type of the tested column, arrangement and share of the matching rows,
//! and number of returned columns. Prints a line for each point, and at the end the points at which the filter loses.
//!
//! ```sh
//! cargo bench --bench filter_sweep                          # 524,288 rows, or the variable ROWS; below 8 minutes
//! cargo bench --bench filter_sweep -- Balanced random/1%    # points with both words in their names
//! cargo bench --bench filter_sweep -- --quick               # fewer rows and runs
//! cargo bench --bench filter_sweep -- --all                 # all types with 16 and 100 returned columns
//! cargo bench --bench filter_sweep -- --svg filters.svg     # also draws the ratios
//! ```
#![expect(clippy::expect_used, reason = "a bench that fails has nothing to tell")]

#[path = "../common/mod.rs"]
mod common;
mod keys;
mod plot;
mod table;
mod texts;

use arrow_array::{Array, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use arrow_shard::Shard;
use arrow_shard::read::col;
use arrow_shard::write::Profile;
use common::clock::{median, medians_in_turns};
use common::options::Options;
use keys::{CONSTANT, KEYS};
use std::fmt;
use std::hint::black_box;
use std::time::Instant;
use table::{Arrangement, KeyColumn, Share, output_name};

const PROFILES: [Profile; 3] = [Profile::Balanced, Profile::Plain, Profile::HighCompression];

const ARRANGEMENTS: [Arrangement; 3] = [
    Arrangement::Clustered,
    Arrangement::Runs,
    Arrangement::Random,
];

/// From 0.01 % to 99.99 %.
const SHARES: [Share; 8] = [
    Share(1),
    Share(10),
    Share(100),
    Share(1000),
    Share(5000),
    Share(9000),
    Share(9900),
    Share(9999),
];

/// Numbers of returned columns, and how many types share the points with that number. The more columns, the longer a
/// point takes, and the less depends on the type of the tested column.
const OUTPUTS: [(usize, usize); 4] = [(1, 1), (4, 1), (16, 2), (100, 8)];

/// Returns the points of a profile to measure.
fn points(options: &Options, profile: Profile) -> Vec<Point> {
    // The types take turns. Points that are named are all measured.
    let with_all = options.has("--all") || !options.words.is_empty();
    let mut points = Vec::new();
    let own = PROFILES.iter().take_while(|p| **p != profile).count();
    for (k, key) in KEYS.iter().enumerate() {
        for (a, &arrangement) in ARRANGEMENTS.iter().enumerate() {
            for (s, &share) in SHARES.iter().enumerate() {
                for (outputs, types) in OUTPUTS {
                    let has_turn = (k + 3 * own + a + s) % types == 0;
                    if has_turn || with_all {
                        let column = KeyColumn {
                            key,
                            arrangement,
                            share,
                        };
                        points.push(Point {
                            profile,
                            column,
                            outputs,
                        });
                    }
                }
            }
        }
    }
    for share in [Share::NONE, Share::WHOLE] {
        let column = KeyColumn {
            key: &CONSTANT,
            arrangement: Arrangement::Constant,
            share,
        };
        points.extend(OUTPUTS.map(|(outputs, _)| Point {
            profile,
            column,
            outputs,
        }));
    }
    points.retain(|point| options.ask_for(point));
    points
}

#[derive(Debug, Clone, Copy)]
struct Point {
    profile: Profile,
    column: KeyColumn,
    /// Number of returned columns.
    outputs: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyColumn {
            key,
            arrangement,
            share,
        } = self.column;
        let (profile, key, outputs) = (self.profile, key.name, self.outputs);
        write!(f, "{profile:?}/{key}/{arrangement}/{share}/{outputs}")
    }
}

impl Point {
    fn outputs(&self) -> impl Iterator<Item = String> {
        (0..self.outputs).map(output_name)
    }

    /// Counts the rows of a scan with a filter.
    fn filtered(&self, shard: &Shard) -> usize {
        let outputs: Vec<String> = self.outputs().collect();
        let predicate = (self.column.key.predicate)(col(self.column.path()));
        let scan = shard.scan().with_projection(outputs).with_filter(predicate);
        count(scan.build().expect("a scan"))
    }

    /// Counts the rows of a scan that are filtered by arrow's kernels.
    fn filtered_afterwards(&self, shard: &Shard) -> usize {
        let columns: Vec<String> = self.outputs().chain([self.column.path()]).collect();
        let outputs: Vec<usize> = (0..self.outputs).collect();
        let scan = shard.scan().with_projection(columns).build();
        count(scan.expect("a scan").map(|batch| {
            let batch = batch?;
            let key: &dyn Array = batch.column(self.outputs);
            let matches = (self.column.key.kernel)(key)?;
            filter_record_batch(&batch.project(&outputs)?, &matches)
        }))
    }

    fn measure(self, shard: &Shard, least_runs: usize) -> Measurement {
        let found = self.filtered(shard);
        assert_eq!(found, self.filtered_afterwards(shard), "{self}");
        let filter = || self.filtered(shard);
        let after = || self.filtered_afterwards(shard);
        let [filter, after] = medians_in_turns(least_runs, filter, after);
        Measurement {
            point: self,
            filter,
            after,
        }
    }
}

/// Milliseconds of a point.
struct Measurement {
    point: Point,
    filter: f64,
    after: f64,
}

impl Measurement {
    fn ratio(&self) -> f64 {
        self.filter / self.after
    }

    /// Whether less than 1 % of the rows match, in few runs.
    fn is_rare(&self) -> bool {
        let KeyColumn {
            arrangement, share, ..
        } = self.point.column;
        share.0 < 100 && arrangement != Arrangement::Random
    }
}

/// A line of the table.
impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Point {
            profile,
            column,
            outputs,
        } = self.point;
        let (profile, key) = (format!("{profile:?}"), column.key.name);
        let (arrangement, share) = (column.arrangement.to_string(), column.share.to_string());
        let (filter, after, ratio) = (self.filter, self.after, self.ratio());
        write!(
            f,
            "{profile:<15} {key:<10} {arrangement:<10} {share:>7} {outputs:>7} "
        )?;
        write!(f, "{filter:>9.3} {after:>9.3} {ratio:>6.3}")
    }
}

fn count(batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>) -> usize {
    batches
        .map(|batch| black_box(batch.expect("a batch")).num_rows())
        .sum()
}

fn print_summary(measurements: &[Measurement]) {
    println!("\noutputs arrangement points median    max");
    for (outputs, _) in OUTPUTS {
        for arrangement in ARRANGEMENTS.into_iter().chain([Arrangement::Constant]) {
            let ratios: Vec<f64> = measurements
                .iter()
                .filter(|m| m.point.outputs == outputs)
                .filter(|m| m.point.column.arrangement == arrangement)
                .map(Measurement::ratio)
                .collect();
            if ratios.is_empty() {
                continue;
            }
            let (points, arrangement) = (ratios.len(), arrangement.to_string());
            let max = ratios.iter().copied().fold(0.0, f64::max);
            let median = median(ratios);
            println!("{outputs:>7} {arrangement:<11} {points:>6} {median:>6.3} {max:>6.3}");
        }
    }
    print_worst(measurements, "ratio above 1.05", |m| m.ratio() > 1.05);
    print_worst(
        measurements,
        "less than 1 % in few runs, ratio above 0.5",
        |m| m.is_rare() && m.ratio() > 0.5,
    );
}

/// Prints the measurements that miss a goal, the worst first.
fn print_worst(measurements: &[Measurement], title: &str, misses: fn(&Measurement) -> bool) {
    let mut worst: Vec<&Measurement> = measurements.iter().filter(|m| misses(m)).collect();
    worst.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    println!("\n{title}: {} of {}", worst.len(), measurements.len());
    for measurement in worst {
        println!("{measurement}");
    }
}

fn main() {
    let options = Options::of_command_line(&["--quick", "--all"]);
    let (rows, start) = (options.rows(1 << 19, 1 << 17), Instant::now());
    let mut measurements = Vec::new();
    println!("{rows} rows; milliseconds");
    println!("profile         type       arrangement  share outputs    filter     after  ratio");
    for profile in PROFILES.into_iter().filter(|p| p.is_available()) {
        let points = points(&options, profile);
        let mut keys: Vec<KeyColumn> = points.iter().map(|point| point.column).collect();
        keys.dedup_by_key(|key| key.name());
        let Some(outputs) = points.iter().map(|point| point.outputs).max() else {
            continue;
        };
        let shard = table::shard(profile, rows, &keys, outputs);
        for point in points {
            let measurement = point.measure(&shard, options.least_runs());
            println!("{measurement}");
            measurements.push(measurement);
        }
    }
    print_summary(&measurements);
    println!("\n{:.0} seconds", start.elapsed().as_secs_f64());
    if let Some(file) = options.svg {
        std::fs::write(file, plot::plot(&measurements, rows)).expect("a plot");
    }
}
