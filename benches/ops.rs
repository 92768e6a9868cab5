//! What does a change by reference cost, compared with rewriting the rows? Uses lineitem of TPC-H at scale factor 1,
//! 6 million rows, on one thread and from local files. Merges two shards of about 1 GB, deletes one row in a hundred,
//! and scans shards with deleted rows. Prints medians of several runs.
//!
//! ```sh
//! cargo bench --bench ops
//! ```
#![expect(clippy::expect_used, reason = "a bench that fails has nothing to tell")]

use arrow_array::RecordBatch;
use arrow_shard::Shard;
use arrow_shard::ops::{ShardEditor, merge};
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use std::path::Path;
use std::time::Instant;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

/// Returns the median milliseconds of `runs` runs.
fn median<T>(runs: usize, mut work: impl FnMut(usize) -> T) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|run| {
            let start = Instant::now();
            std::hint::black_box(work(run));
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    middle(&mut times)
}

fn middle(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn write(path: &Path, profile: Profile, batches: impl Iterator<Item = RecordBatch>) -> u64 {
    let mut batches = batches.peekable();
    let schema = batches.peek().expect("there are rows").schema();
    let options = WriterOptions::default().with_profile(profile);
    let mut writer = ShardWriter::create_with(path, schema, options).expect("a new shard");
    for batch in batches {
        writer.write(&batch).expect("rows are written");
    }
    writer.finish().expect("the shard is finished").bytes()
}

fn lineitem() -> impl Iterator<Item = RecordBatch> {
    let rows = LineItemArrow::new(LineItemGenerator::new(1.0, 1, 1)).with_batch_size(65_536);
    rows.map(|batch| batch.expect("rows"))
}

fn scan(path: &Path) -> usize {
    let scan = Shard::open(path).expect("a shard").scan().build();
    let batches = scan.expect("a scan");
    batches
        .map(|batch| batch.expect("a batch").num_rows())
        .sum()
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let bytes = write(&path("plain-a"), Profile::Plain, lineitem());
    std::fs::copy(path("plain-a"), path("plain-b")).expect("a copy");
    println!(
        "two shards of {:.2} GB each, profile Plain",
        bytes as f64 / 1e9
    );
    let merged = median(21, |run| {
        let target = path(&format!("merged-{run}"));
        merge([path("plain-a"), path("plain-b")], target).expect("a merge")
    });
    println!("merged by reference: {merged:.1} ms");
    let shard = Shard::open(path("merged-0")).expect("the merged shard");
    println!(
        "  {} rows in {} stripes",
        shard.num_rows(),
        shard.num_stripes()
    );

    let bytes = write(&path("whole"), Profile::Balanced, lineitem());
    let rows = Shard::open(path("whole")).expect("a shard").num_rows();
    println!(
        "a shard of {rows} rows and {:.0} MB, profile Balanced",
        bytes as f64 / 1e6
    );
    // Scattered rows in no order, like the results of a lookup by key.
    let deleted: Vec<u64> = (0..rows / 100).map(|i| i * 7_919 % rows).collect();
    let delete = median(11, |run| {
        let mut editor = ShardEditor::open(path("whole")).expect("an editor");
        editor.delete_rows(&deleted).expect("rows are deleted");
        editor
            .commit_to(path(&format!("deleted-{run}")))
            .expect("a commit")
    });
    let rewrite = median(3, |run| {
        let source = Shard::open(path("deleted-0")).expect("a shard");
        let batches = source.scan().build().expect("a scan");
        let batches = batches.map(|batch| batch.expect("a batch"));
        write(&path(&format!("anew-{run}")), Profile::Balanced, batches)
    });
    println!("one row in a hundred deleted: {delete:.1} ms");
    println!(
        "the others written anew: {rewrite:.0} ms; {:.2} % of that",
        100.0 * delete / rewrite
    );

    // The same number of rows, in one contiguous range.
    let mut editor = ShardEditor::open(path("whole")).expect("an editor");
    let run: Vec<u64> = (rows / 3..rows / 3 + rows / 100).collect();
    editor.delete_rows(&run).expect("rows are deleted");
    editor.commit_to(path("deleted-run")).expect("a commit");

    // In turns, so other load of the machine affects all scans alike.
    let names = ["whole", "deleted-0", "deleted-run", "anew-0"];
    let mut times = names.map(|_| Vec::new());
    for _ in 0..15 {
        for (name, times) in names.iter().zip(&mut times) {
            times.push(median(1, |_| scan(&path(name))));
        }
    }
    let whole = middle(&mut times[0]);
    for (name, mut times) in names.iter().zip(times) {
        let time = middle(&mut times);
        println!(
            "scan of {name}: {time:.1} ms, {:.3} of that of all rows; {} rows",
            time / whole,
            scan(&path(name))
        );
    }
}
