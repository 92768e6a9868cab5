//! The shards that provide the stripes of an edited shard.

use crate::Shard;
use crate::error::Result;
use crate::format::{DataEncoding, StripeDirectory, StripeProperties};
use crate::io::{Location, Place, RelativeUrl, Store};

/// An open shard.
#[derive(Debug)]
pub(super) struct SourceShard {
    pub(super) shard: Shard,
    /// The store that all of its files are in.
    pub(super) store: Store,
    /// The place of its directory file.
    pub(super) place: Place,
    /// Whether the directory file has the name of a stripe file, which no directory ever replaces.
    pub(super) is_artifact: bool,
    pub(super) stripes: Vec<StripeDirectory>,
    /// The properties of each stripe, if they have been read.
    properties: Option<Vec<StripeProperties>>,
    /// The files that the shard refers to, if they have been read.
    files: Option<Vec<RelativeUrl>>,
}

impl SourceShard {
    /// Reads the metadata that every editor needs.
    pub(super) async fn load(shard: Shard, store: Store, place: Place) -> Result<Self> {
        let stripes = shard.stripe_directories().await?;
        // Loads the metadata of the shard, properties and columns, in one request.
        shard.properties_async().await?;
        Ok(Self {
            shard,
            store,
            place,
            is_artifact: false,
            stripes,
            properties: None,
            files: None,
        })
    }

    /// Reads all metadata that a directory over the shard needs, so that later steps need no requests.
    pub(super) async fn load_all(shard: Shard, store: Store, place: Place) -> Result<Self> {
        // One request reads the schema and the properties.
        shard.schema_async().await?;
        let ids = node_ids(&shard).await?;
        let (properties, files) = shard.load_stripes(&ids).await?;
        let mut source = Self::load(shard, store, place).await?;
        source.properties = Some(properties);
        source.files = Some(files);
        Ok(source)
    }

    /// Returns the location of the directory file.
    pub(super) fn location(&self) -> Location {
        self.store.at(self.store.home().name_of(&self.place))
    }

    /// Returns the number of rows, deleted rows included.
    pub(super) fn num_rows(&self) -> u64 {
        self.stripes.iter().map(|s| s.total_record_count).sum()
    }

    /// Returns the files that the shard refers to.
    pub(super) async fn files(&self) -> Result<Vec<RelativeUrl>> {
        match &self.files {
            Some(files) => Ok(files.clone()),
            None => self.shard.referenced_files_async().await,
        }
    }

    /// Returns the properties of a stripe.
    pub(super) async fn properties_of(&self, stripe: u64) -> Result<StripeProperties> {
        let known = self.properties.as_ref();
        let known = known.and_then(|all| all.get(usize::try_from(stripe).ok()?));
        match known {
            Some(known) => Ok(known.clone()),
            None => self.shard.properties_of(stripe).await,
        }
    }

    /// Whether a stripe has buffers in the directory file itself.
    pub(super) async fn is_in_directory_file(&self, stripe: u64) -> Result<bool> {
        let mut found = false;
        let mut lead = |artifact: Option<&RelativeUrl>| {
            found |= artifact.is_none();
            Ok(String::new())
        };
        let ids = node_ids(&self.shard).await?;
        self.shard.descriptors(stripe, &ids, &mut lead).await?;
        Ok(found && !self.is_artifact)
    }

    /// Whether a stripe has values in files of another format.
    pub(super) async fn is_external(&self, stripe: u64) -> Result<bool> {
        let ids = node_ids(&self.shard).await?;
        let mut lead = |_: Option<&RelativeUrl>| Ok(String::new());
        let descriptors = self.shard.descriptors(stripe, &ids, &mut lead).await?;
        let mut encodings = (descriptors.iter().flatten()).flat_map(|found| &found.encodings);
        Ok(encodings.any(|encoding| matches!(encoding, DataEncoding::Parquet(_))))
    }

    /// Returns the number of the first row of a stripe.
    pub(super) fn first_row(&self, stripe: u64) -> u64 {
        let stripe = usize::try_from(stripe)
            .ok()
            .and_then(|i| self.stripes.get(i));
        stripe.map_or(0, |stripe| stripe.record_offset)
    }

    /// Returns the number of the first row and the number of rows of each stripe.
    pub(super) fn starts_and_lens(&self) -> impl Iterator<Item = (u64, u64)> {
        let stripes = self.stripes.iter();
        stripes.map(|stripe| (stripe.record_offset, stripe.total_record_count))
    }
}

/// Returns the numbers of all nodes of a shard's schema.
pub(super) async fn node_ids(shard: &Shard) -> Result<Vec<u32>> {
    let mut ids = Vec::new();
    for field in &shard.stored_schema().await?.fields {
        field.data_type.walk(&mut |node| ids.push(node.schema_id));
    }
    Ok(ids)
}
