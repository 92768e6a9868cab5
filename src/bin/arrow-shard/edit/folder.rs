//! The shards of a folder, and the data that `ls` shows of each.

#[cfg(feature = "cloud")]
use crate::cloud::FolderObjects;
use crate::external_files::ExternalFileArgs;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::folders::{files_below, local_files_below};
use crate::location::{open_one_of_many, stored, wait};
use crate::progress::bar;
use crate::text;
use arrow_array::RecordBatch;
use arrow_shard::io::{Location, RelativeUrl};
use arrow_shard::ops::list_shards_async;
use arrow_shard::read::ShardOptions;
use arrow_shard::{Result, Shard};
use std::path::{Path, PathBuf};

/// Number of shards of a store opened concurrently, and the number of bytes read from the end of each, which suffices
/// for the metadata of most.
#[cfg(feature = "cloud")]
const AT_ONCE: usize = 32;
#[cfg(feature = "cloud")]
const TAIL_BYTES: u64 = 64 << 10;

/// An open shard.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) shard: Shard,
    /// Size of the directory file.
    pub(super) bytes: u64,
    /// The sorting columns, each with its statistics.
    pub(super) sorted: Vec<(String, RecordBatch)>,
    /// The files that the shard needs in addition to the directory file.
    pub(super) files: Vec<RelativeUrl>,
    /// The files among `files` that are missing.
    pub(super) missing: Vec<RelativeUrl>,
}

/// A file that may be a shard.
pub(super) struct Listed {
    pub(super) location: Location,
    /// Its path below the folder, or as it was given.
    pub(super) name: String,
    /// Whether an argument names the file, so that it is expected to be a shard.
    pub(super) is_named: bool,
    /// The open shard, or the reason why it cannot be opened.
    pub(super) found: Result<Found>,
}

/// Opens the files of a folder that may be shards by their names, and of its subfolders if `recursive`. Returns them in
/// the order of their names, and the errors of subfolders that cannot be read.
pub(super) fn list(
    folder: &Location,
    recursive: bool,
    external: &ExternalFileArgs,
) -> Result<(Vec<Listed>, Vec<Failure>)> {
    wait(folder, async {
        let files = FolderFiles::of(folder, recursive, external).await?;
        let mut failures = Vec::new();
        let shards: Vec<(Location, PathBuf)> = if recursive {
            shards_below(folder, &mut failures).await?
        } else {
            let name = |shard: Location| {
                let name = Path::new(shard.name()).file_name().unwrap_or_default();
                let name = PathBuf::from(name);
                (shard, name)
            };
            let shards = list_shards_async(folder).await?;
            shards.into_iter().map(name).collect()
        };
        Ok((open_all(shards, false, &files).await, failures))
    })
}

/// Opens files by path, which arguments name, or which globs match.
pub(super) fn list_files(
    paths: Vec<PathBuf>,
    is_named: bool,
    external: &ExternalFileArgs,
) -> Result<Vec<Listed>> {
    let located = paths.into_iter().map(|path| Ok((stored(&path)?, path)));
    let located: Vec<(Location, PathBuf)> = located.collect::<Result<_>>()?;
    let folder = |file: &Location| {
        let folder = Path::new(file.name()).parent();
        file.store().at(folder.unwrap_or_else(|| Path::new("")))
    };
    let mut listed = Vec::new();
    for of_one_folder in located.chunk_by(|(a, _), (b, _)| {
        a.store().is_same(b.store()) && Path::new(a.name()).parent() == Path::new(b.name()).parent()
    }) {
        let Some((first, _)) = of_one_folder.first() else {
            continue;
        };
        listed.extend(wait(first, async {
            let files = match of_one_folder {
                [_] => FolderFiles::of_one(first, external).await?,
                _ => FolderFiles::of(&folder(first), false, external).await?,
            };
            Ok(open_all(of_one_folder.to_vec(), is_named, &files).await)
        })?);
    }
    Ok(listed)
}

/// Opens files of a folder, and shows the progress.
async fn open_all(
    shards: Vec<(Location, PathBuf)>,
    is_named: bool,
    files: &FolderFiles,
) -> Vec<Listed> {
    let progress = &bar(shards.len() as u64, "shards", false);
    let looks = shards.into_iter().map(|(location, name)| async move {
        let found = Found::of(&location, files).await;
        progress.inc(1);
        Listed {
            location,
            name: name.to_string_lossy().into_owned(),
            is_named,
            found,
        }
    });
    let listed = all(looks).await;
    progress.finish_and_clear();
    listed
}

/// Lists the files of a folder and its subfolders, without files of other formats by their names. Adds the errors of
/// local subfolders that cannot be read.
async fn shards_below(
    folder: &Location,
    failures: &mut Vec<Failure>,
) -> Result<Vec<(Location, PathBuf)>> {
    let mut files = match folder.path() {
        Some(path) => local_files_below(&path, failures)?,
        None => files_below(folder).await?,
    };
    files.retain(|(_, path)| {
        let is_stripe = path.extension().is_some_and(|suffix| suffix == "stripe");
        let format = FileFormat::by_name(path);
        !is_stripe && format.is_none_or(|format| format == FileFormat::Shard)
    });
    Ok(files)
}

