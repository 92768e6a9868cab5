//! Makes the directory of an edited shard.

use super::column_file::ColumnFile;
use super::deletes::{Deleted, EditedStripe, deletes_shard};
use super::edited_columns::{EditedColumn, EditedColumns};
use super::field_adapter::FieldAdapter;
use super::needed_files::{NeededFile, ReferredFiles};
use super::source::SourceShard;
use super::unify::Unify;
use super::united_node::UnitedNode;
use crate::Limits;
use crate::column::encode_arrow_schema;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{DataEncoding, ShardProperties, StripeFieldDescriptor, Wire, WriterInfo};
use crate::io::{
    FileCount, FileToKeep, Place, RelativeUrl, SecondNames, VersionedFile, is_absolute,
    is_own_stripe_file, random_stripe_file_name,
};
use crate::read::StoredTypes;
use crate::sorting::SortingColumn;
use crate::write::{
    PositionedSink, StripeRecord, StripesMetadata, check_storable, shard_properties, stored_schema,
};
use arrow_schema::Schema;
use bytes::Bytes;
use std::collections::HashMap;

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditSummary {
    rows: u64,
    deleted_rows: u64,
    stripes: u64,
    bytes: u64,
    is_unchanged: bool,
    other_files: u64,
    linked: FileCount,
    cloned: FileCount,
    copied: FileCount,
}

impl EditSummary {
    pub(super) fn new(rows: u64, deleted_rows: u64, stripes: u64, bytes: u64) -> Self {
        Self {
            rows,
            deleted_rows,
            stripes,
            bytes,
            is_unchanged: false,
            other_files: 0,
            linked: FileCount::default(),
            cloned: FileCount::default(),
            copied: FileCount::default(),
        }
    }

    /// Returns the summary of a commit without changes.
    pub(super) fn unchanged(rows: u64, deleted_rows: u64, stripes: u64, other_files: u64) -> Self {
        Self {
            is_unchanged: true,
            other_files,
            ..Self::new(rows, deleted_rows, stripes, 0)
        }
    }

    /// Returns whether there was nothing to do. If an editor without changes commits in place, the file is not touched.
    pub fn is_unchanged(&self) -> bool {
        self.is_unchanged
    }

    /// Returns the number of rows, without deleted rows.
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of deleted rows.
    pub fn num_deleted_rows(&self) -> u64 {
        self.deleted_rows
    }

    /// Returns the number of stripes.
    pub fn num_stripes(&self) -> u64 {
        self.stripes
    }

    /// Returns the number of bytes written, or, in a dry run, to be written: the directory file, the lists of deleted
    /// rows, values of added columns, and stripes that `compact` rewrote; for `pack`, the whole file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of files that the shard refers to, without the directory file. They hold its rows, so all of
    /// them must be kept together with the directory file.
    pub fn num_other_files(&self) -> u64 {
        self.other_files
    }

    /// Returns the files with rows that got a second name in their folder as a hard link. The shard refers to them by
    /// that name, because another file may replace the first one. Both names refer to the same bytes, so removing one
    /// frees no space. If the file is overwritten in place by its first name (as `cp` does), the shard loses its rows,
    /// and reading them is an error.
    pub fn linked(&self) -> FileCount {
        self.linked
    }

    /// Returns the files with rows that were cloned, if the file system supports clones. The clone has the second name,
    /// and shares its blocks with the file until one of them changes.
    pub fn cloned(&self) -> FileCount {
        self.cloned
    }

    /// Returns the files with rows that were copied to get a second name, because the system has neither clones nor
    /// hard links.
    pub fn copied(&self) -> FileCount {
        self.copied
    }

    /// Adds the second names that a write has made.
    pub(super) fn with_names(self, names: SecondNames) -> Self {
        Self {
            linked: names.linked,
            cloned: names.cloned,
            copied: names.copied,
            ..self
        }
    }

    /// Sets the number of files that the shard refers to.
    #[cfg(feature = "parquet")]
    pub(super) fn with_other_files(self, other_files: u64) -> Self {
        Self {
            other_files,
            ..self
        }
    }

    /// Adds `more` written bytes to the summary.
    pub(super) fn with_bytes(self, more: u64) -> Self {
        Self {
            bytes: self.bytes + more,
            ..self
        }
    }
}

