//! Provides shards as tables of DataFusion's Python package, through the stable interface of `datafusion-ffi`.

mod plan;
mod repeated_files;
mod table;

use crate::errors::raised;
use crate::location::{Source, table_of};
use crate::runtime::{handle, wait, wait_for_store};
use crate::signals::detached;
use arrow_shard::{Error, ErrorKind, Shard};
use datafusion::common::DataFusionError;
use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
use datafusion_ffi::table_provider::FFI_TableProvider;
use object_store::Error as StoreError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::error::Error as StdError;
use std::iter::successors;
use std::sync::Arc;
use table::ShardTable;

/// Returns the capsule of a table over the shards of a source, for a session of DataFusion. `shard` is the open source,
/// with the columns of all of its shards.
#[expect(unsafe_code, reason = "a capsule holds what its name says")]
pub(crate) fn table_provider<'py>(
    shard: &Shard,
    source: &Source,
    session: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let py = session.py();
    let exported = session.call_method0("__datafusion_logical_extension_codec__")?;
    let capsule = exported.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"datafusion_logical_extension_codec"))?;
    // SAFETY: the capsule lives until the end of this function, and holds the type that its name promises.
    let codec = unsafe { pointer.cast::<FFI_LogicalExtensionCodec>().as_ref() }.clone();
    let runtime = raised(py, handle())?;
    let table = detached(py, || {
        let locations = match source {
            Source::Shards(locations) => locations.clone(),
            Source::Folder(folder) => table_of(folder)?.0,
            Source::Other { .. } => {
                let message = "DataFusion opens shards itself, without added columns and not in memory: \
                               register a dataset of them";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        let columns = wait(source.is_near(), shard.schema_async())?;
        let opened = ShardTable::open(&columns, &locations, runtime.clone());
        wait_for_store(async { opened.await.map_err(failed) })
    })?;
    let provider =
        FFI_TableProvider::new_with_ffi_codec(Arc::new(table), true, Some(runtime), codec);
    PyCapsule::new_with_value(py, provider, c"datafusion_table_provider")
}

/// Converts an error of DataFusion to an error of the library, with the kind of a library error among its causes.
fn failed(error: DataFusionError) -> Error {
    let error = match error {
        DataFusionError::Context(place, below) => return failed(*below).within(place),
        DataFusionError::External(below) => match below.downcast::<Error>() {
            Ok(error) => return *error,
            Err(below) => DataFusionError::External(below),
        },
        other => other,
    };
    let mut causes = chain(&error);
    if let Some(found) = causes.find_map(|cause| cause.downcast_ref::<Error>()) {
        return alike(found);
    }
    let is_missing = |cause: &(dyn StdError + 'static)| {
        let cause = cause.downcast_ref::<StoreError>();
        cause.is_some_and(|cause| matches!(cause, StoreError::NotFound { .. }))
    };
    let kind = if chain(&error).any(is_missing) {
        ErrorKind::NotFound
    } else {
        ErrorKind::Io
    };
    Error::new(kind, error.strip_backtrace())
}

/// Returns an error and its causes.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(Some(error), |&error| error.source())
}

/// Returns a copy of an error, with the texts of its causes in its message.
fn alike(error: &Error) -> Error {
    let causes = chain(error).skip(1);
    let message = causes.fold(error.message().to_owned(), |text, cause| {
        format!("{text}: {cause}")
    });
    let alike = Error::new(error.kind(), message);
    match error.element() {
        place if place.is_empty() => alike,
        place => alike.within(place),
    }
}
