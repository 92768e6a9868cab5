//! Runs the conformance suites of readers and sinks on all implementations of the crate.

use crate::moto::Moto;
use crate::server::Server;
use arrow_shard::io::conformance::{
    check_async_reader, check_async_sinks, check_reader, check_sinks, content,
};
use arrow_shard::io::{
    ByteRange, LocalFile, LocalFolder, MappedFile, MemoryFolder, ObjectFolder, ObjectReader, ReadAt,
};
use arrow_shard::{ErrorKind, Result};
use bytes::Bytes;
use object_store::http::HttpBuilder;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreExt};
use std::sync::Arc;

const SIZES: [usize; 4] = [1, 2, 1000, 300_000];

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(future)
}

#[test]
fn readers_of_memory_files_and_maps() {
    let folder = tempfile::tempdir().unwrap();
    for size in SIZES.into_iter().chain([0]) {
        let content = content(size);
        check_reader(&Bytes::from(content.clone()), &content).unwrap();
        let path = folder.path().join(format!("{size}"));
        std::fs::write(&path, &content).unwrap();
        check_reader(&LocalFile::open(&path).unwrap(), &content).unwrap();
        if size > 0 {
            // SAFETY: the file does not change.
            #[expect(unsafe_code, reason = "a memory map")]
            let map = unsafe { MappedFile::open(&path) };
            check_reader(&map.unwrap(), &content).unwrap();
        }
    }
}

#[test]
fn folders_of_memory_and_files() {
    let folder = MemoryFolder::new();
    check_sinks(&mut folder.clone(), &folder).unwrap();
    assert_eq!(folder.names(), [""; 0]);
    let below = tempfile::tempdir().unwrap();
    let folder = LocalFolder::open(below.path()).unwrap();
    check_sinks(&mut folder.clone(), &folder).unwrap();
    assert_eq!(std::fs::read_dir(below.path()).unwrap().count(), 0);
}

/// Checks objects of a store, for reading and writing.
fn check_store(store: &Arc<dyn ObjectStore>) {
    wait(async {
        let path = Path::from("a b/an object");
        for size in SIZES {
            let content = content(size);
            store.put(&path, content.clone().into()).await.unwrap();
            let reader = ObjectReader::new(store.clone(), path.clone());
            check_async_reader(&reader, &content).await.unwrap();
        }
        let prefix = Path::from("folder of 1 %");
        // As a whole, and in parts; S3 requires parts of at least 5 MiB.
        for part_bytes in [8 << 20, 100_000] {
            let folder = ObjectFolder::new(store.clone(), prefix.clone());
            let folder = folder.with_part_bytes(part_bytes);
            let checked = check_async_sinks(&mut folder.clone(), &folder).await;
            match store.to_string().starts_with("AmazonS3") && part_bytes < 5 << 20 {
                true => assert!(checked.is_err()),
                false => checked.unwrap(),
            }
        }
    });
}

#[test]
fn objects_of_memory_files_and_s3() {
    check_store(&(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>));
    let below = tempfile::tempdir().unwrap();
    let files = LocalFileSystem::new_with_prefix(below.path()).unwrap();
    check_store(&(Arc::new(files) as Arc<dyn ObjectStore>));
    let Some(moto) = Moto::start() else { return };
    check_store(&(Arc::new(moto.store()) as Arc<dyn ObjectStore>));
}

#[test]
fn objects_behind_http() {
    let server = Server::start();
    let client = ClientOptions::new().with_allow_http(true);
    let builder = HttpBuilder::new().with_url(server.url());
    let store = builder.with_client_options(client).build().unwrap();
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    for size in SIZES {
        let content = content(size);
        server.put("/t", content.clone().into());
        let reader = ObjectReader::new(store.clone(), Path::from("t"));
        wait(check_async_reader(&reader, &content)).unwrap();
    }
}

/// A reader with one fault.
#[derive(Debug)]
struct Faulty(Bytes, u8);

impl ReadAt for Faulty {
    fn size(&self) -> Result<u64> {
        Ok(self.0.len() as u64 + u64::from(self.1 == 0))
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        let range = match self.1 {
            // Returns the part of the range that exists, like `read`.
            1 => ByteRange::try_new(
                range.start().min(self.0.size()?),
                range.end().min(self.0.size()?),
            )?,
            2 if range.len() > 1 => ByteRange::try_new(range.start(), range.end() - 1)?,
            _ => range,
        };
        self.0.read_at(range)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let mut read = ranges
            .iter()
            .map(|range| self.read_at(*range))
            .collect::<Result<Vec<_>>>()?;
        if self.1 == 3 {
            read.sort_by_key(Bytes::len);
        }
        Ok(read)
    }

    fn resident(&self) -> Option<Bytes> {
        (self.1 == 4).then(Bytes::new)
    }
}

#[test]
fn faults_are_found() {
    let content = content(1000);
    for fault in 0..5 {
        let error = check_reader(&Faulty(content.clone().into(), fault), &content).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{fault}: {error:#}");
    }
    check_reader(&Faulty(content.clone().into(), 9), &content).unwrap();
}
