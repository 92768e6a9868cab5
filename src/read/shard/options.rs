//! Options of readers.

use crate::column::NativeTypes;
use crate::io::ExternalFiles;
use crate::limits::Limits;
use crate::settings::settings;
use arrow_schema::TimeUnit;

/// Options of an open [`Shard`](crate::read::Shard).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardOptions {
    limits: Limits,
    verify_checksums: bool,
    tail_bytes: Option<u64>,
    fetch_bytes: Option<u64>,
    coalesce_gap: u64,
    native_types: NativeTypes,
    external_files: ExternalFiles,
}

impl Default for ShardOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            verify_checksums: true,
            tail_bytes: None,
            fetch_bytes: None,
            coalesce_gap: 64,
            native_types: NativeTypes::default(),
            external_files: ExternalFiles::default(),
        }
    }
}

settings! {
    ShardOptions {
        /// Whether to verify checksums of data when their bytes are first touched; on by default.
        /// Checksums of metadata are always verified.
        verify_checksums, with_verify_checksums: bool;
        /// The largest gap, in bytes, between two ranges that share a request; 64 by default. Stores with slow
        /// responses need more; asynchronous readers use at least 1 MiB.
        coalesce_gap, with_coalesce_gap: u64;
    }
}

impl ShardOptions {
    /// Returns the number of bytes at the end of the file that opening reads; `None` if it was not set.
    pub fn tail_bytes(&self) -> Option<u64> {
        self.tail_bytes
    }

    /// Sets the number of bytes at the end of the file that opening reads. The default is 64 KiB for local files. For
    /// others it is 512 KiB, which contain all metadata of most shards, so that these need no further request.
    #[must_use]
    pub fn with_tail_bytes(mut self, bytes: u64) -> Self {
        self.tail_bytes = Some(bytes);
        self
    }

    /// Returns the approximate number of bytes that a scan fetches at a time; `None` if it was not set.
    pub fn fetch_bytes(&self) -> Option<u64> {
        self.fetch_bytes
    }

    /// Sets the approximate number of bytes that a scan fetches at a time. The default is 32 MiB, fetched from a store
    /// in few requests: of 8 to 16 MiB if columns are adjacent. For local files, the default is 8 MiB in scans that
    /// test rows by a filter. Other scans read at most 1 MiB, or one block, of a local file at a time, so that the
    /// processor's caches still hold the bytes when they are decoded.
    #[must_use]
    pub fn with_fetch_bytes(mut self, bytes: u64) -> Self {
        self.fetch_bytes = Some(bytes);
        self
    }

    /// Returns the limits on resources that a file may ask of the reader.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Limits the resources that a file may ask of the reader, such as bytes of a block or stripes of a shard. A file
    /// that asks for more is an error. See [`Limits`] for the defaults, which suit files of all sizes.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the folders outside of the shard's folder where its Parquet files may be.
    pub fn external_files(&self) -> &ExternalFiles {
        &self.external_files
    }

    /// Allows Parquet files outside of the shard's folder, in the given folders; none by default. See
    /// `ops::attach` for shards over Parquet files.
    #[must_use]
    pub fn with_external_files(mut self, files: ExternalFiles) -> Self {
        self.external_files = files;
        self
    }

    /// Sets the time unit of instants (DateTime) and time spans (KustoTimeSpan) if neither the shard nor a requested
    /// schema names their Arrow type. The default is nanoseconds, which reach from 1677 to 2262; other values are the
    /// error [`ValueOutOfRange`](crate::ErrorKind::ValueOutOfRange). Units coarser than 100 ns round the values, unless
    /// the scan has [strict casts](crate::read::ScanBuilder::with_strict_casts).
    #[must_use]
    pub fn with_default_time_unit(mut self, unit: TimeUnit) -> Self {
        self.native_types.time_unit = unit;
        self
    }

    /// Sets the precision and scale of decimals (KustoDecimal) if neither the shard nor a requested schema names their
    /// Arrow type. They become Decimal128 for a precision up to 38, else Decimal256; `Decimal128(38, 16)` by default. A
    /// value that the type does not hold exactly is an error, and so is a schema with such a column if Arrow has no
    /// such type.
    #[must_use]
    pub fn with_default_precision_and_scale(mut self, precision: u8, scale: i8) -> Self {
        self.native_types.decimal_precision = precision;
        self.native_types.decimal_scale = scale;
        self
    }

    /// Returns the time unit of instants and time spans with an otherwise unknown Arrow type.
    pub fn default_time_unit(&self) -> TimeUnit {
        self.native_types.time_unit
    }

    /// Returns the precision and scale of decimals with an otherwise unknown Arrow type.
    pub fn default_precision_and_scale(&self) -> (u8, i8) {
        let NativeTypes {
            decimal_precision,
            decimal_scale,
            ..
        } = self.native_types;
        (decimal_precision, decimal_scale)
    }

    /// Returns the Arrow types of Amudai's native types that neither the shard nor a schema determines.
    pub(in crate::read) fn native_types(&self) -> &NativeTypes {
        &self.native_types
    }
}
