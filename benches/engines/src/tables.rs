//! Creates the tables.

use crate::hits::Hits;
use crate::subject::Subject;
use anyhow::{Context, Result};
use arrow::array::{AsArray, RecordBatchReader};
use arrow::datatypes::{SchemaRef, UInt64Type};
use arrow_shard::ops::attach;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::PartitionStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

/// Tables that are measured together, by queries of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tables {
    /// The tables of TPC-H.
    Tpch,
    /// The log of `benches/peers`.
    Log,
    /// A table like the `hits` of ClickBench.
    Hits,
}

impl Tables {
    /// Returns the name for `--tables`.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Tpch => "tpch",
            Self::Log => "log",
            Self::Hits => "hits",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Tpch => "TPC-H",
            Self::Log => "The log",
            Self::Hits => "Hits",
        }
    }

    /// Returns the names of the tables.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Tpch => &[
                "customer", "lineitem", "nation", "orders", "part", "partsupp", "region",
                "supplier",
            ],
            Self::Log => &["log"],
            Self::Hits => &["hits"],
        }
    }
}

/// The sizes of generated tables.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Size {
    /// Scale factor of TPC-H; the log has a tenth of its lines below 1.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Rows of `hits`.
    #[arg(long, default_value_t = 2_000_000)]
    rows: usize,
    /// Seed of `hits`.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Writes each table in each format, and attaches its Parquet file, unless the file exists.
pub(crate) fn prepare(data: &Path, tables: &[Tables], size: Size) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    for &table in tables.iter().flat_map(|tables| tables.names()) {
        let missing = |subject: &&Subject| !subject.file(data, table).is_file();
        let all = [Subject::Shard, Subject::Parquet, Subject::Vortex];
        for subject in all.iter().filter(missing) {
            let source = Arc::new(Source::new(data, table, size)?);
            let path = subject.file(data, table);
            std::fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
            let session = subject.session(1)?;
            let streamed = StreamingTable::try_new(source.schema.clone(), vec![source.clone()])?;
            session.register_table("source", Arc::new(streamed))?;
            let copy = format!(
                "COPY source TO '{}' STORED AS {} {}",
                path.display(),
                subject.format(),
                subject.copy_options()
            );
            let copied = async { session.sql(&copy).await?.collect().await };
            let copied = runtime.block_on(copied).with_context(|| copy.clone())?;
            let rows = copied.first().context("COPY returns a number")?;
            let rows = rows.column(0).as_primitive::<UInt64Type>().value(0);
            let bytes = std::fs::metadata(&path)?.len();
            eprintln!(
                "{table}: {rows} rows, {bytes} bytes of {}",
                subject.format()
            );
        }
        attach_table(data, table)?;
    }
    Ok(())
}

/// Makes a shard over the Parquet file of a table, unless it exists.
fn attach_table(data: &Path, table: &str) -> Result<()> {
    let path = Subject::Attached.file(data, table);
    if !path.is_file() {
        attach([Subject::Parquet.file(data, table)], path)?;
    }
    Ok(())
}

/// A generated table. It is generated again for every format, because large tables do not fit in memory.
#[derive(Debug)]
struct Source {
    data: PathBuf,
    table: &'static str,
    size: Size,
    schema: SchemaRef,
}

impl Source {
    fn new(data: &Path, table: &'static str, size: Size) -> Result<Self> {
        Ok(Self {
            data: data.to_owned(),
            table,
            size,
            schema: generate(data, table, size)?.schema(),
        })
    }
}

impl PartitionStream for Source {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (data, table, size) = (self.data.clone(), self.table, self.size);
        let mut stream = RecordBatchReceiverStream::builder(self.schema.clone(), 2);
        let batches = stream.tx();
        stream.spawn_blocking(move || {
            let generated = generate(&data, table, size)
                .map_err(|error| DataFusionError::External(error.into()))?;
            for batch in generated {
                if batches.blocking_send(batch.map_err(Into::into)).is_err() {
                    // The writer has failed, and reports why.
                    break;
                }
            }
            Ok(())
        });
        stream.build()
    }
}

fn generate(data: &Path, table: &str, size: Size) -> Result<Box<dyn RecordBatchReader>> {
    let Size { scale, rows, seed } = size;
    Ok(match table {
        "customer" => Box::new(CustomerArrow::new(CustomerGenerator::new(scale, 1, 1))),
        "lineitem" => Box::new(LineItemArrow::new(LineItemGenerator::new(scale, 1, 1))),
        "nation" => Box::new(NationArrow::new(NationGenerator::new(scale, 1, 1))),
        "orders" => Box::new(OrderArrow::new(OrderGenerator::new(scale, 1, 1))),
        "part" => Box::new(PartArrow::new(PartGenerator::new(scale, 1, 1))),
        "partsupp" => Box::new(PartSuppArrow::new(PartSuppGenerator::new(scale, 1, 1))),
        "region" => Box::new(RegionArrow::new(RegionGenerator::new(scale, 1, 1))),
        "supplier" => Box::new(SupplierArrow::new(SupplierGenerator::new(scale, 1, 1))),
        "hits" => Box::new(Hits::new(rows, seed)),
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
