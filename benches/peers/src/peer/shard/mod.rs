//! Shards.

mod store;
mod wanted;

pub(crate) use store::OpenObject;

use super::traits::{Batches, Opened, Peer, Source, Want};
use crate::counted::Reads;
use crate::mapped::map;
use crate::question::Access;
use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_shard::io::{ByteRange, LocalFile, NoContainer, ReadAt, WriteSink};
use arrow_shard::write::{ColumnOptions, Profile, ShardWriter, WriterOptions};
use arrow_shard::{Projection, Shard, ShardOptions};
use bytes::Bytes;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use wanted::wanted;

pub(super) struct Shards {
    profile: Profile,
    threads: usize,
    packed: bool,
}

impl Shards {
    pub(super) fn new(profile: Profile, threads: usize) -> Self {
        Self {
            profile,
            threads,
            packed: false,
        }
    }

    /// Returns the format with the members of each struct column as a packed group.
    pub(super) fn packed(threads: usize) -> Self {
        Self {
            packed: true,
            ..Self::new(Profile::Balanced, threads)
        }
    }

    fn options(&self, schema: &SchemaRef) -> WriterOptions {
        let options = WriterOptions::default()
            .with_profile(self.profile)
            .with_threads(self.threads);
        let columns = schema.fields().iter();
        let packed = columns.filter(|field| self.packed && field.data_type().is_nested());
        packed.fold(options, |options, field| {
            let column = ColumnOptions::default().with_packed_group(true);
            options.with_column(field.name(), column)
        })
    }
}

impl Peer for Shards {
    fn write(&self, path: &Path, schema: &SchemaRef, batches: &mut Batches<'_>) -> Result<()> {
        let options = self.options(schema);
        // A writer that gets a path would sync the file.
        let sink = WriteSink::new(BufWriter::new(File::create(path)?));
        let mut writer = ShardWriter::try_new(sink, schema.clone(), options)?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.finish()?;
        Ok(())
    }

    fn open(&self, source: &Source<'_>, access: Access) -> Result<Option<Box<dyn Opened>>> {
        if access == Access::Store {
            return Ok(Some(Box::new(store::OpenObject::new(source)?)));
        }
        let options = ShardOptions::default().with_verify_checksums(access != Access::TrustedMap);
        let reader: Arc<dyn ReadAt> = match access {
            Access::File => Arc::new(CountedReadAt {
                file: LocalFile::open(source.path)?,
                reads: source.reads.clone(),
            }),
            Access::Map | Access::TrustedMap | Access::Store => Arc::new(map(source.path)?),
        };
        let shard = Shard::from_reader(reader, Arc::new(NoContainer), options)?;
        Ok(Some(Box::new(OpenShard {
            shard,
            threads: self.threads,
        })))
    }
}

/// A local file that counts its reads.
#[derive(Debug)]
struct CountedReadAt {
    file: LocalFile,
    reads: Arc<Reads>,
}

impl ReadAt for CountedReadAt {
    fn size(&self) -> arrow_shard::Result<u64> {
        self.file.size()
    }

    fn read_at(&self, range: ByteRange) -> arrow_shard::Result<Bytes> {
        let bytes = self.file.read_at(range)?;
        self.reads.count(bytes.len());
        Ok(bytes)
    }

    fn is_near(&self) -> bool {
        self.file.is_near()
    }
}

struct OpenShard {
    shard: Shard,
    threads: usize,
}

impl Opened for OpenShard {
    fn scan(&mut self, want: Want<'_>, visit: &mut dyn FnMut(RecordBatch)) -> Result<()> {
        for batch in wanted(&self.shard, want)?
            .with_threads(self.threads)
            .build()?
        {
            visit(batch?);
        }
        Ok(())
    }

    fn take(&mut self, rows: &[u64]) -> Result<RecordBatch> {
        Ok(self.shard.take(rows, Projection::All)?)
    }
}
