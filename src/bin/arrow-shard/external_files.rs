//! The folders outside of the folders of shards where Parquet files may be, as a command line option.

#[cfg(feature = "cloud")]
use crate::cloud::objects_of;
use crate::location::stored;
use arrow_shard::Result;
use arrow_shard::io::ExternalFiles;
use std::path::PathBuf;

/// Option of every command that opens or attaches Parquet files of a shard.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ExternalFileArgs {
    /// Allow Parquet files of an attached shard to be in this folder or below, outside of the shard's own folder; may
    /// be repeated
    #[arg(long, value_name = "FOLDER")]
    external_files: Vec<PathBuf>,
}

impl ExternalFileArgs {
    /// Whether the option is given.
    pub(crate) fn is_given(&self) -> bool {
        !self.external_files.is_empty()
    }

    /// Returns the folders, for operations that may wait for stores.
    pub(crate) fn folders(&self) -> Result<ExternalFiles> {
        let mut allowed = ExternalFiles::default();
        for folder in &self.external_files {
            allowed = allowed.with_folder(stored(folder)?)?;
        }
        Ok(allowed)
    }

    /// Returns the folders, for shards that are read by blocking requests.
    #[cfg(feature = "cloud")]
    pub(crate) fn blocking_folders(&self) -> Result<ExternalFiles> {
        let mut allowed = ExternalFiles::default();
        for folder in &self.external_files {
            let location = stored(folder)?;
            allowed = match objects_of(&location) {
                Some(objects) => allowed.with_container(&folder.to_string_lossy(), objects)?,
                None => allowed.with_folder(location)?,
            };
        }
        Ok(allowed)
    }

    /// Returns the folders, all of which are local.
    #[cfg(not(feature = "cloud"))]
    pub(crate) fn blocking_folders(&self) -> Result<ExternalFiles> {
        self.folders()
    }
}
