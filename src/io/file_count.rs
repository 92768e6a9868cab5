//! Counts of the files to which a commit has given second names.

/// A number of files, and their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileCount {
    files: u64,
    bytes: u64,
}

impl FileCount {
    /// Returns the number of files.
    pub fn num_files(self) -> u64 {
        self.files
    }

    /// Returns the total number of bytes.
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
