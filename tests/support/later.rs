//! Readers with delayed answers.

#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use super::support::{NAME, polls::polls};
use arrow_shard::io::{
    AsyncContainer, AsyncReadAt, BoxFuture, ByteRange, MemoryFolder, ReadAt, RelativeUrl,
};
use arrow_shard::read::ShardOptions;
use arrow_shard::{Error, ErrorKind, Result, Shard};
use bytes::Bytes;
use futures::executor::block_on;
use std::sync::{Arc, Mutex};

/// The recorded requests of readers.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) requests: Vec<(String, ByteRange)>,
    /// Calls with one or several requests.
    pub(crate) calls: usize,
    waiting: usize,
    pub(crate) most_waiting: usize,
    /// The number of the call that fails.
    pub(crate) fails_at: Option<usize>,
}

pub(crate) type SharedLog = Arc<Mutex<Log>>;

/// A simulated remote file; answers take `polls` polls.
#[derive(Debug)]
pub(crate) struct Later {
    name: String,
    bytes: Bytes,
    polls: usize,
    log: SharedLog,
}

impl Later {
    pub(crate) fn new(name: &str, bytes: Bytes, polls: usize, log: &SharedLog) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            bytes,
            polls,
            log: log.clone(),
        })
    }

    /// Waits for the answer to a call.
    async fn wait(&self, ranges: &[ByteRange]) -> Result<()> {
        let fails = {
            let mut log = self.log.lock().unwrap();
            let asked = ranges.iter().map(|range| (self.name.clone(), *range));
            log.requests.extend(asked);
            log.waiting += 1;
            log.most_waiting = log.most_waiting.max(log.waiting);
            log.calls += 1;
            log.fails_at == Some(log.calls - 1)
        };
        polls(self.polls).await;
        self.log.lock().unwrap().waiting -= 1;
        match fails {
            true => Err(Error::new(ErrorKind::Io, "the network is gone")),
            false => Ok(()),
        }
    }
}

impl AsyncReadAt for Later {
    fn read_tail(&self, len: u64) -> BoxFuture<'_, Result<(Bytes, u64)>> {
        Box::pin(async move {
            let size = self.bytes.size()?;
            let range = ByteRange::try_new(size.saturating_sub(len), size)?;
            self.wait(&[range]).await?;
            Ok((self.bytes.read_at(range)?, size))
        })
    }

    fn read_ranges(&self, ranges: Vec<ByteRange>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        Box::pin(async move {
            self.wait(&ranges).await?;
            let read = ranges.iter().map(|range| self.bytes.read_at(*range));
            // Copies, because a remote file cannot return slices of resident memory.
            read.map(|bytes| Ok(Bytes::copy_from_slice(&bytes?)))
                .collect()
        })
    }

    fn known_size(&self) -> Option<u64> {
        (self.name == NAME).then_some(self.bytes.len() as u64)
    }
}

/// A simulated remote folder.
#[derive(Debug)]
pub(crate) struct LaterFolder {
    pub(crate) folder: MemoryFolder,
    pub(crate) polls: usize,
    pub(crate) log: SharedLog,
}

impl AsyncContainer for LaterFolder {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn AsyncReadAt>> {
        let bytes = self.folder.get(url.path());
        let bytes = bytes.ok_or_else(|| Error::new(ErrorKind::NotFound, "no such object"))?;
        Ok(Later::new(url.path(), bytes, self.polls, &self.log))
    }
}

/// Opens a written folder as a remote folder.
pub(crate) fn distant(
    folder: &MemoryFolder,
    polls: usize,
    options: ShardOptions,
) -> (Shard, SharedLog) {
    let log = SharedLog::default();
    let shard = block_on(open_distant(folder, polls, options, &log)).unwrap();
    (shard, log)
}

/// Opens a written folder like [`distant`], with a log that selects the failing call.
pub(crate) async fn open_distant(
    folder: &MemoryFolder,
    polls: usize,
    options: ShardOptions,
    log: &SharedLog,
) -> Result<Shard> {
    let root = Later::new(NAME, folder.get(NAME).unwrap(), polls, log);
    let files = Arc::new(LaterFolder {
        folder: folder.clone(),
        polls,
        log: log.clone(),
    });
    Shard::from_async_reader(root, files, options).await
}
