//! The stripe files of a new shard. They are written together with the directory if they are small, and before it
//! otherwise, so that a lake of many files takes little memory.

use crate::error::{Result, Within};
use crate::io::{Place, RelativeUrl, Store};
use bytes::Bytes;

/// Most bytes of files that wait for the directory.
const MAX_HELD_BYTES: usize = 64 << 20;

/// The stripe files in the folder of a new directory file.
pub(super) struct AttachedStripeFiles<'a> {
    store: &'a Store,
    directory: &'a Place,
    held: Vec<(String, Bytes)>,
    held_bytes: usize,
    most_held: usize,
    /// Whether no file is written.
    is_dry: bool,
    /// Files that have been written.
    written: Vec<Place>,
    written_bytes: usize,
}

impl<'a> AttachedStripeFiles<'a> {
    pub(super) fn new(store: &'a Store, directory: &'a Place) -> Self {
        Self {
            store,
            directory,
            held: Vec::new(),
            held_bytes: 0,
            most_held: MAX_HELD_BYTES,
            is_dry: false,
            written: Vec::new(),
            written_bytes: 0,
        }
    }

    /// Returns files that only count their bytes.
    pub(super) fn unwritten(store: &'a Store, directory: &'a Place) -> Self {
        Self {
            is_dry: true,
            ..Self::new(store, directory)
        }
    }

    /// Adds a file. Writes the files so far if they are large.
    pub(super) async fn add(&mut self, name: String, bytes: Bytes) -> Result<()> {
        self.held_bytes += bytes.len();
        if self.is_dry {
            return Ok(());
        }
        self.held.push((name, bytes));
        if self.held_bytes > self.most_held {
            for (name, bytes) in self.take_held() {
                self.write(&name, bytes)
                    .await
                    .within(|| format!("file `{name}`"))?;
            }
        }
        Ok(())
    }

    /// Returns the files that have not been written.
    pub(super) fn take_held(&mut self) -> Vec<(String, Bytes)> {
        self.written_bytes += std::mem::take(&mut self.held_bytes);
        std::mem::take(&mut self.held)
    }

    /// Returns the bytes of all files.
    pub(super) fn bytes(&self) -> usize {
        self.written_bytes + self.held_bytes
    }

    async fn write(&mut self, name: &str, bytes: Bytes) -> Result<()> {
        let home = self.store.home();
        let url = RelativeUrl::from_file_name(name)?;
        self.written.push(self.directory.beside(&url));
        let mut folder = home.sinks(self.directory)?.into_async();
        let mut sink = folder.create(name).await?;
        sink.write_all(bytes).await?;
        sink.commit().await
    }

    /// Removes the written files. Nothing refers to them, and the caller reports an earlier error.
    pub(super) async fn remove(&self) {
        for file in &self.written {
            let _ = self.store.home().remove(file).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryFolder;
    use crate::read::ready_now;

    #[test]
    fn many_bytes_are_written_and_removed_after_an_error() {
        let store = Store::memory(MemoryFolder::default());
        let directory = store.home().find_new("a/t.amudai.shard".as_ref()).unwrap();
        let mut files = AttachedStripeFiles::new(&store, &directory);
        files.most_held = 100;
        let names = || {
            let listed = ready_now(store.home().list("a".as_ref())).unwrap();
            listed.len()
        };
        let sizes = [60, 40, 50, 10];
        for (i, (size, written)) in sizes.into_iter().zip([0, 0, 3, 3]).enumerate() {
            let bytes = Bytes::from(vec![7; size]);
            ready_now(files.add(format!("{i}.stripes"), bytes)).unwrap();
            assert_eq!(names(), written);
        }
        assert_eq!(files.bytes(), 160);
        let held = files.take_held();
        assert_eq!((held.len(), held[0].0.as_str()), (1, "3.stripes"));
        assert_eq!(files.bytes(), 160);
        ready_now(async {
            files.remove().await;
            Ok(())
        })
        .unwrap();
        assert_eq!(names(), 0);
    }
}
