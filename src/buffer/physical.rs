//! Spec: Chapter 6, "Data Encoding": what kind of values the buffers of a node hold.

use crate::error::{Error, Result};
use crate::format::{BasicType, DataType};

/// How the values of a schema node are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Physical {
    /// Only presence: `Unit`, `Struct`, `FixedSizeList`.
    Presence,
    /// One bit per position.
    Bits,
    /// Numbers of 1, 2, 4 or 8 bytes.
    Number(usize),
    /// Binary values of one size, in bytes.
    Fixed(usize),
    /// Strings and binary values of variable size.
    Bytes,
    /// Offsets into children: `List`, `Map`.
    Lists,
    /// Ordinals of children.
    Union,
}

impl Physical {
    /// Returns whether the field itself stores values, rather than its children.
    pub fn is_leaf(self) -> bool {
        !matches!(self, Self::Presence | Self::Lists | Self::Union)
    }

    /// Returns how values of `node` are stored.
    ///
    /// # Errors
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if a fixed size exceeds 31 bits, the limit of
    /// Arrow.
    pub fn of(node: &DataType) -> Result<Self> {
        use BasicType as T;
        Ok(match node.basic_type {
            T::Unit | T::Struct | T::FixedSizeList => Self::Presence,
            T::Boolean => Self::Bits,
            T::Int8 => Self::Number(1),
            T::Int16 => Self::Number(2),
            T::Int32 | T::Float32 => Self::Number(4),
            T::Int64 | T::Float64 | T::DateTime => Self::Number(8),
            T::Binary | T::String => Self::Bytes,
            T::Guid => Self::Fixed(16),
            T::FixedSizeBinary => Self::Fixed(
                i32::try_from(node.fixed_size)
                    .ok()
                    .and_then(|size| usize::try_from(size).ok())
                    .ok_or_else(|| {
                        Error::new(
                            crate::ErrorKind::LimitExceeded,
                            format!("a fixed size of {} bytes exceeds 31 bits", node.fixed_size),
                        )
                    })?,
            ),
            T::List | T::Map => Self::Lists,
            T::Union => Self::Union,
        })
    }

    /// Returns the bytes per value, for values of one size.
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Number(width) | Self::Fixed(width) => Some(width),
            _ => None,
        }
    }
}
