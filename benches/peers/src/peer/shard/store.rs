//! Reads objects of a store with streams.

use super::wanted::wanted;
use crate::peer::traits::{Opened, Source, Want};
use crate::store::Remote;
use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_shard::{Projection, Shard, ShardOptions};
use futures::StreamExt;

pub(crate) struct OpenObject {
    remote: Remote,
    shard: Shard,
}

impl OpenObject {
    pub(super) fn new(source: &Source<'_>) -> Result<Self> {
        Self::open(Remote::of(source.path, source.reads)?)
    }

    pub(crate) fn open(remote: Remote) -> Result<Self> {
        let options = ShardOptions::default();
        let open = Shard::open_object(remote.store.clone(), &remote.path, options);
        let shard = remote.runtime.block_on(open)?;
        Ok(Self { remote, shard })
    }
}

impl Opened for OpenObject {
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()> {
        self.remote.runtime.block_on(async {
            let mut stream = wanted(&self.shard, want)?.build_stream().await?;
            while let Some(batch) = stream.next().await {
                visit(batch?);
            }
            Ok(())
        })
    }

    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch> {
        let take = self.shard.take_async(rows, Projection::All);
        Ok(self.remote.runtime.block_on(take)?)
    }
}
