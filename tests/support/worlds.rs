//! Places of shards for tests: local folders, or an object store.

use arrow_array::RecordBatch;
use arrow_shard::io::{Container, Location, MemoryFolder, ReadAt, RelativeUrl, Store};
use arrow_shard::ops::{
    CompactOptions, EditSummary, ShardEditor, VacuumOptions, compact_async, plan_compaction_async,
    vacuum_async,
};
use arrow_shard::read::{Predicate, ShardOptions};
use arrow_shard::write::{AsyncShardWriter, Layout, ShardWriter, WriterOptions};
use arrow_shard::{ErrorKind, Result, Shard};
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// Operations on shards in a place, by the paths of their directory files.
pub(crate) enum World {
    Folder(TempDir),
    Memory(MemoryFolder),
    Store {
        store: Arc<dyn ObjectStore>,
        /// Objects with rows in addition to a directory, which are never replaced.
        with_rows: Mutex<BTreeSet<String>>,
    },
}

/// Objects of a folder and its subfolders, by their references from that folder.
#[derive(Debug, Default)]
struct Copied(BTreeMap<String, Bytes>);

impl Container for Copied {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        match self.0.get(url.path()) {
            Some(bytes) => Ok(Arc::new(bytes.clone())),
            None => Err(arrow_shard::Error::new(
                ErrorKind::NotFound,
                url.to_string(),
            )),
        }
    }
}

/// Waits for an answer in a runtime, which stores may need.
fn wait<T>(answer: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(answer)
}

/// Writes a shard at a location.
async fn write(location: Location, batch: &RecordBatch, options: WriterOptions) {
    let writer = AsyncShardWriter::create_with(location, batch.schema(), options);
    let mut writer = writer.await.unwrap();
    writer.write(batch).await.unwrap();
    writer.finish().await.unwrap();
}

impl World {
    pub(crate) fn folder() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        Self::Folder(folder)
    }

    pub(crate) fn memory() -> Self {
        Self::Memory(MemoryFolder::new())
    }

    pub(crate) fn store(store: Arc<dyn ObjectStore>) -> Self {
        Self::Store {
            store,
            with_rows: Mutex::default(),
        }
    }

    fn path(folder: &TempDir, name: &str) -> PathBuf {
        folder.path().join(name)
    }

    /// Returns whether another directory may replace this one.
    pub(crate) fn may_replace(&self, name: &str) -> bool {
        match self {
            Self::Folder(_) | Self::Memory(_) => true,
            Self::Store { with_rows, .. } => !with_rows.lock().unwrap().contains(name),
        }
    }

    pub(crate) fn write(&self, name: &str, batch: &RecordBatch, options: WriterOptions) {
        match self {
            Self::Folder(folder) => {
                let path = Self::path(folder, name);
                let mut writer = ShardWriter::create_with(path, batch.schema(), options).unwrap();
                writer.write(batch).unwrap();
                writer.finish().unwrap();
            }
            Self::Memory(_) => {
                let options = options.with_layout(Layout::SingleFile);
                wait(write(self.at(name), batch, options));
            }
            Self::Store { with_rows, .. } => {
                if options.layout() == Layout::SingleFile {
                    with_rows.lock().unwrap().insert(name.to_owned());
                }
                wait(write(self.at(name), batch, options));
            }
        }
    }

    /// Opens the shard; in a store, in its current state, even if it is replaced later.
    pub(crate) fn open(&self, name: &str) -> Shard {
        match self {
            Self::Folder(_) | Self::Memory(_) => Shard::open(self.at(name)).unwrap(),
            Self::Store { store, .. } => {
                let folder = match name.rsplit_once('/') {
                    Some((folder, _)) => format!("{folder}/"),
                    None => String::new(),
                };
                let mut all = Copied::default();
                wait(async {
                    let objects: Vec<_> = store.list(None).try_collect().await.unwrap();
                    for object in objects {
                        let object = object.location;
                        if let Some(url) = object.as_ref().strip_prefix(&folder) {
                            let bytes = store.get(&object).await.unwrap().bytes().await;
                            all.0.insert(url.to_owned(), bytes.unwrap());
                        }
                    }
                });
                let directory = Arc::new(all.0[&name[folder.len()..]].clone());
                Shard::from_reader(directory, Arc::new(all), ShardOptions::default()).unwrap()
            }
        }
    }

    /// The location of a shard, and of the folder for an empty name.
    fn at(&self, name: &str) -> Location {
        match self {
            Self::Folder(folder) => Store::folder(folder.path()).unwrap().at(name),
            Self::Memory(folder) => Store::memory(folder.clone()).at(name),
            Self::Store { store, .. } => Store::object(store.clone()).at(name),
        }
    }

    pub(crate) fn editor(&self, name: &str) -> ShardEditor {
        wait(ShardEditor::open_async(self.at(name))).unwrap()
    }

    pub(crate) fn append(&self, editor: &mut ShardEditor, name: &str) {
        wait(editor.append_async(name)).unwrap();
    }

    pub(crate) fn delete(&self, editor: &mut ShardEditor, predicate: &Predicate) -> u64 {
        wait(editor.delete_async(predicate)).unwrap()
    }

    pub(crate) fn delete_rows(&self, editor: &mut ShardEditor, rows: &[u64]) -> u64 {
        wait(editor.delete_rows_async(rows)).unwrap()
    }

    pub(crate) fn undelete_rows(&self, editor: &mut ShardEditor, rows: &[u64]) -> u64 {
        wait(editor.undelete_rows_async(rows)).unwrap()
    }

    /// Commits in place, or to another shard.
    pub(crate) fn commit(&self, editor: ShardEditor, target: Option<&str>) -> Result<EditSummary> {
        match target {
            None => wait(editor.commit_async()),
            Some(target) => wait(editor.commit_to_async(target)),
        }
    }

    pub(crate) fn compaction(&self, name: &str, options: &CompactOptions) -> Vec<Range<u64>> {
        wait(plan_compaction_async(self.at(name), options.clone())).unwrap()
    }

    pub(crate) fn compact(&self, name: &str, options: &CompactOptions) -> Option<EditSummary> {
        wait(compact_async(self.at(name), options.clone())).unwrap()
    }

    /// Removes unused files, and returns their number.
    pub(crate) fn vacuum(&self) -> usize {
        let now = VacuumOptions::default().with_min_age(Duration::ZERO);
        wait(vacuum_async(self.at(""), now)).unwrap().len()
    }
}