/// The contents of a directory.
#[derive(Debug)]
pub(super) struct DirectoryPlan<'a> {
    pub(super) wire: Wire,
    pub(super) sources: &'a [SourceShard],
    pub(super) columns: &'a EditedColumns,
    pub(super) schema: Schema,
    pub(super) stripes: &'a [EditedStripe],
    pub(super) properties: ShardProperties,
    pub(super) sorting_columns: Vec<SortingColumn>,
    pub(super) writers: Vec<WriterInfo>,
    pub(super) naming: Naming,
    /// How a table in memory unites types; `None` for a file.
    pub(super) unify: Option<Unify>,
}

/// How a directory refers to buffers in the directory file of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// By a new name for that file, so that the file can be replaced.
    Kept,
    /// By the name of that file, which must not be replaced then.
    AsItIs,
}

/// The files to write for an edited shard.
#[derive(Debug)]
pub(super) struct CommitFiles {
    /// New files that the directory refers to, by their names in its folder.
    pub(super) others: Vec<(String, Bytes)>,
    /// Directory files of sources that the directory refers to by a new name.
    pub(super) kept: Vec<FileToKeep>,
    /// Directory files of sources that the directory refers to by their present name.
    pub(super) as_they_are: Vec<VersionedFile>,
    /// Files that must exist already.
    pub(super) needed: Vec<NeededFile>,
    pub(super) directory: Vec<u8>,
    /// The fields that are stored with another type than the directory has. Only tables have them.
    pub(super) stored_types: StoredTypes,
    pub(super) summary: EditSummary,
}

impl DirectoryPlan<'_> {
    /// Returns the files for a shard with its directory file at `target`.
    pub(super) async fn files(self, target: &Place) -> Result<CommitFiles> {
        let capabilities = self.wire.capabilities();
        let has_deleted = self.stripes.iter().any(|stripe| stripe.deleted_rows > 0);
        let stored = self.columns.to_stored(has_deleted);
        check_storable(&stored, &capabilities)?;
        let most = Limits::default().max_stripes();
        if self.stripes.len() as u64 > most {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "{} stripes are more than the {most} that readers accept; compact the shard first",
                    self.stripes.len()
                ),
            ));
        }
        let deletes = Deletes::new(self.stripes, self.wire).await?;
        let mut references = FileReferences {
            target,
            naming: self.naming,
            kept: Vec::new(),
            as_they_are: Vec::new(),
            known: HashMap::new(),
        };
        let mut referred = ReferredFiles::default();
        let mut stored_types = StoredTypes::default();
        let nodes = nodes(self.columns);
        let count = nodes.len() + usize::from(has_deleted);
        let mut stripes = StripesMetadata::new(self.wire, count);
        for (ordinal, stripe) in self.stripes.iter().enumerate() {
            let record = self.record(
                ordinal,
                stripe,
                &nodes,
                &mut references,
                has_deleted.then_some(&deletes),
                &mut stored_types,
            );
            let record = record.await.within(|| format!("stripe {ordinal}"))?;
            referred.note(&record.fields, stripe.source > 0);
            stripes.push(record)?;
        }
        let arrow_schema = encode_arrow_schema(&self.schema)?;
        let mut properties = self.properties;
        properties.custom_properties = shard_properties(
            &arrow_schema,
            &self.sorting_columns,
            &self.writers,
            &properties.custom_properties,
        );
        let (mut directory, mut position) = (Vec::new(), 0);
        let mut out = PositionedSink::new(&mut directory, &mut position);
        out.begin()?;
        stripes.finish(&mut out, &stored_schema(stored, &capabilities), &properties)?;
        let deleted_rows = self.stripes.iter().map(|s| s.deleted_rows).sum();
        let added = self.columns.iter().filter_map(|c| c.added.as_ref()?.file());
        let deletes_file = deletes.file.as_ref().filter(|_| deletes.is_referred_to);
        let new_files = added.chain(deletes_file.map(|(file, _)| file));
        let others: Vec<(String, Bytes)> = new_files.map(ColumnFile::file).collect();
        let bytes: usize = others.iter().map(|(_, bytes)| bytes.len()).sum();
        let made = others.iter().map(|(name, _)| name);
        let made = made.chain(references.kept.iter().map(|kept| &kept.name));
        let needed = referred.into_needed(&made.map(String::as_str).collect())?;
        Ok(CommitFiles {
            summary: EditSummary {
                other_files: stripes.other_files(),
                ..EditSummary::new(
                    stripes.rows() - deleted_rows,
                    deleted_rows,
                    self.stripes.len() as u64,
                    (bytes + directory.len()) as u64,
                )
            },
            needed,
            kept: references.kept,
            as_they_are: references.as_they_are,
            others,
            directory,
            stored_types,
        })
    }

    /// Returns the directory's entry for a stripe. `deletes` are given if the directory says which rows are deleted.
    async fn record(
        &self,
        ordinal: usize,
        stripe: &EditedStripe,
        nodes: &[(&EditedColumn, &UnitedNode)],
        references: &mut FileReferences<'_>,
        deletes: Option<&Deletes>,
        stored_types: &mut StoredTypes,
    ) -> Result<StripeRecord> {
        let source = self.sources.get(stripe.source);
        let source = source.ok_or_else(|| Error::invalid("a stripe of no shard"))?;
        let keeps_deletes = stripe.deleted_rows > 0 && matches!(stripe.deleted, Deleted::AsThere);
        let deleted = keeps_deletes.then_some(&self.columns.deleted);
        let nodes_there = nodes.iter().map(|(_, node)| *node).chain(deleted);
        let ids: Vec<u32> = nodes_there.filter_map(|n| n.id_in(stripe.source)).collect();
        let mut urls = Vec::new();
        let described = references.descriptors(source, stripe.ordinal, &ids, &mut urls);
        let mut found = described.await?.into_iter();
        let mut fields = Vec::with_capacity(nodes.len() + 1);
        for (id, (column, node)) in (0u32..).zip(nodes) {
            let mut wire = source.shard.wire();
            let described = match (node.id_in(stripe.source), &column.added) {
                (Some(_), _) => found.next().flatten(),
                (None, Some(added)) => {
                    wire = added.wire().unwrap_or(wire);
                    added.descriptor(node, stripe, &mut urls).await?
                }
                (None, None) => None,
            };
            let Some(mut described) = described else {
                fields.push(None);
                continue;
            };
            let adapter = FieldAdapter {
                column,
                node,
                id,
                source,
                stripe,
                wire,
                new_wire: self.wire,
                unify: self.unify,
            };
            if let Some(stored) = adapter.adapt(&mut described)? {
                stored_types.add(ordinal as u64, stored);
            }
            fields.push(Some(described));
        }
        if let Some(deletes) = deletes {
            fields.push(if keeps_deletes {
                found.next().flatten()
            } else {
                deletes.descriptor(ordinal, &mut urls).await?
            });
        }
        Ok(StripeRecord {
            rows: stripe.rows,
            deleted_rows: stripe.deleted_rows,
            urls,
            fields,
            properties: match &stripe.properties {
                Some(properties) => properties.clone(),
                None => source.properties_of(stripe.ordinal).await?,
            },
        })
    }
}

