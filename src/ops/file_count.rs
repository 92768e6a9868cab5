//! Files that a commit has given second names.

/// A number of files, and their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileCount {
    files: u64,
    bytes: u64,
}

impl FileCount {
    /// Number of files.
    pub fn files(self) -> u64 {
        self.files
    }

    /// Bytes of all of them.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Adds a file.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}
