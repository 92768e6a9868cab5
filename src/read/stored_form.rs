//! The stored form of an open shard, for directories that refer to its buffers.

#![cfg_attr(
    target_family = "wasm",
    allow(
        dead_code,
        reason = "shards in memory need less than those in folders and stores"
    )
)]

use super::open_shard::Shard;
use super::scan::constant::constant_bool;
use super::scan::rows::{RowReader, ScanFormat};
use super::shard::fetch::StepBytes;
use super::shard::metadata::{Metadata, ready};
use super::shard::waiting::{give_way, ready_now_or};
use crate::Limits;
use crate::buffer::{Selection, Storage, StoredRange};
use crate::error::{Error, Result};
use crate::format::{
    DataEncoding, DataType, FieldDescriptor, IndexCollection, IndexDescriptor, StripeDirectory,
    StripeFieldDescriptor, StripeProperties, UrlList,
};
use crate::io::{ByteRange, Reference, RelativeUrl};
use crate::read::{Predicate, Projection};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// About how many descriptors to fetch at once.
const AT_ONCE: usize = 1 << 15;
/// Most rows to test at a time.
const BATCH_ROWS: u32 = 65_536;
/// Most bits of deleted rows to read at a time.
const BATCH_BITS: u64 = 1 << 20;

impl Shard {
    /// Returns the stripes as the directory lists them.
    pub(crate) async fn stripe_directories(&self) -> Result<Vec<StripeDirectory>> {
        let metadata = &self.metadata;
        metadata
            .run(|step| Ok(Some(ready!(metadata.stripes(step)).to_vec())))
            .await
    }

    /// Returns the Arrow fields of the columns and their nodes, with complete labels. Packed columns are members of
    /// their structs.
    pub(crate) async fn stored_columns(&self) -> Result<Vec<(Field, DataType)>> {
        let metadata = &self.metadata;
        let columns = metadata.run(|step| metadata.stored_columns(step));
        let columns = columns.await?.into_iter();
        Ok(columns.map(|column| (column.field, column.node)).collect())
    }

    /// Returns the version of the directory file when it was opened, if it is known.
    pub(crate) fn version(&self) -> Option<String> {
        self.metadata.artifacts.version()
    }

    /// Returns the files that the shard refers to, except for the directory file: the files in its URL list, and in
    /// every reference of its metadata. Reads the descriptors of the fields with these schema ids in all stripes.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for an encoding of unknown kind, which may refer to other
    /// files.
    pub(crate) async fn references(&self, ids: &[u32]) -> Result<BTreeSet<RelativeUrl>> {
        let (metadata, artifacts) = (&self.metadata, &self.metadata.artifacts);
        let mut urls: BTreeSet<RelativeUrl> =
            self.referenced_files_async().await?.into_iter().collect();
        let mut note = |url: &str| -> Result<()> {
            if let Some(Reference::Relative(url)) = artifacts.target(url)? {
                urls.insert(url);
            }
            Ok(())
        };
        let stripes: Vec<u64> = (0..self.num_stripes()).collect();
        for some in stripes.chunks((AT_ONCE / ids.len().max(1)).max(1)) {
            let loaded = metadata.run(|step| {
                // Request all descriptors before returning, so that one round fetches them all.
                let described = some
                    .iter()
                    .map(|&stripe| fields(metadata, step, stripe, ids));
                let described: Vec<Option<Described>> = described.collect::<Result<_>>()?;
                let indexes = some
                    .iter()
                    .map(|&stripe| metadata.stripe_indexes(step, stripe));
                let indexes: Vec<Option<IndexCollection>> = indexes.collect::<Result<_>>()?;
                let described: Option<Vec<Described>> = described.into_iter().collect();
                let indexes: Option<Vec<IndexCollection>> = indexes.into_iter().collect();
                Ok(described.zip(indexes))
            });
            let (described, indexes) = loaded.await?;
            for (_, mut descriptor) in described.into_iter().flatten().flatten() {
                if descriptor.encodings.contains(&DataEncoding::Unknown) {
                    return Err(Error::unsupported(
                        "a field has an encoding of a kind that this version does not know, which may refer to \
                         other files; use a newer version of arrow-shard",
                    ));
                }
                descriptor.for_each_url(&mut |url| note(url))?;
            }
            for index in indexes.iter().flat_map(|indexes| &indexes.0) {
                note_index(index, &mut note)?;
            }
        }
        let indexes = metadata.run(|step| metadata.indexes(step)).await?;
        for index in &indexes.0 {
            note_index(index, &mut note)?;
        }
        self.shard_descriptors(ids, 0).await?;
        let directory = &metadata.directory;
        let parts = [&directory.schema_ref, &directory.properties_ref];
        let stripes = self.stripe_directories().await?;
        let of_stripes = stripes.iter().map(|stripe| &stripe.properties_ref);
        for reference in parts.into_iter().chain(of_stripes).flatten() {
            note(&reference.url)?;
        }
        // The references of all other metadata were resolved when they were read.
        for artifact in 1..artifacts.count() {
            urls.extend(artifacts.url_of(artifact));
        }
        Ok(urls)
    }

