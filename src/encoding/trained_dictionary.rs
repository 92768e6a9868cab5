//! Spec: docs/format.md, "Compressor dictionaries": dictionaries of Zstandard that values taught.

use bytes::Bytes;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A Zstandard dictionary to compress blocks with. All of them compare as equal, so that plans that only differ in
/// their dictionaries are equal, too.
#[derive(Clone)]
pub struct Trained(Arc<Inner>);

struct Inner {
    id: u32,
    payload: Bytes,
    #[cfg(feature = "zstd")]
    prepared: zstd::zstd_safe::CDict<'static>,
}

impl Trained {
    /// Trains a dictionary of up to `most` bytes on samples, which lie one after the other and have these
    /// sizes. Returns `None` if the samples are too few, and in builds without Zstandard.
    pub fn train(
        samples: &[u8],
        sizes: &[usize],
        most: usize,
        id: u32,
        level: i32,
    ) -> Option<Self> {
        #[cfg(feature = "zstd")]
        {
            let mut payload = zstd::dict::from_continuous(samples, sizes, most).ok()?;
            // The id follows the magic number of formatted dictionaries.
            payload.get_mut(4..8)?.copy_from_slice(&id.to_le_bytes());
            let prepared = zstd::zstd_safe::CDict::try_create(&payload, level)?;
            Some(Self(Arc::new(Inner {
                id,
                payload: payload.into(),
                prepared,
            })))
        }
        #[cfg(not(feature = "zstd"))]
        {
            let _ = (samples, sizes, most, id, level);
            None
        }
    }

    /// Returns the id that blocks refer to.
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// Returns the formatted dictionary.
    pub fn payload(&self) -> &Bytes {
        &self.0.payload
    }

    /// Returns the dictionary as prepared for compression.
    #[cfg(feature = "zstd")]
    pub(super) fn prepared(&self) -> &zstd::zstd_safe::CDict<'static> {
        &self.0.prepared
    }
}

impl fmt::Debug for Trained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trained").field(&self.id()).finish()
    }
}

impl PartialEq for Trained {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Trained {}

impl Hash for Trained {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
