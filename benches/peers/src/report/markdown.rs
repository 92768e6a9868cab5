//! Writes the report as Markdown.

use super::answers::Answers;
use super::numbers::{date, megabytes, short};
use super::{pairs, table};
use anyhow::Result;
use std::fmt::Write;

const METHOD: &str = "\
How the numbers were measured:

* Each number comes from a process that does nothing else, on one thread (Vortex starts a second one, which waits for
  sockets and has no work). Processes of the formats take turns. Times are medians over all processes. Short operations
  are repeated within a process. Every read is done once before the reads that count.
* Every process uses mimalloc, as the benches of the peers do. The allocator of the C library returns every large buffer
  to the operating system, which costs each format differently: two tables are also measured with it.
* The tables are read from uncompressed Arrow IPC files, in batches of 8,192 rows. Files are on a disk and in the page
  cache. A write does not wait for the disk.
* **size**: the size of the file, in MB of 1,000,000 bytes. **write**: writes RecordBatches to a file; reading the table
  is not counted.
* **scan**: opens the file and reads all rows with positioned reads into RecordBatches of the types that were written.
  Batches have 8,192 rows, except Vortex's own splits, which are faster for it and need more memory. The process then
  touches one byte of every page of the result. **scan as Utf8**: string views are requested as Utf8; Arrow IPC casts
  them.
* **map**: the same scan of a memory map that is mapped and opened for it. **map again**: a scan of a map that is open
  and was read before, so shards do not verify checksums again. **map trusted**: a scan without verification of
  checksums (shards), or of offsets and UTF-8 (Arrow IPC). Parquet verifies no checksums by default; Vortex and Arrow
  IPC have none.
* **3 columns**: opens the file and reads its first, middle and last column. **3 by name**: the same by name; Vortex
  selects columns only by name, and receives the names in both cases. **1,000 rows**, **1 row**: opens the file and
  reads random rows by number, all columns; **again**: reads other rows of an open file each time.
* **range**, **equal**: maps and opens the file and reads the rows that match a filter on one column, all columns;
  **again**: does so in an open map. The range in lineitem is March 1995 of `l_shipdate`, which is sorted only in
  lineitem_sorted. In the log it is a hundredth of the rows by `time`; the equal value is one `host` of 2,000. Parquet
  skips row groups and pages by their statistics, then rows by a row filter; Vortex applies the filter itself; Arrow IPC
  reads everything, then filters.
* **CPU**: user and system time of all threads. **peak**: `VmHWM` of the process after one run, pages of memory maps
  included. **requests**, **MB**: reads from the operating system in one run.
* Writers use their defaults, except for the setting in the name of the format. Parquet's zstd has level 3. Parquet
  finds rows by its page index, Arrow IPC by the number of the batch. Parquet is read in batches of 8,192 rows instead
  of its default of 1,024; Arrow IPC in the batches that were written, of 8,192 rows. Vortex keeps the readers of its
  layouts while a file is open.
* vortex-compact does not write wide_50000: a fifth of the table takes it half a minute. Arrow IPC has no **3 by name**,
  because its reader selects columns by position.
* The real tables are small tables repeated to a million rows. The repetition helps compressors with a long window.
";

const STORE_METHOD: &str = "\
How the numbers were measured:

* The file is an object in a simulated store: the first byte of a response comes after 30 ms, then each byte takes 5 ns
  (200 MB/s). The store answers 16 requests at a time; other requests wait. The object is in memory.
* A process repeatedly opens the object and reads the rows and columns below. **3 columns**: the first, the middle and
  the last. **range**: March 1995 of `l_shipdate`, which is sorted only in lineitem_sorted; in the log, a hundredth of
  the rows by `time`. **1,000 rows**, **1 row**: random rows, all columns; **again**: the object is already open, and
  other rows were read before. records is one struct of 20 members; shard-packed stores them as a packed group.
* The readers are the asynchronous ones with their defaults, on one thread of tokio's runtime. Shards are read as
  streams, Vortex by `open_object_store`, and Parquet by `ParquetObjectReader`. The Parquet reader receives the size of
  the object, first reads 512 KiB as DataFusion does, and reads the page index if it skips rows. Batches have 8,192
  rows, except Vortex's.
* `--questions store-project3,store-scan,store-range,store-take-1000,store-take-1,store-take-1-again` makes `run`
  measure only these questions.
* An answer takes at least 30 ms for each of its rounds, and the time of its bytes at 3.2 GB/s (16 requests of 200
  MB/s).
";

/// Returns the page about objects in a remote store.
pub(super) fn store_page(answers: &Answers) -> Result<Option<String>> {
    let mut page = String::new();
    writeln!(
        page,
        "# Shards compared with Parquet and Vortex in a store\n"
    )?;
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
    writeln!(
        page,
        "# Shards compared with Parquet, Vortex and Arrow IPC\n"
    )?;
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
        "Before its first run, a process had a peak of {idle} MB.\n"
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

/// Writes the time, the machine and the versions of the run, and whether the machine was idle.
fn made(page: &mut String, answers: &Answers) -> Result<()> {
    let header = &answers.header;
    writeln!(
        page,
        "Made on {}, processes per answer: {}, on {}, by\n",
        date(header.time),
        header.repeat,
        header.machine
    )?;
    writeln!(
        page,
        "```sh\ncd benches/peers\n\
         cargo run --release -- generate --data DIR\n\
         cargo run --release -- run --data DIR --repeat {}\n\
         cargo run --release -- report --data DIR\n```\n",
        header.repeat
    )?;
    let versions = header.versions.iter();
    let named: Vec<_> = versions.map(|(name, v)| format!("{name} {v}")).collect();
    writeln!(page, "Versions: {}.\n", named.join(", "))?;
    writeln!(page, "{}", answers.idleness.note())?;
    Ok(())
}
