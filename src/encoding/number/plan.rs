//! Plans: trees of encodings that a writer chooses for a block.

use std::fmt;

/// How to encode numbers: a tree of encodings. Parts that are `None` are stored raw.
///
/// A plan is an expectation. A block that violates it is encoded in another way, which is never
/// larger than [`Plain`](Plan::Plain).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Plan {
    /// Unencoded values.
    Plain,
    /// One value for all positions.
    SingleValue,
    /// Bit-packed. For signed integers, this means [`Ffor`](Plan::Ffor).
    FlBitPack,
    /// Bit-packed differences to the minimum.
    Ffor,
    /// Differences to the minimum; above [`Sparse`](Self::Sparse), to the most frequent value.
    For {
        /// Plan for the differences.
        deltas: Box<Plan>,
    },
    /// Differences of neighbors.
    Delta {
        /// Plan for the differences.
        differences: Box<Plan>,
    },
    /// Runs of equal values.
    RunLength {
        /// Plan for the value of each run.
        values: Option<Box<Plan>>,
        /// Plan for the length of each run.
        lengths: Option<Box<Plan>>,
    },
    /// The narrowest signed integers that hold all values of the block.
    #[cfg_attr(
        not(any(test, feature = "experimental")),
        expect(dead_code, reason = "the writer does not choose it")
    )]
    Truncate {
        /// Plan for the narrow values.
        values: Option<Box<Plan>>,
    },
    /// Signed integers folded into unsigned ones.
    #[cfg_attr(
        not(any(test, feature = "experimental")),
        expect(dead_code, reason = "the writer does not choose it")
    )]
    ZigZag {
        /// Plan for the unsigned values.
        values: Box<Plan>,
    },
    /// Codes into the distinct values.
    BlockDictionary {
        /// Plan for the codes.
        codes: Box<Plan>,
        /// Plan for the distinct values.
        values: Option<Box<Plan>>,
    },
    /// Only the values that are not 0.
    Sparse {
        /// Plan for their positions.
        positions: Option<Box<Plan>>,
        /// Plan for the values.
        values: Option<Box<Plan>>,
    },
    /// Floats as decimal integers.
    Alp {
        /// Plan for the integers.
        integers: Box<Plan>,
    },
    /// Floats split in two.
    AlpRd {
        /// Plan for the codes of the left parts.
        left: Box<Plan>,
        /// Plan for the right parts.
        right: Box<Plan>,
    },
    /// Zstandard; LZ4 in builds without it.
    Zstd {
        /// Compression level, 0 for the default of the library.
        level: i32,
    },
    /// LZ4.
    Lz4,
    /// Bit-packed differences to a reference, with exceptions.
    PatchedFfor,
    /// Bit-packed differences to the minimum without padding, for few numbers.
    CompactFfor,
    /// Multiples of a number above the minimum.
    Multiples {
        /// Plan for the quotients.
        quotients: Box<Plan>,
    },
    /// Pco, for numbers of 2 bytes and more.
    Pco {
        /// Compression level, 0 to 12.
        level: u8,
    },
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |plan: &Option<Box<Self>>| {
            plan.as_deref()
                .map_or_else(|| "raw".to_owned(), Self::to_string)
        };
        match self {
            Self::Plain => f.write_str("Plain"),
            Self::SingleValue => f.write_str("SingleValue"),
            Self::FlBitPack => f.write_str("FLBitPack"),
            Self::Ffor => f.write_str("FFOR"),
            Self::For { deltas } => write!(f, "FOR({deltas})"),
            Self::Delta { differences } => write!(f, "Delta({differences})"),
            Self::RunLength { values, lengths } => {
                write!(
                    f,
                    "RunLength(values: {}, lengths: {})",
                    part(values),
                    part(lengths)
                )
            }
            Self::Truncate { values } => write!(f, "Truncate({})", part(values)),
            Self::ZigZag { values } => write!(f, "ZigZag({values})"),
            Self::BlockDictionary { codes, values } => {
                write!(
                    f,
                    "BlockDictionary(codes: {codes}, values: {})",
                    part(values)
                )
            }
            Self::Sparse { positions, values } => {
                write!(
                    f,
                    "Sparse(positions: {}, values: {})",
                    part(positions),
                    part(values)
                )
            }
            Self::Alp { integers } => write!(f, "ALP({integers})"),
            Self::AlpRd { left, right } => write!(f, "ALPRD(left: {left}, right: {right})"),
            Self::Zstd { level } => write!(f, "ZSTD({level})"),
            Self::Lz4 => f.write_str("LZ4"),
            Self::PatchedFfor => f.write_str("PatchedFFOR"),
            Self::CompactFfor => f.write_str("CompactFFOR"),
            Self::Multiples { quotients } => write!(f, "Multiples({quotients})"),
            Self::Pco { level } => write!(f, "Pco({level})"),
        }
    }
}