/// Returns the URLs of the Parquet files outside of the folder of the shard that a field refers to.
fn files_elsewhere(field: &StripeFieldDescriptor) -> impl Iterator<Item = &str> {
    let files = field.encodings.iter().flat_map(|encoding| match encoding {
        DataEncoding::Parquet(files) => files.as_slice(),
        DataEncoding::Native(_) | DataEncoding::Unknown => &[],
    });
    let urls = files.filter_map(|file| Some(file.file_ref.as_ref()?.url.as_str()));
    urls.filter(|url| is_absolute(url))
}

/// Returns the nodes of all columns in the order of their numbers, each with its column.
fn nodes(columns: &EditedColumns) -> Vec<(&EditedColumn, &UnitedNode)> {
    let mut nodes = Vec::new();
    for column in columns.iter() {
        column.node.walk(&mut |node| nodes.push((column, node)));
    }
    nodes
}

/// The references of the new directory to the files of the sources.
struct FileReferences<'a> {
    target: &'a Place,
    naming: Naming,
    kept: Vec<FileToKeep>,
    as_they_are: Vec<VersionedFile>,
    /// The URLs by place, and by whether the place is a source's own directory file: only such a file may get a new
    /// name. Also holds the version of the first source that referred to the place.
    known: HashMap<(Place, bool), (String, Option<String>)>,
}

