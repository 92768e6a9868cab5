//! Writes the report as Markdown.

use super::numbers::{date, megabytes, short};
use super::{Answers, pairs, table};
use anyhow::Result;
use std::fmt::Write;

const METHOD: &str = "\
What was measured:

* Every number is of a process that does nothing else, on one thread (another one that Vortex starts waits for
  sockets, and has no work); processes of the formats take turns. Times are medians over all processes. What is short is
  repeated within a process. What is read was read once before.
* Every process has mimalloc as its allocator, as the benches of the peers themselves do. The C library's allocator
  returns every large buffer to the operating system, which costs each format differently: two tables are measured with
  it as well.
* The tables come from uncompressed Arrow IPC files, in batches of 8,192 rows. Files are on a disk, and in the page
  cache. Nobody waits for the disk after writing.
* **size**: of the file, in MB of 1,000,000 bytes. **write**: RecordBatches into a file, reading the table not counted.
* **scan**: the file is opened, and all rows are read with positioned reads into RecordBatches of the types that were
  written: 8,192 rows each, but Vortex's own splits, which suit its speed better and need more memory. One byte of every
  page of the result is looked at. **scan as Utf8**: string views are asked for as Utf8; Arrow IPC casts them.
* **map**: the same through a memory map, mapped and opened anew. **map again**: a map that is open and has been read
  before, so that shards do not verify checksums again. **map trusted**: no verification; checksums of shards, offsets
  and UTF-8 of Arrow IPC. Parquet verifies no checksums by default, and Vortex and Arrow IPC have none.
* **3 columns**: the file is opened, and its first, middle and last column are read. **3 by name**: the same by their
  names; Vortex has no other way, and is told the names in both cases. **1,000 rows**, **1 row**: the file is opened, and
  random rows are read by number, all columns; **again**: of a file that is open, other rows each time.
* **range**, **equal**: the file is mapped and opened, and the rows that a filter on one column keeps are read, all
  columns; **again**: of a map that is open. Of lineitem it is March 1995 of `l_shipdate`, which is not sorted but in
  lineitem_sorted; of the log a hundredth of the rows by `time`, or one `host` of 2,000. Parquet skips row groups and
  pages by their statistics, then rows by a row filter; Vortex is given the filter; Arrow IPC reads everything, and filters.
* **CPU**: time of all threads, user and system. **peak**: `VmHWM` of the process after doing it once, pages of
  memory maps included. **requests**, **MB**: reads that are asked of the operating system, when done once.
* Writers have their defaults, but for what the name of a format says. Compression of Parquet is zstd at level 3.
  Parquet finds rows by its page index, Arrow IPC by the number of the batch. Parquet is read in batches of 8,192 rows,
  where its default is 1,024; Arrow IPC in the batches that were written, which have 8,192. Vortex keeps the readers of
  its layouts while a file is open.
* wide_50000 is not written by vortex-compact, which takes half a minute for a fifth of it. Arrow IPC is not asked for
  columns by name, since its reader takes positions alone.
* The real tables are small ones repeated to a million rows: what repeats helps compressors with a long window.
";

const STORE_METHOD: &str = "\
What was measured:

* The file is an object of a store whose every request takes 30 ms until its first byte comes and then 5 ns per byte
  (200 MB/s), and which answers 16 requests at a time; others wait for their turn. The object is in memory.
* A process opens the object and reads what is asked, again and again. **3 columns**: the first, the middle and the last.
  **range**: March 1995 of `l_shipdate`, which is sorted in lineitem_sorted alone; of the log a hundredth of the rows by
  `time`. **1,000 rows**, **1 row**: random ones, all columns; **again**: of an object that is open and of which another row has
  been read. records is one struct of 20 members; shard-packed stores them as a packed group.
* Readers are the asynchronous ones with their defaults, in one thread on tokio's runtime: shards as streams; Parquet by
  `ParquetObjectReader`, which is told the size of the object, reads 512 KiB at first as DataFusion does, and the page index
  where rows are left out; Vortex by `open_object_store`. Batches have 8,192 rows, but those of Vortex.
* `run` asks nothing else with `--questions store-project3,store-scan,store-range,store-take-1000,store-take-1,store-take-1-again`.
* No answer can be faster than its rounds of 30 ms, and than its bytes at 3.2 GB/s, 16 requests of 200 MB/s.
";

/// Returns the page about objects in a remote store.
pub(super) fn store_page(answers: &Answers) -> Result<Option<String>> {
    let mut page = String::new();
    writeln!(page, "# Shards beside Parquet and Vortex in a store\n")?;
    made(&mut page, answers)?;
    writeln!(page, "\n{STORE_METHOD}")?;
    let mut any = false;
    for name in &answers.tables {
        any |= table::behind_a_store(&mut page, answers, name)?;
    }
    Ok(any.then_some(page))
}

pub(super) fn page(answers: &Answers) -> Result<String> {
    let mut page = String::new();
    writeln!(page, "# Shards beside Parquet, Vortex and Arrow IPC\n")?;
    made(&mut page, answers)?;
    let busy = answers.threads.iter().filter(|(_, threads)| **threads > 1);
    for (format, threads) in busy {
        writeln!(
            page,
            "\nProcesses of {} ended with {threads} threads.",
            format.name()
        )?;
    }
    writeln!(page, "\n{METHOD}")?;
    let idle = short(megabytes(answers.idle_peak));
    writeln!(
        page,
        "A process that had not begun had a peak of {idle} MB.\n"
    )?;
    writeln!(
        page,
        "![Size and scan speed of each table](benchmarks.svg)\n"
    )?;
    table::summary(&mut page, answers)?;
    pairs::sections(&mut page, answers)?;
    table::under_the_system(&mut page, answers)?;
    for name in &answers.tables {
        table::details(&mut page, answers, name)?;
    }
    Ok(page)
}

/// Writes the time, the machine and the versions of the run.
fn made(page: &mut String, answers: &Answers) -> Result<()> {
    let machine = &answers.machine;
    writeln!(
        page,
        "Made on {}, processes per answer: {}, on {} ({} cores, {} GB, Linux {}), by\n",
        date(machine.time),
        machine.repeat,
        machine.cpu,
        machine.cores,
        machine.memory_bytes >> 30,
        machine.kernel
    )?;
    writeln!(
        page,
        "```sh\ncd benches/peers\n\
         cargo run --release -- generate --data DIR\n\
         cargo run --release -- run --data DIR --repeat {}\n\
         cargo run --release -- report --data DIR\n```\n",
        machine.repeat
    )?;
    let versions = machine.versions.iter();
    let named: Vec<_> = versions.map(|(name, v)| format!("{name} {v}")).collect();
    writeln!(page, "Versions: {}.", named.join(", "))?;
    if machine.load > 0.5 {
        let load = machine.load;
        writeln!(
            page,
            "\n**The load average of the machine was {load} when the run began, so other programs may \
             have slowed some answers. Read these times as rough.**"
        )?;
    }
    Ok(())
}
