//! Files that a commit writes next to the directory, which refers to their buffers.

use crate::Shard;
use crate::error::Result;
use crate::format::StripeFieldDescriptor;
use crate::io::{RelativeUrl, random_stripe_file_name};
use bytes::Bytes;

/// A shard of one column with the name of a stripe file, held in memory until a commit writes it.
#[derive(Debug, Clone)]
pub(super) struct ColumnFile {
    name: String,
    bytes: Bytes,
    shard: Shard,
}

impl ColumnFile {
    /// Opens the bytes of a shard.
    pub(super) fn of(file: Vec<u8>) -> Result<Self> {
        let bytes = Bytes::from(file);
        Ok(Self {
            name: random_stripe_file_name(),
            shard: Shard::from_bytes(bytes.clone())?,
            bytes,
        })
    }

    pub(super) fn shard(&self) -> &Shard {
        &self.shard
    }

    /// Returns the name and the bytes of the file.
    pub(super) fn file(&self) -> (String, Bytes) {
        (self.name.clone(), self.bytes.clone())
    }

    /// Returns the descriptor of a field for a stripe, with references from the directory's folder to this file. If
    /// there are references, adds the URL of the file to `urls`.
    pub(super) async fn descriptor(
        &self,
        stripe: u64,
        id: u32,
        urls: &mut Vec<String>,
    ) -> Result<Option<StripeFieldDescriptor>> {
        let url = RelativeUrl::from_file_name(&self.name)?.to_string();
        let mut lead = |_: Option<&RelativeUrl>| {
            if !urls.contains(&url) {
                urls.push(url.clone());
            }
            Ok(url.clone())
        };
        let found = self.shard.descriptors(stripe, &[id], &mut lead).await?;
        Ok(found.into_iter().next().flatten())
    }
}