impl FileReferences<'_> {
    /// Reads the descriptors of the nodes with these ids in a stripe of a source, with the URLs that the new directory
    /// has for the files. Adds these URLs to `urls`.
    async fn descriptors(
        &mut self,
        source: &SourceShard,
        stripe: u64,
        ids: &[u32],
        urls: &mut Vec<String>,
    ) -> Result<Vec<Option<StripeFieldDescriptor>>> {
        let mut rebase = |artifact: Option<&RelativeUrl>| {
            let url = self.lead(source, artifact)?;
            if !urls.contains(&url) {
                urls.push(url.clone());
            }
            Ok(url)
        };
        let described = source.shard.descriptors(stripe, ids, &mut rebase).await;
        let described = described.within(|| source.place.element())?;
        for url in described.iter().flatten().flat_map(files_elsewhere) {
            if !urls.iter().any(|known| known == url) {
                urls.push(url.to_owned());
            }
        }
        Ok(described)
    }

    /// Returns the URL of an artifact of a source.
    fn lead(&mut self, source: &SourceShard, artifact: Option<&RelativeUrl>) -> Result<String> {
        let place = match artifact {
            None => source.place.clone(),
            Some(url) => source.place.beside(url),
        };
        let is_directory_file = artifact.is_none() && !source.is_artifact;
        let key = (place, is_directory_file);
        let file = |version| VersionedFile {
            place: key.0.clone(),
            version,
        };
        if let Some((url, version)) = self.known.get(&key) {
            if is_directory_file && *version != source.shard.version() {
                return Err(file(version.clone()).conflict());
            }
            return Ok(url.clone());
        }
        let version = source.shard.version();
        let url = if is_directory_file {
            self.directory_file(file(version.clone()))?
        } else {
            // The error names the place of the shard if that is the cause: callers do not know the files that it refers
            // to.
            key.0.seen_from(self.target).or_else(|error| {
                source.place.seen_from(self.target)?;
                Err(error)
            })?
        };
        let url = url.to_string();
        self.known.insert(key, (url.clone(), version));
        Ok(url)
    }

    /// Returns the URL of the directory file of a source.
    fn directory_file(&mut self, file: VersionedFile) -> Result<RelativeUrl> {
        let place = &file.place;
        // A file that is named as one with rows is never replaced.
        let is_stripe_file =
            (place.names().last().and_then(|name| name.to_str())).is_some_and(is_own_stripe_file);
        match self.naming {
            Naming::AsItIs if place == self.target => Err(holds_rows()),
            _ if place != self.target && (is_stripe_file || self.naming == Naming::AsItIs) => {
                let url = place.seen_from(self.target)?;
                self.as_they_are.push(file);
                Ok(url)
            }
            _ => {
                let name = random_stripe_file_name();
                place.seen_from(self.target)?;
                let other = place.beside(&RelativeUrl::from_file_name(&name)?);
                let url = other.seen_from(self.target)?;
                self.kept.push(FileToKeep { file, name });
                Ok(url)
            }
        }
    }
}

/// Returns the error for an object that must not be replaced.
pub(super) fn holds_rows() -> Error {
    Error::unsupported(
        "the object holds rows beside the directory, and cannot be replaced without copying them; commit \
         to another name",
    )
}

/// The deleted rows of stripes with changed deletes, as a file to write.
struct Deletes {
    /// The file, and the schema id of its only column.
    file: Option<(ColumnFile, u32)>,
    /// Whether a stripe refers to the file. A stripe with all rows deleted records that without the file.
    is_referred_to: bool,
    /// The ordinal of each changed stripe in the shard, with its ordinal in the file.
    stripes: HashMap<usize, u64>,
}

impl Deletes {
    async fn new(stripes: &[EditedStripe], wire: Wire) -> Result<Self> {
        let changed = stripes.iter().enumerate();
        let changed = changed.filter_map(|(i, stripe)| match &stripe.deleted {
            Deleted::Rows(rows) => Some((i, rows)),
            Deleted::AsThere | Deleted::Nothing => None,
        });
        let (ordinals, rows): (Vec<usize>, Vec<_>) = changed.unzip();
        if rows.is_empty() {
            return Ok(Self {
                file: None,
                is_referred_to: false,
                stripes: HashMap::new(),
            });
        }
        let file = ColumnFile::of(deletes_shard(&rows, wire)?)?;
        let columns = file.shard().stored_columns().await?;
        let id = columns.first().map_or(0, |(_, node)| node.schema_id);
        let is_referred_to = rows.iter().any(|rows| rows.len() < rows.rows());
        Ok(Self {
            file: Some((file, id)),
            is_referred_to,
            stripes: ordinals.into_iter().zip(0..).collect(),
        })
    }

    /// Returns the descriptor for the deleted rows of a stripe.
    async fn descriptor(
        &self,
        stripe: usize,
        urls: &mut Vec<String>,
    ) -> Result<Option<StripeFieldDescriptor>> {
        match (self.stripes.get(&stripe), &self.file) {
            (Some(&ordinal), Some((file, id))) => file.descriptor(ordinal, *id, urls).await,
            _ => Ok(None),
        }
    }
}
