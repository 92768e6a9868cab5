//! Options of readers.

use crate::column::NativeTypes;
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
        }
    }
}

settings! {
    ShardOptions {
        /// Whether to verify checksums of data when their bytes are first touched; on by default.
        /// Checksums of metadata are always verified.
        verify_checksums, with_verify_checksums: bool;
        /// The largest gap, in bytes, between two ranges that one request fetches; 64 by default. Stores
        /// that answer slowly want more; asynchronous readers get 1 MiB at least.
        coalesce_gap, with_coalesce_gap: u64;
    }
}

impl ShardOptions {
    /// How many bytes at the end of the file opening reads, as far as that was chosen.
    pub fn tail_bytes(&self) -> Option<u64> {
        self.tail_bytes
    }

    /// How many bytes at the end of the file opening reads. By default 64 KiB of a local file; of others
    /// 512 KiB, which hold all metadata of most shards, so that no request is sent for these.
    #[must_use]
    pub fn with_tail_bytes(mut self, bytes: u64) -> Self {
        self.tail_bytes = Some(bytes);
        self
    }

    /// About how many bytes a scan fetches at a time, as far as that was chosen.
    pub fn fetch_bytes(&self) -> Option<u64> {
        self.fetch_bytes
    }

    /// About how many bytes a scan fetches at a time. By default 32 MiB, so that few requests are sent to
    /// stores, of 8 to 16 MiB where columns are neighbours. Of local files 8 MiB where rows are tested by
    /// a filter; other scans read at most 1 MiB of them at a time, so that the processor's caches still
    /// hold what is decoded.
    #[must_use]
    pub fn with_fetch_bytes(mut self, bytes: u64) -> Self {
        self.fetch_bytes = Some(bytes);
        self
    }

    /// What a file may ask of the reader.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What a file may ask of the reader, such as bytes of a block or stripes of a shard. A file that
    /// asks for more is an error. See [`Limits`] for the defaults, which suit files of all sizes.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The time unit of instants (DateTime) and time spans (KustoTimeSpan) whose Arrow type neither the
    /// shard nor a requested schema names; nanoseconds by default, which reach from 1677 to 2262. Coarser
    /// units than 100 ns round the values, unless the scan has
    /// [strict casts](crate::read::ScanBuilder::with_strict_casts).
    #[must_use]
    pub fn with_default_time_unit(mut self, unit: TimeUnit) -> Self {
        self.native_types.time_unit = unit;
        self
    }

    /// The precision and scale of decimals (KustoDecimal) whose Arrow type neither the shard nor a
    /// requested schema names: they become Decimal128 for a precision up to 38, else Decimal256.
    /// `Decimal128(38, 16)` by default. A value that the type does not hold exactly is an error.
    #[must_use]
    pub fn with_default_precision_and_scale(mut self, precision: u8, scale: i8) -> Self {
        self.native_types.decimal_precision = precision;
        self.native_types.decimal_scale = scale;
        self
    }

    /// The time unit of instants and time spans whose Arrow type nothing else names.
    pub fn default_time_unit(&self) -> TimeUnit {
        self.native_types.time_unit
    }

    /// The precision and scale of decimals whose Arrow type nothing else names.
    pub fn default_precision_and_scale(&self) -> (u8, i8) {
        let NativeTypes {
            decimal_precision,
            decimal_scale,
            ..
        } = self.native_types;
        (decimal_precision, decimal_scale)
    }

    /// What becomes of native types of Amudai where nothing else says it.
    pub(in crate::read) fn native_types(&self) -> &NativeTypes {
        &self.native_types
    }
}
