//! Values of stripe fields that are stored in files of other formats.

mod chunk_details;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;

#[cfg(feature = "parquet")]
mod verified_files;

pub(crate) use chunk_details::parquet_chunk_details;
#[cfg(feature = "parquet")]
pub(crate) use verified_files::{FileIdentity, VerifiedFiles};

use crate::buffer::ExternalValues;
#[cfg(not(feature = "parquet"))]
use crate::error::Error;
use crate::error::Result;
use crate::format::{DataType, ParquetFileColumnRef, StripeFieldDescriptor};
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
