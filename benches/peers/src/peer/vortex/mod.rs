//! Vortex files, on a runtime that does all work on the calling thread.

mod open_file;
mod store;

use super::traits::{Batches, Opened, Peer, Source, Want};
use crate::counted::Reads;
use crate::mapped::map;
use crate::question::Access;
use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use futures::future::BoxFuture;
use open_file::{OpenFile, rows_of};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use vortex::VortexSessionDefault;
use vortex::array::ArrayRef;
use vortex::array::buffer::BufferHandle;
use vortex::arrow::ArrowSessionExt;
use vortex::buffer::{Alignment, ByteBuffer};
use vortex::compressor::BtrBlocksCompressorBuilder;
use vortex::error::VortexResult;
use vortex::file::{OpenOptionsSessionExt, WriteOptionsSessionExt, WriteStrategyBuilder};
use vortex::io::runtime::BlockingRuntime;
use vortex::io::runtime::single::SingleThreadRuntime;
use vortex::io::session::RuntimeSessionExt;
use vortex::io::std_file::FileReadAt;
use vortex::io::{CoalesceConfig, VortexReadAt};
use vortex::layout::scan::scan_builder::ScanBuilder;
use vortex::session::VortexSession;

pub(super) struct Vortex {
    runtime: Rc<SingleThreadRuntime>,
    session: VortexSession,
    compact: bool,
}

impl Vortex {
    /// Returns the format with the writer's default.
    pub(super) fn standard() -> Self {
        Self::new(false)
    }

    /// Returns the format with zstd and pco among the encodings.
    pub(super) fn compact() -> Self {
        Self::new(true)
    }

    fn new(compact: bool) -> Self {
        let runtime = Rc::new(SingleThreadRuntime::default());
        let session = <VortexSession as VortexSessionDefault>::default();
        Self {
            session: session.with_handle(runtime.handle()),
            runtime,
            compact,
        }
    }
}

impl Peer for Vortex {
    fn write(&self, path: &Path, schema: &SchemaRef, batches: &mut Batches<'_>) -> Result<()> {
        let mut options = self.session.write_options();
        if self.compact {
            let compressor = BtrBlocksCompressorBuilder::from_session(&self.session).with_compact();
            let strategy = WriteStrategyBuilder::from_session(&self.session)
                .with_btrblocks_builder(compressor)
                .build();
            options = options.with_strategy(strategy);
        }
        let dtype = self.session.arrow().from_arrow_schema(schema)?;
        let file = BufWriter::new(File::create(path)?);
        let mut writer = options.blocking(&*self.runtime).writer(file, dtype);
        for batch in batches {
            let array = self
                .session
                .arrow()
                .from_arrow_record_batch(batch?, schema)?;
            writer.push(array)?;
        }
        writer.finish()?;
        Ok(())
    }

    fn open(&self, source: &Source<'_>, access: Access) -> Result<Option<Box<dyn Opened>>> {
        let options = self.session.open_options().with_layout_reader_cache();
        let file = match access {
            Access::File => {
                let file = CountedReadAt {
                    file: FileReadAt::open(source.path, self.runtime.handle())?,
                    reads: source.reads.clone(),
                };
                self.runtime.block_on(options.open(Arc::new(file)))?
            }
            Access::Map => options.open_buffer(ByteBuffer::from(map(source.path)?))?,
            Access::Store => return Ok(Some(Box::new(store::OpenObject::new(source)?))),
            Access::TrustedMap => return Ok(None),
        };
        Ok(Some(Box::new(OpenVortex {
            runtime: self.runtime.clone(),
            file: OpenFile {
                session: self.session.clone(),
                file,
                schema: source.schema.clone(),
            },
        })))
    }
}

/// A file that counts its reads.
struct CountedReadAt {
    file: FileReadAt,
    reads: Arc<Reads>,
}

impl VortexReadAt for CountedReadAt {
    fn uri(&self) -> Option<&Arc<str>> {
        self.file.uri()
    }

    fn coalesce_config(&self) -> Option<CoalesceConfig> {
        self.file.coalesce_config()
    }

    fn concurrency(&self) -> usize {
        self.file.concurrency()
    }

    fn size(&self) -> BoxFuture<'static, VortexResult<u64>> {
        self.file.size()
    }

    fn read_at(
        &self,
        offset: u64,
        length: usize,
        alignment: Alignment,
    ) -> BoxFuture<'static, VortexResult<BufferHandle>> {
        self.reads.count(length);
        self.file.read_at(offset, length, alignment)
    }
}

struct OpenVortex {
    runtime: Rc<SingleThreadRuntime>,
    file: OpenFile,
}

impl OpenVortex {
    fn batches(
        &self,
        scan: ScanBuilder<ArrayRef>,
        schema: &SchemaRef,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>>> {
        let reader = scan.into_record_batch_reader(schema.clone(), &*self.runtime)?;
        Ok(reader.map(|batch| Ok(batch?)))
    }
}

impl Opened for OpenVortex {
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()> {
        let (scan, schema) = self.file.wanted(want)?;
        for batch in self.batches(scan, &schema)? {
            visit(batch?);
        }
        Ok(())
    }

    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch> {
        let scan = rows_of(self.file.file.scan()?, rows)?;
        let batches = self
            .batches(scan, &self.file.schema)?
            .collect::<Result<Vec<_>>>()?;
        let schema = batches.first().context("no rows")?.schema();
        Ok(concat_batches(&schema, &batches)?)
    }
}