/// Waits for all looks, several at a time. Looks at local files finish one after the other.
async fn all<T>(looks: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    #[cfg(feature = "cloud")]
    {
        use futures_util::{StreamExt, stream};
        stream::iter(looks).buffered(AT_ONCE).collect().await
    }
    #[cfg(not(feature = "cloud"))]
    {
        let mut listed = Vec::new();
        for look in looks {
            listed.push(look.await);
        }
        listed
    }
}

impl Found {
    async fn of(location: &Location, files: &FolderFiles) -> Result<Self> {
        let shard = files.open(location).await?;
        let mut sorted = Vec::new();
        for column in shard.sorting_columns_async().await? {
            let statistics = shard.statistics_async([column.path.as_str()]).await?;
            sorted.push((column.path, statistics));
        }
        let referenced = shard.referenced_files_async().await?;
        Ok(Self {
            bytes: files.size(location),
            missing: files.missing(location, &referenced).await?,
            shard,
            sorted,
            files: referenced,
        })
    }

    /// Returns a message about missing files, if there are any.
    pub(super) fn incomplete(&self) -> Option<String> {
        let first = self.missing.first()?;
        Some(format!(
            "{} of the {} that it needs {} missing: `{}`{}; copy the files to the same places, or pack the shard where \
             it is complete: `arrow-shard pack` makes one file of it, after `arrow-shard compact --external` if it has \
             rows in Parquet files",
            self.missing.len(),
            text::count(self.files.len() as u64, "file"),
            if self.missing.len() == 1 { "is" } else { "are" },
            first.path(),
            if self.missing.len() == 1 {
                ""
            } else {
                " and others"
            },
        ))
    }
}

/// The files of a folder.
enum FolderFiles {
    Local(ShardOptions),
    #[cfg(feature = "cloud")]
    Objects(FolderObjects, ShardOptions),
}

impl FolderFiles {
    #[cfg_attr(
        not(feature = "cloud"),
        expect(unused_variables, reason = "all folders are local")
    )]
    async fn of(folder: &Location, recursive: bool, external: &ExternalFileArgs) -> Result<Self> {
        #[cfg(feature = "cloud")]
        if let Some(objects) = FolderObjects::of(folder, recursive).await? {
            return Self::objects(objects, external);
        }
        Self::local(external)
    }

    /// Returns one file as all files, so that its folder is not listed.
    #[cfg_attr(
        not(feature = "cloud"),
        expect(unused_variables, reason = "all files are local")
    )]
    async fn of_one(file: &Location, external: &ExternalFileArgs) -> Result<Self> {
        #[cfg(feature = "cloud")]
        if let Some(objects) = FolderObjects::of_one(file).await? {
            return Self::objects(objects, external);
        }
        Self::local(external)
    }

    fn local(external: &ExternalFileArgs) -> Result<Self> {
        let folders = external.blocking_folders()?;
        let options = ShardOptions::default().with_external_files(folders);
        Ok(Self::Local(options))
    }

    #[cfg(feature = "cloud")]
    fn objects(objects: FolderObjects, external: &ExternalFileArgs) -> Result<Self> {
        let options = ShardOptions::default().with_external_files(external.folders()?);
        Ok(Self::Objects(objects, options.with_tail_bytes(TAIL_BYTES)))
    }

    async fn open(&self, shard: &Location) -> Result<Shard> {
        match self {
            Self::Local(options) => open_one_of_many(Path::new(shard.name()), options.clone()),
            #[cfg(feature = "cloud")]
            Self::Objects(_, options) => Shard::open_with_async(shard, options.clone()).await,
        }
    }

    fn size(&self, shard: &Location) -> u64 {
        match self {
            Self::Local(_) => std::fs::metadata(shard.name()).map_or(0, |found| found.len()),
            #[cfg(feature = "cloud")]
            Self::Objects(objects, _) => objects.size(shard),
        }
    }

    /// Returns the files that do not exist, of those that a shard refers to.
    async fn missing(&self, shard: &Location, files: &[RelativeUrl]) -> Result<Vec<RelativeUrl>> {
        let mut missing = Vec::new();
        match self {
            Self::Local(_) => {
                let path = Path::new(shard.name());
                // References are relative to the folder of the file, not of a link to it.
                let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
                let exists = |file: &RelativeUrl| target.with_file_name(file.path()).exists();
                missing.extend(files.iter().filter(|file| !exists(file)).cloned());
            }
            #[cfg(feature = "cloud")]
            Self::Objects(objects, _) => {
                for file in files {
                    if !objects.contain(shard, file).await? {
                        missing.push(file.clone());
                    }
                }
            }
        }
        Ok(missing)
    }
}
