//! Reads objects of a store on the runtime of Tokio.

use super::open_file::{OpenFile, rows_of};
use crate::peer::traits::{Opened, Source, Want};
use crate::store::Remote;
use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use futures::{StreamExt, TryStreamExt};
use vortex::VortexSessionDefault;
use vortex::file::OpenOptionsSessionExt;
use vortex::io::runtime::tokio::TokioRuntime;
use vortex::io::session::RuntimeSessionExt;
use vortex::session::VortexSession;

pub(super) struct OpenObject {
    remote: Remote,
    file: OpenFile,
}

impl OpenObject {
    pub(super) fn new(source: &Source<'_>) -> Result<Self> {
        let remote = Remote::of(source.path, source.reads)?;
        let session =
            <VortexSession as VortexSessionDefault>::default().with_handle(TokioRuntime::current());
        let options = session.open_options().with_layout_reader_cache();
        let open = options.open_object_store(&remote.store, remote.path.clone());
        let file = OpenFile {
            file: remote.runtime.block_on(open)?,
            session,
            schema: source.schema.clone(),
        };
        Ok(Self { remote, file })
    }
}

impl Opened for OpenObject {
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()> {
        self.remote.runtime.block_on(async {
            let (scan, schema) = self.file.wanted(want)?;
            let mut stream = std::pin::pin!(scan.into_record_batch_stream(schema)?);
            while let Some(batch) = stream.next().await {
                visit(batch?);
            }
            Ok(())
        })
    }

    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch> {
        self.remote.runtime.block_on(async {
            let scan = rows_of(self.file.file.scan()?, rows)?;
            let stream = scan.into_record_batch_stream(self.file.schema.clone())?;
            let batches = stream.try_collect::<Vec<_>>().await?;
            let schema = batches.first().context("no rows")?.schema();
            Ok(concat_batches(&schema, &batches)?)
        })
    }
}
