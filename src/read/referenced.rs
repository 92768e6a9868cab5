//! What a directory says that refers to the buffers of an open shard: the shard as it is stored.

#![cfg_attr(
    target_family = "wasm",
    allow(
        dead_code,
        reason = "shards in memory need less than those in folders and stores"
    )
)]

use super::open_shard::Shard;
use super::scan::constant::constant_bool;
use super::scan::rows::{RowFormat, RowReader};
use super::shard::fetch::Bench;
use super::shard::metadata::{Metadata, ready};
use super::shard::waiting::{give_way, now_or};
use crate::Limits;
use crate::buffer::{Place, Selection, Storage};
use crate::error::{Error, Result};
use crate::format::{
    DataEncoding, DataType, FieldDescriptor, IndexCollection, IndexDescriptor, StripeDirectory,
    StripeFieldDescriptor, StripeProperties, UrlList,
};
use crate::io::{ByteRange, Reference, RelativeUrl, resolve};
use crate::read::{Predicate, Projection};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Descriptors that are fetched at once, about.
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
const AT_ONCE: usize = 1 << 15;
/// Rows that are tested at a time.
const BATCH_ROWS: u32 = 65_536;
/// Bits of deleted rows that are read at a time.
const BATCH_BITS: u64 = 1 << 20;

impl Shard {
    /// The stripes, as the directory lists them.
    pub(crate) async fn stripe_directories(&self) -> Result<Vec<StripeDirectory>> {
        let inner = &self.inner;
        inner
            .run(|bench| Ok(Some(ready!(inner.stripes(bench)).to_vec())))
            .await
    }

    /// The columns, packed ones as members of their structs: their Arrow fields, and their nodes with all that
    /// labels mean.
    pub(crate) async fn stored_columns(&self) -> Result<Vec<(Field, DataType)>> {
        let inner = &self.inner;
        let columns = inner.run(|bench| inner.stored_columns(bench));
        let columns = columns.await?.into_iter();
        Ok(columns.map(|column| (column.field, column.node)).collect())
    }

    /// Which file the directory file was when it was opened, where that is known.
    pub(crate) fn version(&self) -> Option<String> {
        self.inner.artifacts.version()
    }

