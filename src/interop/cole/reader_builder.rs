//! Opening of files, and selection of their columns and rows.

use super::chunk_reader::{PageSource, in_file};
use super::footer::{FOOTER_LEN, read_footer};
use super::header::{HEADER_LEN, check_header};
use super::metadata::FileMetadata;
use super::page_header::AbsentBounds;
use super::reader::{ReadPlan, Reader};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::io::{ByteRange, ReadAt, read_all, read_one};
use crate::limits::Limits;
use crate::read::{
    Predicate, Projection, RowFilter, RowSelection, Shard, check_rows, unknown_column,
};
use crate::write::{Profile, ShardWriter, WriterOptions};
use arrow_schema::{Fields, Schema, SchemaRef};
use std::collections::HashSet;
use std::sync::Arc;

/// Default number of rows per batch.
const DEFAULT_BATCH_SIZE: usize = 8192;

/// An open COLE file, and the selection of columns and rows for a [`Reader`].
#[derive(Debug)]
pub struct ReaderBuilder {
    reader: Arc<dyn ReadAt>,
    metadata: Arc<FileMetadata>,
    absent: AbsentBounds,
    schema: SchemaRef,
    limits: Limits,
    projection: Projection,
    filter: Option<Predicate>,
    selection: Option<RowSelection>,
    offset: u64,
    limit: Option<u64>,
    batch_size: usize,
}

impl ReaderBuilder {
    /// Reads the metadata of a file, with default [`Limits`].
    ///
    /// # Errors
    /// Returns [`Corrupt`](ErrorKind::Corrupt) if the bytes are not a COLE file,
    /// [`UnsupportedVersion`](ErrorKind::UnsupportedVersion), [`LimitExceeded`](ErrorKind::LimitExceeded), and the
    /// errors of the reader.
    pub fn try_new(reader: Arc<dyn ReadAt>) -> Result<Self> {
        Self::try_new_with(reader, Limits::default())
    }

