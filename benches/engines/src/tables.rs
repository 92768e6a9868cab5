//! Creates the tables of TPC-H, and the log.

use crate::subject::Subject;
use anyhow::{Context, Result};
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::error::ArrowError;
use datafusion::datasource::MemTable;
use std::path::Path;
use std::sync::Arc;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

pub(crate) const TABLES: [&str; 9] = [
    "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier", "log",
];

/// Writes each table in each format, unless its file exists.
pub(crate) fn prepare(data: &Path, scale: f64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    for table in TABLES {
        let missing = |subject: &&Subject| !subject.file(data, table).is_file();
        let all = [Subject::Shard, Subject::Parquet, Subject::Vortex];
        let subjects: Vec<&Subject> = all.iter().filter(missing).collect();
        if subjects.is_empty() {
            continue;
        }
        let generated = generate(data, table, scale)?;
        let schema = generated.schema();
        let batches: Vec<RecordBatch> = generated.collect::<Result<_, ArrowError>>()?;
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let source = Arc::new(MemTable::try_new(schema, vec![batches])?);
        for subject in subjects {
            let path = subject.file(data, table);
            std::fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
            let session = subject.session(1)?;
            session.register_table("source", source.clone())?;
            let copy = format!(
                "COPY source TO '{}' STORED AS {} {}",
                path.display(),
                subject.format(),
                subject.copy_options()
            );
            let copied = async { session.sql(&copy).await?.collect().await };
            runtime.block_on(copied).with_context(|| copy.clone())?;
            let bytes = std::fs::metadata(&path)?.len();
            eprintln!(
                "{table}: {rows} rows, {bytes} bytes of {}",
                subject.format()
            );
        }
    }
    Ok(())
}

fn generate(data: &Path, table: &str, scale: f64) -> Result<Box<dyn RecordBatchReader>> {
    Ok(match table {
        "customer" => Box::new(CustomerArrow::new(CustomerGenerator::new(scale, 1, 1))),
        "lineitem" => Box::new(LineItemArrow::new(LineItemGenerator::new(scale, 1, 1))),
        "nation" => Box::new(NationArrow::new(NationGenerator::new(scale, 1, 1))),
        "orders" => Box::new(OrderArrow::new(OrderGenerator::new(scale, 1, 1))),
        "part" => Box::new(PartArrow::new(PartGenerator::new(scale, 1, 1))),
        "partsupp" => Box::new(PartSuppArrow::new(PartSuppGenerator::new(scale, 1, 1))),
        "region" => Box::new(RegionArrow::new(RegionGenerator::new(scale, 1, 1))),
        "supplier" => Box::new(SupplierArrow::new(SupplierGenerator::new(scale, 1, 1))),
        log => {
            let scale = if scale < 1.0 {
                peers::Scale::Small
            } else {
                peers::Scale::Full
            };
            Box::new(peers::table(data, log, scale)?)
        }
    })
}