    /// Lists the files that the shard needs in addition to its directory file, such as stripe files, as its URL list
    /// names them: relative to the folder of the directory file. Does not check whether they exist. The list is empty
    /// for a shard in one file. `ops::pack` turns any other shard into one, unless it has values in Parquet files.
    /// Parquet files outside of the folder are omitted: see [`external_files`](Self::external_files).
    ///
    /// # Errors
    /// Fails if the list is damaged, or if a URL leads out of the folder to a place that the
    /// [options](crate::read::ShardOptions::with_external_files) do not allow.
    pub fn referenced_files(&self) -> Result<Vec<RelativeUrl>> {
        ready_now_or("`referenced_files_async`", self.referenced_files_async())
    }

    /// Lists the files that the shard needs in addition to its directory file, for a shard behind an asynchronous
    /// reader.
    ///
    /// # Errors
    /// Returns the same errors as [`referenced_files`](Self::referenced_files).
    pub async fn referenced_files_async(&self) -> Result<Vec<RelativeUrl>> {
        let metadata = &self.metadata;
        let list = metadata.run(|step| metadata.url_list(step)).await?;
        self.files_of(&list)
    }

    /// Lists the Parquet files outside of the folder of the directory file that the shard needs, by their absolute
    /// URLs.
    ///
    /// # Errors
    /// Returns the same errors as [`referenced_files`](Self::referenced_files).
    pub fn external_files(&self) -> Result<Vec<String>> {
        ready_now_or("`external_files_async`", self.external_files_async())
    }

    /// Lists the Parquet files outside of the folder of the directory file that the shard needs, for a shard behind an
    /// asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`referenced_files`](Self::referenced_files).
    pub async fn external_files_async(&self) -> Result<Vec<String>> {
        let metadata = &self.metadata;
        let list = metadata.run(|step| metadata.url_list(step)).await?;
        let mut files = Vec::new();
        for url in &list.0 {
            if metadata.artifacts.target(url)?.is_none() {
                files.push(url.clone());
            }
        }
        Ok(files)
    }

    fn files_of(&self, list: &UrlList) -> Result<Vec<RelativeUrl>> {
        let mut urls = Vec::with_capacity(list.0.len());
        for url in &list.0 {
            if let Some(Reference::Relative(url)) = self.metadata.artifacts.target(url)? {
                urls.push(url);
            }
        }
        Ok(urls)
    }

    /// Returns the shard-level descriptors of the fields with these schema ids, in a list of `len` entries by id.
    pub(crate) async fn shard_descriptors(
        &self,
        ids: &[u32],
        len: usize,
    ) -> Result<Vec<Option<FieldDescriptor>>> {
        let metadata = &self.metadata;
        let mut found: Vec<Option<FieldDescriptor>> = vec![None; len];
        let loaded = metadata.run(|step| {
            // Request all descriptors before returning, so that one round fetches them all.
            let mut complete = true;
            for &id in ids {
                match (
                    metadata.shard_descriptor(step, id)?,
                    found.get_mut(id as usize),
                ) {
                    (Some(described), Some(place)) => *place = described,
                    (Some(_), None) => {}
                    (None, _) => complete = false,
                }
            }
            Ok(complete.then_some(()))
        });
        loaded.await?;
        Ok(found)
    }

    /// Returns the number of the file that a reference in the directory file names.
    pub(crate) fn artifact(&self, url: &str) -> Result<u32> {
        self.metadata.artifacts.resolve(url, 0)
    }