    /// Opens a local file.
    ///
    /// # Errors
    /// Returns [`NotFound`](ErrorKind::NotFound) or another error of the system, and the errors of
    /// [`try_new`](Self::try_new).
    #[cfg(not(target_family = "wasm"))]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::try_new(Arc::new(crate::io::LocalFile::open(path)?))
    }

    /// Reads the metadata of a file with the given limits: [`max_message_bytes`](Limits::max_message_bytes) for
    /// metadata, [`max_block_bytes`](Limits::max_block_bytes) for pages, and
    /// [`max_batch_bytes`](Limits::max_batch_bytes) for batches.
    ///
    /// # Errors
    /// Returns the errors of [`try_new`](Self::try_new).
    pub fn try_new_with(reader: Arc<dyn ReadAt>, limits: Limits) -> Result<Self> {
        Self::load(reader.clone(), limits).map_err(|error| in_file(reader.as_ref(), error))
    }

    fn load(reader: Arc<dyn ReadAt>, limits: Limits) -> Result<Self> {
        let size = reader.size()?;
        let least = (HEADER_LEN + FOOTER_LEN) as u64;
        if size < least {
            return Err(Error::corrupt(format!(
                "this is not a COLE file: it has {size} bytes, expected {least} or more"
            )));
        }
        let ends = [
            ByteRange::try_new(0, HEADER_LEN as u64)?,
            ByteRange::try_new(size - FOOTER_LEN as u64, size)?,
        ];
        let ends = read_all(reader.as_ref(), &ends)?;
        if let [header, footer] = ends.as_slice() {
            check_header(header)?;
            let range = read_footer(footer, size)?;
            limits.check_message_bytes(range.len())?;
            let bytes = read_one(reader.as_ref(), range)?;
            let (metadata, absent) = FileMetadata::read(&bytes).within(|| "metadata".to_owned())?;
            check_chunks(&metadata, range.start())?;
            let fields = metadata.columns.iter().map(|column| column.to_arrow());
            let schema = Arc::new(Schema::new(fields.collect::<Fields>()));
            return Ok(Self {
                reader,
                metadata: Arc::new(metadata),
                absent,
                schema,
                limits,
                projection: Projection::All,
                filter: None,
                selection: None,
                offset: 0,
                limit: None,
                batch_size: DEFAULT_BATCH_SIZE,
            });
        }
        Err(Error::new(
            ErrorKind::Io,
            "the reader returned other bytes than requested",
        ))
    }

    /// Returns the schema of all columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows of the file.
    pub fn num_rows(&self) -> u64 {
        self.metadata.num_rows()
    }

    /// Returns the metadata of the file.
    pub fn metadata(&self) -> &FileMetadata {
        &self.metadata
    }

    /// Reads only these columns; all by default.
    #[must_use]
    pub fn with_projection(mut self, projection: impl Into<Projection>) -> Self {
        self.projection = projection.into();
        self
    }

    /// Reads only the rows that match the predicate; a second predicate narrows the first. Its columns need not be
    /// projected. Pages are skipped if their statistics rule out a match.
    #[must_use]
    pub fn with_filter(mut self, predicate: Predicate) -> Self {
        self.filter = Some(predicate.narrowing(self.filter.take()));
        self
    }

    /// Reads only these rows, by number; a second selection narrows the first. Pages without a selected row are
    /// not read.
    #[must_use]
    pub fn with_row_selection(mut self, rows: impl Into<RowSelection>) -> Self {
        let rows: RowSelection = rows.into();
        self.selection = Some(rows.narrowing(self.selection.take()));
        self
    }

    /// Skips the first `offset` rows that are selected and match; 0 by default.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Reads at most `limit` rows that are selected and match; all by default.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the maximum number of rows per batch; 8,192 by default. A batch has fewer rows at the end of a row group,
    /// if a filter drops rows, and if strings are large.
    #[must_use]
    pub fn with_batch_size(mut self, rows: usize) -> Self {
        self.batch_size = rows;
        self
    }

    /// Parses a condition on the rows of this file, in the grammar of [`Predicate`]'s `FromStr`.
    ///
    /// # Errors
    /// Returns the errors of [`Shard::parse_predicate`].
    pub fn parse_predicate(&self, text: &str) -> Result<Predicate> {
        empty_shard(&self.schema)?.parse_predicate(text)
    }

    /// Starts reading.
    ///
    /// # Errors
    /// Returns [`UnknownColumn`](ErrorKind::UnknownColumn), [`AmbiguousColumn`](ErrorKind::AmbiguousColumn),
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch) for a filter that does not fit the columns,
    /// [`RowOutOfRange`](ErrorKind::RowOutOfRange) for a selection of rows that the file does not have, or
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a batch size of 0.
    pub fn build(self) -> Result<Reader> {
        let file = self.reader.clone();
        self.start().map_err(|error| in_file(file.as_ref(), error))
    }

    fn start(self) -> Result<Reader> {
        if self.batch_size == 0 {
            return Err(Error::invalid("batch_size is 0, expected 1 or more"));
        }
        if let Some(last) = self.selection.as_ref().and_then(|s| s.ranges().last()) {
            check_rows(last, self.num_rows(), "file")?;
        }
        let columns = self.columns()?;
        let filter = match &self.filter {
            Some(predicate) => Some(RowFilter::try_new(&empty_shard(&self.schema)?, predicate)?),
            None => None,
        };
        let wanted = ReadPlan {
            schema: Arc::new(self.schema.project(&columns)?),
            columns,
            filter,
            selection: self.selection,
            batch_size: self.batch_size,
        };
        let source = PageSource {
            reader: self.reader,
            metadata: self.metadata,
            absent: self.absent,
            limits: self.limits,
        };
        let limit = self.limit.unwrap_or(u64::MAX);
        Ok(Reader::new(source, wanted, self.offset, limit))
    }

    /// Returns the ordinals of the requested columns, in the order in which they are first named.
    fn columns(&self) -> Result<Vec<usize>> {
        let names = || {
            self.schema
                .fields()
                .iter()
                .map(|field| field.name().as_str())
        };
        let of_name = |name: &String| {
            let mut same = names().enumerate().filter(|(_, other)| other == name);
            match (same.next(), same.next()) {
                (Some((ordinal, _)), None) => Ok(ordinal),
                (Some(_), Some(_)) => Err(Error::new(
                    ErrorKind::AmbiguousColumn,
                    format!(
                        "several columns of the file are named `{name}`; name one by its index"
                    ),
                )),
                (None, _) => Err(unknown_column(name, "the file", names())),
            }
        };
        let all = names().count();
        let of_index = |&index: &usize| {
            if index < all {
                Ok(index)
            } else {
                Err(Error::new(
                    ErrorKind::UnknownColumn,
                    format!("there is no column {index}; the file has {all}"),
                ))
            }
        };
        let mut columns: Vec<usize> = match &self.projection {
            Projection::All => (0..all).collect(),
            Projection::Paths(names) => names.iter().map(of_name).collect::<Result<_>>()?,
            Projection::Indices(indices) => indices.iter().map(of_index).collect::<Result<_>>()?,
        };
        let mut known = HashSet::new();
        columns.retain(|column| known.insert(*column));
        Ok(columns)
    }
}

/// Checks that every column chunk lies between the header and the metadata.
fn check_chunks(metadata: &FileMetadata, end: u64) -> Result<()> {
    let inside = ByteRange::try_new(HEADER_LEN as u64, end)?;
    for (ordinal, group) in metadata.row_groups.iter().enumerate() {
        for (chunk, column) in group.columns.iter().zip(&metadata.columns) {
            let range = chunk.range();
            let place = || format!("row group {ordinal}, column `{}`", column.name);
            let range = range.within(place)?;
            if !inside.contains(range) {
                return Err(Error::corrupt(format!(
                    "the column chunk has bytes {range}, expected bytes within {inside}"
                )))
                .within(place);
            }
        }
    }
    Ok(())
}

/// Returns a shard with the schema of a file and no rows, to check predicates against.
fn empty_shard(schema: &SchemaRef) -> Result<Shard> {
    let options = WriterOptions::default().with_profile(Profile::Plain);
    let mut file = Vec::new();
    ShardWriter::try_new(&mut file, schema.clone(), options)?.finish()?;
    Shard::of_file_schema(file.into())
}
