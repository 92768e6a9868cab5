//! What a reader may be told.

use crate::column::NativeTypes;
use crate::limits::Limits;
use crate::settings::settings;
use arrow_schema::TimeUnit;

/// Options of an open [`Shard`](super::Shard).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardOptions {
    limits: Limits,
    verify_checksums: bool,
    tail_bytes: u64,
    fetch_bytes: u64,
    coalesce_gap: u64,
    native_types: NativeTypes,
}

impl Default for ShardOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            verify_checksums: true,
            tail_bytes: 64 << 10,
            fetch_bytes: 8 << 20,
            coalesce_gap: 64,
            native_types: NativeTypes::default(),
        }
    }
}

settings! {
    ShardOptions {
        /// Whether checksums of data are verified when bytes are first touched; they are by default.
        /// Those of metadata always are.
        verify_checksums, with_verify_checksums: bool;
        /// Bytes at the end of the file that opening reads; 64 KiB by default.
        tail_bytes, with_tail_bytes: u64;
        /// Bytes that a scan fetches at a time, more or less; 8 MiB by default. Of local files it reads no
        /// more than 1 MiB at a time, so that the processor's caches still hold what is decoded.
        fetch_bytes, with_fetch_bytes: u64;
        /// Bytes between two ranges up to which they are fetched in one request; 64 by default.
        coalesce_gap, with_coalesce_gap: u64;
    }
}

impl ShardOptions {
    /// What reading may cost.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sets [`limits`](Self::limits).
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the unit of instants (DateTime) and time spans (KustoTimeSpan) of which neither the
    /// shard nor a requested schema says how to read them; nanoseconds by default, which reach from
    /// 1677 to 2262.
    #[must_use]
    pub fn with_default_time_unit(mut self, unit: TimeUnit) -> Self {
        self.native_types.time_unit = unit;
        self
    }

    /// Sets the type of decimals (KustoDecimal) of which neither the shard nor a requested schema
    /// says how to read them: Decimal128 for a precision up to 38, else Decimal256;
    /// `Decimal128(38, 16)` by default. A value that the type does not hold exactly is an error.
    #[must_use]
    pub fn with_default_precision_and_scale(mut self, precision: u8, scale: i8) -> Self {
        self.native_types.decimal_precision = precision;
        self.native_types.decimal_scale = scale;
        self
    }

    /// What becomes of native types of Amudai where nothing else says it.
    pub fn native_types(&self) -> &NativeTypes {
        &self.native_types
    }
}
