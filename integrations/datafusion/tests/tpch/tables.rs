//! Writes the tables of TPC-H at scale factor 0.1, large ones to several files.

use crate::common::{FileOptions, Format};
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow_shard::ops::{attach, list_parquet_files};
use std::path::Path;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

pub(crate) const TABLES: [&str; 8] = [
    "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
];

const SCALE: f64 = 0.1;

/// Number of files of lineitem; other tables have one file.
const LINEITEM_FILES: i32 = 3;

/// Rows of a stripe: each file of lineitem has three stripes.
const STRIPE_ROWS: u64 = 70_000;

/// Writes all tables.
pub(crate) fn write(format: Format, folder: &Path) {
    write_some(format, folder, &TABLES);
}

/// Writes the given tables, each to a folder of its own.
pub(crate) fn write_some(format: Format, folder: &Path, tables: &[&str]) {
    for &table in tables {
        let files = if table == "lineitem" {
            LINEITEM_FILES
        } else {
            1
        };
        let folder = folder.join(table);
        std::fs::create_dir_all(&folder).unwrap();
        for file in 1..=files {
            let batches = generate(table, file, files);
            let schema = batches.schema();
            let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
            let options = FileOptions {
                stripe_rows: STRIPE_ROWS,
                ..FileOptions::default()
            };
            let path = folder.join(format!("{file}.{}", format.extension()));
            format.write(&path, &schema, &batches, &options);
        }
    }
}

/// Makes a shard over the Parquet files of each table, next to them.
pub(crate) fn attach_all(folder: &Path) {
    for table in TABLES {
        let folder = folder.join(table);
        let files = list_parquet_files(&folder).unwrap();
        attach(files, folder.join("all.shard")).unwrap();
    }
}

fn generate(table: &str, part: i32, parts: i32) -> Box<dyn RecordBatchReader> {
    match table {
        "customer" => Box::new(CustomerArrow::new(CustomerGenerator::new(
            SCALE, part, parts,
        ))),
        "lineitem" => Box::new(LineItemArrow::new(LineItemGenerator::new(
            SCALE, part, parts,
        ))),
        "nation" => Box::new(NationArrow::new(NationGenerator::new(SCALE, part, parts))),
        "orders" => Box::new(OrderArrow::new(OrderGenerator::new(SCALE, part, parts))),
        "part" => Box::new(PartArrow::new(PartGenerator::new(SCALE, part, parts))),
        "partsupp" => Box::new(PartSuppArrow::new(PartSuppGenerator::new(
            SCALE, part, parts,
        ))),
        "region" => Box::new(RegionArrow::new(RegionGenerator::new(SCALE, part, parts))),
        "supplier" => Box::new(SupplierArrow::new(SupplierGenerator::new(
            SCALE, part, parts,
        ))),
        table => panic!("TPC-H has no table {table}"),
    }
}