    /// Returns the name of a file, for errors.
    pub(crate) fn artifact_name(&self, artifact: u32) -> String {
        self.metadata.artifacts.name_of(artifact)
    }

    /// Returns the size of a file.
    pub(crate) async fn artifact_size(&self, artifact: u32) -> Result<u64> {
        self.metadata.artifacts.size_of(artifact).await
    }

    /// Reads bytes of files, as they are stored.
    pub(crate) async fn read_artifacts(&self, places: &[(u32, ByteRange)]) -> Result<Vec<Bytes>> {
        let places = places.iter();
        let places: Vec<StoredRange> = places
            .map(|&(artifact, range)| StoredRange { artifact, range })
            .collect();
        self.metadata.artifacts.read(&places).await
    }

    /// Returns the properties of a stripe.
    pub(crate) async fn properties_of(&self, stripe: u64) -> Result<StripeProperties> {
        let metadata = &self.metadata;
        metadata
            .run(|step| metadata.stripe_properties(step, stripe))
            .await
    }

    /// Reads the descriptors of the fields with these schema ids in all stripes, with one round per kind of metadata.
    /// The shard keeps them as far as its cache allows. Returns the properties of each stripe, and the files that the
    /// shard refers to.
    pub(crate) async fn load_stripes(
        &self,
        ids: &[u32],
    ) -> Result<(Vec<StripeProperties>, Vec<RelativeUrl>)> {
        let metadata = &self.metadata;
        let stripes: Vec<u64> = (0..self.num_stripes()).collect();
        let mut properties = Vec::with_capacity(stripes.len());
        let mut urls = None;
        for some in stripes.chunks((AT_ONCE / ids.len().max(1)).max(1)) {
            let loaded = metadata.run(|step| {
                // Request all metadata before returning, so that one round fetches them all.
                let (mut found, mut complete) = (Vec::with_capacity(some.len()), true);
                if urls.is_none() {
                    urls = metadata.url_list(step)?;
                    complete = urls.is_some();
                }
                for &stripe in some {
                    match metadata.stripe_properties(step, stripe)? {
                        Some(properties) => found.push(properties),
                        None => complete = false,
                    }
                    for &id in ids {
                        complete &= metadata.field(step, (stripe, id))?.is_some();
                    }
                }
                Ok(complete.then_some(found))
            });
            properties.extend(loaded.await?);
        }
        let files = match urls {
            Some(urls) => self.files_of(&urls)?,
            None => self.referenced_files_async().await?,
        };
        Ok((properties, files))
    }

    /// Returns the descriptors of the fields of a stripe with these schema ids; `None` for a field that the stripe does
    /// not have. `rebase` returns the URL of each reference, given the artifact that it leads to; `None` is the
    /// directory file. Absolute URLs of Parquet files outside of the folder stay.
    pub(crate) async fn descriptors(
        &self,
        stripe: u64,
        ids: &[u32],
        rebase: &mut (dyn FnMut(Option<&RelativeUrl>) -> Result<String> + Send),
    ) -> Result<Vec<Option<StripeFieldDescriptor>>> {
        let metadata = &self.metadata;
        let fields = metadata
            .run(|step| fields(metadata, step, stripe, ids))
            .await?;
        let mut descriptors = Vec::with_capacity(fields.len());
        for described in fields {
            let Some((holder, mut descriptor)) = described else {
                descriptors.push(None);
                continue;
            };
            let holder = metadata.artifacts.url_of(holder);
            descriptor.for_each_url(&mut |url| {
                match metadata.artifacts.target(url)? {
                    Some(Reference::This) => *url = rebase(holder.as_ref())?,
                    Some(Reference::Relative(other)) => *url = rebase(Some(&other))?,
                    None => {}
                }
                Ok(())
            })?;
            descriptors.push(Some(descriptor));
        }
        Ok(descriptors)
    }

