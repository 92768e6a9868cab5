//! Values of stripe fields that are stored in files of other formats.

mod chunk_details;
#[cfg(feature = "parquet")]
mod file_identity;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;

#[cfg(feature = "parquet")]
mod verified_files;

pub(crate) use chunk_details::parquet_chunk_details;
#[cfg(feature = "parquet")]
pub(crate) use file_identity::FileIdentity;
#[cfg(feature = "parquet")]
pub(crate) use verified_files::VerifiedFiles;

use crate::buffer::{ExternalValues, StoredRange};
#[cfg(not(feature = "parquet"))]
use crate::error::Error;
use crate::error::Result;
#[cfg(feature = "parquet")]
use crate::format::find_property;
use crate::format::{DataType, ParquetFileColumnRef, StripeFieldDescriptor};
use bytes::Bytes;
use std::sync::Arc;

/// Returns the values of a stripe field in Parquet files. `artifact` and `file` return the number of an artifact of the
/// shard, and of a Parquet file, for its URL.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the description contradicts itself,
/// [`Unsupported`](crate::ErrorKind::Unsupported) if this build cannot read the values.
#[cfg(feature = "parquet")]
pub(crate) fn open_parquet(
    node: &DataType,
    descriptor: &StripeFieldDescriptor,
    files: &[ParquetFileColumnRef],
    verified: &Arc<VerifiedFiles>,
    artifact: &mut dyn FnMut(&str) -> Result<u32>,
    file: &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<Arc<dyn ExternalValues>> {
    let values =
        parquet::ParquetValues::try_new(node, descriptor, files, verified, artifact, file)?;
    Ok(Arc::new(values))
}

/// Reads the footer of a Parquet file of `size` bytes, unless it has been read. `get` returns the bytes of a place if
/// they have been fetched. Returns whether the footer has been read.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the file has no footer,
/// [`Unsupported`](crate::ErrorKind::Unsupported) if it is encrypted.
#[cfg(feature = "parquet")]
pub(crate) fn load_footer(
    files: &VerifiedFiles,
    artifact: u32,
    size: u64,
    get: &mut dyn FnMut(StoredRange) -> Result<Option<Bytes>>,
) -> Result<bool> {
    let is_loaded = files.footers().load(artifact, size, get)?;
    // The description is made of this footer, so that the file need not be compared with it.
    if let Some(identity) = files.footers().identity(artifact) {
        files.insert(&identity);
    }
    Ok(is_loaded)
}

/// Returns whether only the footers of their files describe the column chunks of a stripe field.
#[cfg(feature = "parquet")]
pub(crate) fn needs_footers(descriptor: &StripeFieldDescriptor) -> bool {
    let properties = &descriptor.field.custom_properties;
    find_property(properties, parquet::PARQUET_PROPERTY).is_none()
}

/// Returns `false`, because this build reads no column chunks.
#[cfg(not(feature = "parquet"))]
pub(crate) fn needs_footers(_: &StripeFieldDescriptor) -> bool {
    false
}

/// Returns `true`, because this build reads no column chunks.
#[cfg(not(feature = "parquet"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
pub(crate) fn load_footer(
    _files: &VerifiedFiles,
    _artifact: u32,
    _size: u64,
    _get: &mut dyn FnMut(StoredRange) -> Result<Option<Bytes>>,
) -> Result<bool> {
    Ok(true)
}

/// Refuses values in Parquet files, which this build cannot read.
///
/// # Errors
/// [`Unsupported`](crate::ErrorKind::Unsupported).
#[cfg(not(feature = "parquet"))]
pub(crate) fn open_parquet(
    _node: &DataType,
    _descriptor: &StripeFieldDescriptor,
    _files: &[ParquetFileColumnRef],
    _verified: &Arc<VerifiedFiles>,
    _artifact: &mut dyn FnMut(&str) -> Result<u32>,
    _file: &mut dyn FnMut(&str) -> Result<u32>,
) -> Result<Arc<dyn ExternalValues>> {
    Err(Error::unsupported(
        "external Parquet column chunks, which need the feature `parquet` of the crate",
    ))
}

/// The external files of an open shard that have been verified: none, because this build cannot read any.
#[cfg(not(feature = "parquet"))]
#[derive(Debug, Default)]
pub(crate) struct VerifiedFiles;

#[cfg(not(feature = "parquet"))]
impl VerifiedFiles {
    /// Returns the same.
    pub(crate) fn unverified(&self) -> Self {
        Self
    }
}