    /// The files that the shard refers to, apart from the directory file: by its URL list, and by each reference
    /// of its metadata. Reads the descriptors of the fields with these schema ids of all stripes.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for an encoding of unknown kind, which may refer to other
    /// files.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(crate) async fn references(&self, ids: &[u32]) -> Result<BTreeSet<RelativeUrl>> {
        let (inner, artifacts) = (&self.inner, &self.inner.artifacts);
        let mut urls: BTreeSet<RelativeUrl> =
            self.referenced_files_async().await?.into_iter().collect();
        let mut note = |url: &str| -> Result<()> {
            if let Reference::Relative(url) = resolve(url, artifacts.base())? {
                urls.insert(url);
            }
            Ok(())
        };
        let stripes: Vec<u64> = (0..self.num_stripes()).collect();
        for some in stripes.chunks((AT_ONCE / ids.len().max(1)).max(1)) {
            let loaded = inner.run(|bench| {
                // All are asked for before any is missed, so that one round fetches all.
                let described = some.iter().map(|&stripe| fields(inner, bench, stripe, ids));
                let described: Vec<Option<Described>> = described.collect::<Result<_>>()?;
                let indexes = some
                    .iter()
                    .map(|&stripe| inner.stripe_indexes(bench, stripe));
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
        let indexes = inner.run(|bench| inner.indexes(bench)).await?;
        for index in &indexes.0 {
            note_index(index, &mut note)?;
        }
        self.shard_descriptors(ids, 0).await?;
        let directory = &inner.directory;
        let parts = [&directory.schema_ref, &directory.properties_ref];
        let stripes = self.stripe_directories().await?;
        let of_stripes = stripes.iter().map(|stripe| &stripe.properties_ref);
        for reference in parts.into_iter().chain(of_stripes).flatten() {
            note(&reference.url)?;
        }
        // The files of all other metadata: these have been read.
        for artifact in 1..artifacts.count() {
            urls.extend(artifacts.url_of(artifact));
        }
        Ok(urls)
    }

    /// Lists the files that the shard needs apart from its directory file, such as stripe files, relative to the folder of
    /// the directory file: as its URL list names them. Does not look whether they are there. Empty for a shard in
    /// one file, which `ops::pack` makes of any shard.
    ///
    /// # Errors
    /// If the list is damaged, or a URL leads out of the folder.
    pub fn referenced_files(&self) -> Result<Vec<RelativeUrl>> {
        now_or("`referenced_files_async`", self.referenced_files_async())
    }

    /// As [`referenced_files`](Self::referenced_files), of a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`referenced_files`](Self::referenced_files).
    pub async fn referenced_files_async(&self) -> Result<Vec<RelativeUrl>> {
        let inner = &self.inner;
        let list = inner.run(|bench| inner.url_list(bench)).await?;
        self.files_of(&list)
    }

    fn files_of(&self, list: &UrlList) -> Result<Vec<RelativeUrl>> {
        let base = self.inner.artifacts.base();
        let mut urls = Vec::with_capacity(list.0.len());
        for url in &list.0 {
            if let Reference::Relative(url) = resolve(url, base)? {
                urls.push(url);
            }
        }
        Ok(urls)
    }

    /// The shard-level descriptors of the fields with these schema ids, at the places of their ids in a list of that
    /// length.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(crate) async fn shard_descriptors(
        &self,
        ids: &[u32],
        len: usize,
    ) -> Result<Vec<Option<FieldDescriptor>>> {
        let inner = &self.inner;
        let mut found: Vec<Option<FieldDescriptor>> = vec![None; len];
        let loaded = inner.run(|bench| {
            // All are asked for before any is missed, so that one round fetches all.
            let mut complete = true;
            for &id in ids {
                match (
                    inner.shard_descriptor(bench, id)?,
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

    /// The number of the file that a reference in the directory file leads to.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(crate) fn artifact(&self, url: &str) -> Result<u32> {
        self.inner.artifacts.resolve(url, 0)
    }

    /// The name of a file, for errors.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(crate) fn artifact_name(&self, artifact: u32) -> String {
        self.inner.artifacts.name_of(artifact)
    }

    /// The size of a file.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(crate) async fn artifact_size(&self, artifact: u32) -> Result<u64> {
        self.inner.artifacts.size_of(artifact).await
    }

    /// Bytes of files, as they are stored.
    #[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
    pub(crate) async fn read_artifacts(&self, places: &[(u32, ByteRange)]) -> Result<Vec<Bytes>> {
        let places = places.iter();
        let places: Vec<Place> = places
            .map(|&(artifact, range)| Place { artifact, range })
            .collect();
        self.inner.artifacts.read(&places).await
    }

    /// The properties of a stripe.
    pub(crate) async fn properties_of(&self, stripe: u64) -> Result<StripeProperties> {
        let inner = &self.inner;
        inner
            .run(|bench| inner.stripe_properties(bench, stripe))
            .await
    }

    /// Reads the descriptors of the fields with these schema ids of all stripes, which the shard then keeps
    /// as far as its cache goes, in as few rounds as there are kinds of metadata. Returns the properties of each
    /// stripe, and the files that the shard refers to.
    #[cfg(feature = "object_store")]
    pub(crate) async fn load_stripes(
        &self,
        ids: &[u32],
    ) -> Result<(Vec<StripeProperties>, Vec<RelativeUrl>)> {
        let inner = &self.inner;
        let stripes: Vec<u64> = (0..self.num_stripes()).collect();
        let mut properties = Vec::with_capacity(stripes.len());
        let mut urls = None;
        for some in stripes.chunks((AT_ONCE / ids.len().max(1)).max(1)) {
            let loaded = inner.run(|bench| {
                // All are asked for before any is missed, so that one round fetches all.
                let (mut found, mut complete) = (Vec::with_capacity(some.len()), true);
                if urls.is_none() {
                    urls = inner.url_list(bench)?;
                    complete = urls.is_some();
                }
                for &stripe in some {
                    match inner.stripe_properties(bench, stripe)? {
                        Some(properties) => found.push(properties),
                        None => complete = false,
                    }
                    for &id in ids {
                        complete &= inner.field(bench, (stripe, id))?.is_some();
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

    /// The descriptors of the fields of a stripe with these schema ids; `None` where the stripe has not
    /// the field. `rebase` gives the URL of each reference, by the artifact that it leads to: `None` is
    /// the directory file.
    pub(crate) async fn descriptors(
        &self,
        stripe: u64,
        ids: &[u32],
        rebase: &mut (dyn FnMut(Option<&RelativeUrl>) -> Result<String> + Send),
    ) -> Result<Vec<Option<StripeFieldDescriptor>>> {
        let inner = &self.inner;
        let fields = inner.run(|bench| fields(inner, bench, stripe, ids)).await?;
        let mut descriptors = Vec::with_capacity(fields.len());
        for described in fields {
            let Some((holder, mut descriptor)) = described else {
                descriptors.push(None);
                continue;
            };
            let holder = inner.artifacts.url_of(holder);
            descriptor.for_each_url(&mut |url| {
                *url = match resolve(url, inner.artifacts.base())? {
                    Reference::This => rebase(holder.as_ref())?,
                    Reference::Relative(other) => rebase(Some(&other))?,
                };
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
        mut left: impl FnMut(u64),
    ) -> Result<()> {
        let scan = self.scan().with_projection(Projection::Indices(Vec::new()));
        let scan = scan.with_row_number("row").with_filter(predicate);
        let scan = scan.with_deleted_rows(true);
        let scan = scan.with_batch_size(BATCH_ROWS as usize);
        let (mut reader, _, _) = scan.planned(true).await?;
        loop {
            while let Some(rows) = reader.take_known().await? {
                found(rows)?;
                left(reader.remaining_rows());
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
            left(reader.remaining_rows());
            give_way().await;
        }
        left(0);
        Ok(())
    }

    /// The limits of this reader.
    pub(crate) fn limits(&self) -> &Limits {
        self.inner.artifacts.limits()
    }

    /// Calls `found` with the deleted rows among `rows`, the rows of a stripe, in ascending ranges. A stripe in
    /// which all rows are deleted costs one call, however many they are.
    pub(crate) async fn for_each_deleted(
        &self,
        stripe: u64,
        rows: Range<u64>,
        mut found: impl FnMut(Range<u64>),
    ) -> Result<()> {
        let inner = &self.inner;
        if !inner.has_deleted() || rows.is_empty() {
            return Ok(());
        }
        let column = inner.run(|bench| inner.deleted_column(bench)).await?;
        let key = (stripe, column.node.schema_id);
        let open = inner.run(|bench| inner.open_field(bench, key, &column.node));
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
            Storage::Buffers(_) => {}
        }
        let format = RowFormat {
            metadata: inner.clone(),
            schema: Arc::new(Schema::new(vec![column.field.clone()])),
            columns: [column].into(),
            row_number: false,
            batch_size: BATCH_BITS,
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
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
fn note_index(index: &IndexDescriptor, note: &mut impl FnMut(&str) -> Result<()>) -> Result<()> {
    let files = index.artifacts.iter();
    let mut files = files.filter_map(|artifact| artifact.data_ref.as_ref());
    files.try_for_each(|reference| note(&reference.url))
}

/// The descriptors of the fields of a stripe, each with the artifact that holds it.
type Described = Vec<Option<(u32, StripeFieldDescriptor)>>;

fn fields(
    metadata: &Metadata,
    bench: &Bench<'_>,
    stripe: u64,
    ids: &[u32],
) -> Result<Option<Described>> {
    // All are asked for before any is missed, so that one round fetches all.
    let fields = ids.iter().map(|&id| metadata.field(bench, (stripe, id)));
    let fields: Vec<_> = fields.collect::<Result<_>>()?;
    let described = |field: Option<Arc<_>>| -> Option<Option<(u32, StripeFieldDescriptor)>> {
        let field: Arc<super::shard::metadata::StripeField> = field?;
        Some(field.described().map(|(holder, it)| (holder, it.clone())))
    };
    Ok(fields.into_iter().map(described).collect())
}