    /// Calls `found` with the numbers of the matching rows, in ascending ranges. Deleted rows count, because an
    /// editor may have restored some of them. A stripe in which all rows match costs one call. Calls `left` with
    /// the number of rows still to be tested, in the end 0.
    ///
    /// # Errors
    /// Returns the errors of a scan, and the first error of `found`, which ends the search.
    pub(crate) async fn for_each_match(
        &self,
        predicate: Predicate,
        mut found: impl FnMut(Range<u64>) -> Result<()>,
        mut left: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let scan = self
            .scan()
            .with_projection(Projection::Indices(Vec::new()))
            .with_row_number("row")
            .with_filter(predicate.with_all_due())
            .with_deleted_rows(true)
            .with_batch_size(BATCH_ROWS as usize);
        let (mut reader, _, _) = scan.planned(true).await?;
        loop {
            while let Some(rows) = reader.take_known().await? {
                found(rows)?;
                left(reader.remaining_rows())?;
            }
            // Rows without a match count as progress, too.
            if reader.test_some().await? {
                left(reader.remaining_rows())?;
                give_way().await;
                continue;
            }
            let Some(batch) = reader.next_batch().await.transpose()? else {
                break;
            };
            let rows = batch.column(0).as_primitive::<UInt64Type>().values();
            for run in rows.chunk_by(|a, b| a + 1 == *b) {
                if let (Some(first), Some(last)) = (run.first(), run.last()) {
                    found(*first..last + 1)?;
                }
            }
            left(reader.remaining_rows())?;
            give_way().await;
        }
        left(0)
    }

    /// Returns the limits of this reader.
    pub(crate) fn limits(&self) -> &Limits {
        self.metadata.artifacts.limits()
    }

    /// Calls `found` with the deleted rows among `rows`, the rows of a stripe, in ascending ranges. A stripe in which
    /// all rows are deleted costs one call, regardless of their number.
    pub(crate) async fn for_each_deleted(
        &self,
        stripe: u64,
        rows: Range<u64>,
        mut found: impl FnMut(Range<u64>),
    ) -> Result<()> {
        let metadata = &self.metadata;
        if !metadata.has_deleted() || rows.is_empty() {
            return Ok(());
        }
        let column = metadata.run(|step| metadata.deleted_column(step)).await?;
        let key = (stripe, column.node.schema_id);
        let open = metadata.run(|step| metadata.open_field(step, key, &column.node));
        let layout = open.await?.layout;
        layout.check_rows(&Selection::range(0..rows.end - rows.start))?;
        match &layout.storage {
            Storage::Null => return Ok(()),
            Storage::Constant(value) => {
                if constant_bool(value)? {
                    found(rows);
                }
                return Ok(());
            }
            Storage::Buffers(_) | Storage::External(_) => {}
        }
        let format = ScanFormat {
            metadata: metadata.clone(),
            schema: Arc::new(Schema::new(vec![column.field.clone()])),
            columns: [column].into(),
            row_number: false,
            batch_size: BATCH_BITS,
            most_matches: u64::MAX,
            rows: rows.clone(),
            shared: None,
            bytes_read: Arc::default(),
            gives_way: false,
        };
        let mut first = rows.start;
        let mut reader = RowReader::new(format, rows);
        while let Some(batch) = reader.next_batch().await? {
            let flags = batch.column(0).as_boolean();
            let both = flags.nulls().map(|known| flags.values() & known.inner());
            let deleted = both.as_ref().unwrap_or(flags.values());
            for (from, to) in deleted.set_slices() {
                found(first + from as u64..first + to as u64);
            }
            first += flags.len() as u64;
        }
        Ok(())
    }
}

/// Calls `note` with the URL of each file of an index.
fn note_index(index: &IndexDescriptor, note: &mut impl FnMut(&str) -> Result<()>) -> Result<()> {
    let files = index.artifacts.iter();
    let mut files = files.filter_map(|artifact| artifact.data_ref.as_ref());
    files.try_for_each(|reference| note(&reference.url))
}

/// The descriptors of the fields of a stripe, each with the artifact that contains it.
type Described = Vec<Option<(u32, StripeFieldDescriptor)>>;

fn fields(
    metadata: &Metadata,
    step: &StepBytes<'_>,
    stripe: u64,
    ids: &[u32],
) -> Result<Option<Described>> {
    // Request all descriptors before returning, so that one round fetches them all.
    let fields = ids.iter().map(|&id| metadata.field(step, (stripe, id)));
    let fields: Vec<_> = fields.collect::<Result<_>>()?;
    let described = |field: Option<Arc<_>>| -> Option<Option<(u32, StripeFieldDescriptor)>> {
        let field: Arc<super::shard::metadata::StripeField> = field?;
        Some(field.described().map(|(holder, it)| (holder, it.clone())))
    };
    Ok(fields.into_iter().map(described).collect())
}
