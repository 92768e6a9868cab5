//! Spec: Chapter 6, "External Parquet Encoding": values that are stored in files of another format.

use super::Selection;
use super::read_context::ReadContext;
use super::stored_buffer::StoredRange;
use crate::error::Result;
use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType as ArrowType;
use bytes::Bytes;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// The values of a stripe field in files of another format.
pub trait ExternalValues: Debug + Send + Sync {
    /// Appends the places of page maps that have not been loaded yet.
    fn missing_maps(&self, out: &mut Vec<StoredRange>);

    /// Parses a page map that [`missing_maps`](Self::missing_maps) has named.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it is damaged.
    fn load_map(&self, place: StoredRange, bytes: &[u8]) -> Result<()>;

    /// Appends the places of the bytes that some positions need. All page maps must be loaded.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if there are fewer positions.
    fn places_of(&self, rows: &Selection, out: &mut Vec<StoredRange>) -> Result<()>;

    /// Returns the places of the last bytes of the files, by which a reader recognizes them.
    fn file_ends(&self) -> Vec<StoredRange>;

    /// Compares the last bytes of a file with the file that the shard was made for.
    ///
    /// # Errors
    /// [`Replaced`](crate::ErrorKind::Replaced) if it is another file.
    fn check_file(&self, end: StoredRange, bytes: &Bytes) -> Result<()>;

    /// Returns the places of all bytes, as the metadata of the shard tell them.
    fn places(&self) -> Vec<StoredRange>;

    /// Returns the number of positions of the longest page that is known.
    fn page_rows(&self) -> u64;

    /// Returns a decoder that has not read anything yet.
    fn decoder(self: Arc<Self>) -> Box<dyn ExternalDecoder>;
}

/// Decodes external values, and keeps decoded values that are likely to be needed next.
pub trait ExternalDecoder: Debug + Send {
    /// Returns the values at some positions as an array of the wanted type, or of the type that the file declares if
    /// they cannot be read as the wanted one. The bytes must have been fetched.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the bytes are damaged or do not fit their description,
    /// [`Replaced`](crate::ErrorKind::Replaced) if the file is another one than the shard was made for.
    fn read(
        &mut self,
        rows: &Selection,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<ArrayRef>;

    /// Returns the number of pages that have been opened, dictionary pages included.
    fn num_pages(&self) -> u64;

    /// Returns the positions that share a dictionary with a position, and the number of entries of the dictionary, or 0
    /// if these positions have no dictionary.
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    fn dictionary(&mut self, position: u64, cx: &ReadContext<'_>) -> Result<(Range<u64>, u64)>;

    /// Returns the entries of the dictionary of a position as an array of the wanted type, or of the type that the file
    /// declares.
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    fn entries(
        &mut self,
        position: u64,
        wanted: &ArrowType,
        cx: &ReadContext<'_>,
    ) -> Result<ArrayRef>;

    /// Returns the positions of the page that holds a position. If their values refer to a dictionary, also returns a
    /// bit for each of them: whether its entry is one of the `chosen` ones; for a null, `nulls`.
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read). A page in which every bit is the same is not decoded.
    fn positions_of_entries(
        &mut self,
        position: u64,
        chosen: &BooleanBuffer,
        nulls: bool,
        cx: &ReadContext<'_>,
    ) -> Result<(Range<u64>, Option<BooleanBuffer>)>;
}
