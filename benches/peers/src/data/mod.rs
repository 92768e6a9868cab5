//! The tables that all formats store, as uncompressed Arrow IPC files.

mod embeddings;
mod filter;
mod log;
mod real;
mod records;
mod scale;
mod table;
mod tpch;
mod wide;

pub(crate) use filter::Filter;
pub use scale::Scale;
pub(crate) use table::BATCH_ROWS;

use anyhow::{Context, Result, bail};
use arrow_ipc::reader::FileReader;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use table::ROWS;

/// All tables, in the order of generation, measurement and report.
const TABLES: [&str; 19] = [
    "lineitem",
    "lineitem_utf8",
    "lineitem_sorted",
    "orders",
    "orders_utf8",
    "log",
    "flights",
    "birdstrikes",
    "hdfs",
    "bgl",
    "apache",
    "openstack",
    "city_temperature",
    "food_prices",
    "nyc29",
    "embeddings",
    "records",
    "wide",
    "wide_50000",
];

fn folder(data: &Path) -> PathBuf {
    data.join("source")
}

/// Returns the path of a table's file.
pub(crate) fn path(data: &Path, table: &str) -> PathBuf {
    folder(data).join(format!("{table}.arrow"))
}

/// Returns the names of the generated tables.
pub(crate) fn tables(data: &Path) -> Vec<&'static str> {
    let there = |table: &&str| path(data, table).is_file();
    TABLES.into_iter().filter(there).collect()
}

/// Opens a table, to read it batch by batch.
pub(crate) fn open(data: &Path, table: &str) -> Result<FileReader<BufReader<File>>> {
    let path = path(data, table);
    let file = File::open(&path).with_context(|| {
        let path = path.display();
        format!("table {table} is not there ({path}); make it with `peers generate`")
    })?;
    Ok(FileReader::try_new_buffered(file, None)?)
}

/// Returns the number of rows of a table.
pub(crate) fn rows(table: &FileReader<BufReader<File>>) -> Result<u64> {
    let rows = table
        .custom_metadata()
        .get(ROWS)
        .context("the table does not say how many rows it has; generate it again")?;
    Ok(rows.parse()?)
}

/// Writes the chosen tables, or all. Tables of real data are written only if their files are in the folder `real`.
pub(crate) fn generate(data: &Path, scale: Scale, real: &Path, chosen: &[String]) -> Result<()> {
    if let Some(unknown) = chosen.iter().find(|name| !TABLES.contains(&name.as_str())) {
        bail!(
            "no table is called {unknown}; there are {}",
            TABLES.join(", ")
        );
    }
    std::fs::create_dir_all(folder(data))?;
    let wanted = |name: &&str| chosen.is_empty() || chosen.iter().any(|c| c == name);
    for name in TABLES.into_iter().filter(wanted) {
        let table = match name {
            "lineitem" => Some(tpch::lineitem(scale)),
            "lineitem_utf8" => Some(tpch::as_utf8(tpch::lineitem(scale))),
            "lineitem_sorted" => Some(tpch::lineitem_sorted(scale)?),
            "orders" => Some(tpch::orders(scale)),
            "orders_utf8" => Some(tpch::as_utf8(tpch::orders(scale))),
            "log" => Some(log::table(scale)?),
            "embeddings" => Some(embeddings::table(scale)),
            "records" => Some(records::table(scale)),
            "wide" => Some(wide::table(scale.of(10_000))),
            "wide_50000" => Some(wide::table(scale.of(50_000))),
            name => real::table(name, scale, real)?,
        };
        let Some(table) = table else {
            eprintln!("{name}: left out, its file is not in {}", real.display());
            continue;
        };
        let path = path(data, name);
        let rows = table.write(&path)?;
        let bytes = std::fs::metadata(&path)?.len();
        eprintln!("{name}: {rows} rows, {bytes} bytes");
    }
    Ok(())
}
