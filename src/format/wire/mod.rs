//! Spec: docs/format.md, "Two wires, one model".
//!
//! Encodes metadata messages as bytes. Chapter 6 and the reference implementation number some fields
//! differently. The types of [`format`](super) are the same for both.

mod artifact;
mod bloom_filter;
mod capabilities;
mod conversion;
mod convert;
mod convert_field;
mod data_refs;
mod raw;
mod sketch;

use super::{
    AnyValue, DataRefArray, FieldDescriptor, IndexCollection, ShardDirectory, ShardProperties,
    StripeFieldDescriptor, StripeList, StripeProperties, UrlList,
};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::limits::Limits;
use bytes::{Buf, Bytes};
use conversion::{Cx, FromWire, ToWire};
use prost::Message as _;
use raw::{Raw, RawFields};

pub use capabilities::Capabilities;
pub use data_refs::DataRefs;

use super::generated::{reference_messages as reference, spec_messages as spec};

/// The dialect of a shard's metadata, see [`WriterOptions::with_wire`](crate::write::WriterOptions::with_wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wire {
    /// Follows Chapter 6 of the Amudai specification exactly. The default of writers.
    Spec,
    /// Follows microsoft/amudai, the reference implementation, which can then read the shard.
    Reference,
}

/// A metadata message: a protobuf payload, which files store in a frame.
pub trait Message: Sized {
    /// Encodes the payload.
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) if the wire cannot represent some of the content,
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the content contradicts itself, so that readers
    /// would reject it.
    fn encode(&self, wire: Wire) -> Result<Vec<u8>>;

    /// Decodes a payload. `wire` decides if the payload itself does not show its wire.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the payload is invalid, [`LimitExceeded`](ErrorKind::LimitExceeded) if it
    /// exceeds `limits`.
    fn decode(bytes: &[u8], wire: Wire, limits: &Limits) -> Result<Self> {
        Self::decode_shared(&Bytes::copy_from_slice(bytes), wire, limits)
    }

    /// Decodes a payload. Parts that may be long share its memory. `wire` decides if the payload itself does not show
    /// its wire.
    ///
    /// # Errors
    /// Returns the errors of [`decode`](Self::decode).
    fn decode_shared(bytes: &Bytes, wire: Wire, limits: &Limits) -> Result<Self>;
}

macro_rules! messages {
    ($($ty:ident),*) => {
        $(impl Message for $ty {
            fn encode(&self, wire: Wire) -> Result<Vec<u8>> {
                let limits = Limits::default();
                let cx = Cx::new(&limits);
                match wire {
                    Wire::Spec => ToWire::<spec::$ty>::to_wire(self, cx).map(|m| m.encode_to_vec()),
                    Wire::Reference => ToWire::<reference::$ty>::to_wire(self, cx).map(|m| m.encode_to_vec()),
                }
                .within(|| stringify!($ty).to_owned())
                .map_err(as_argument)
            }

            fn decode_shared(bytes: &Bytes, wire: Wire, limits: &Limits) -> Result<Self> {
                let cx = Cx::new(limits);
                check_size(bytes, limits)
                    .and_then(|()| match wire {
                        Wire::Spec => Self::from_wire(parse::<spec::$ty>(bytes.clone())?, cx),
                        Wire::Reference => Self::from_wire(parse::<reference::$ty>(bytes.clone())?, cx),
                    })
                    .within(|| stringify!($ty).to_owned())
            }
        })*
    };
}

messages!(
    AnyValue,
    DataRefArray,
    FieldDescriptor,
    IndexCollection,
    ShardDirectory,
    ShardProperties,
    StripeFieldDescriptor,
    StripeList,
    StripeProperties,
    UrlList
);

/// Turns errors for corrupt files into errors for invalid arguments, because the caller provided the content.
fn as_argument(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt => Error::invalid(error.message()).within(error.element()),
        _ => error,
    }
}

fn check_size(bytes: &[u8], limits: &Limits) -> Result<()> {
    limits.check_message_bytes(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
}

/// Decodes protobuf. prost limits its recursion to 100 messages.
fn parse<P: prost::Message + Default>(bytes: impl Buf) -> Result<P> {
    P::decode(bytes).map_err(|e| {
        let message = e.to_string();
        // prost shows the kind of an error only in its text.
        let kind = if message.contains("recursion limit") {
            ErrorKind::LimitExceeded
        } else {
            ErrorKind::Corrupt
        };
        Error::new(kind, message)
    })
}

impl ShardDirectory {
    /// Detects the wire of a directory's payload, which is the wire of the whole shard.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the reference to the schema fits neither wire.
    pub fn detect_wire(payload: &[u8]) -> Result<Wire> {
        let schema_ref = match RawFields::last(payload, 1) {
            Ok(Some(Raw::Len(data_ref))) => data_ref_wire(data_ref),
            Ok(_) => Err(Error::corrupt("there is no reference to a schema")),
            Err(e) => Err(e),
        };
        schema_ref.within(|| "ShardDirectory, schema_ref".to_owned())
    }
}

/// Detects the wire of a `DataRef`: url 2 and range 3, or url 1 and range 2.
fn data_ref_wire(data_ref: &[u8]) -> Result<Wire> {
    let (mut first, mut second, mut third) = (None, None, None);
    for field in RawFields::new(data_ref) {
        match field? {
            (1, Raw::Len(value)) => first = Some(value),
            (2, Raw::Len(value)) => second = Some(value),
            (3, Raw::Len(value)) => third = Some(value),
            _ => {}
        }
    }
    match (first, second, third) {
        (Some(_), _, None) => Ok(Wire::Reference),
        (None, _, Some(_)) => Ok(Wire::Spec),
        (None, Some(value), None) if is_range(value) => Ok(Wire::Reference),
        (None, Some(_), None) => Ok(Wire::Spec),
        _ => Err(Error::corrupt(format!(
            "a DataRef with {} fits neither the specification (fields 2 and 3) nor the reference (1 and 2)",
            if first.is_some() {
                "fields 1 and 3"
            } else {
                "none of the fields 1 to 3"
            }
        ))),
    }
}

/// Returns whether these bytes can be a `UInt64Range`.
fn is_range(bytes: &[u8]) -> bool {
    match bytes.len() {
        0 => true,
        9 => matches!(bytes.first(), Some(0x09 | 0x11)),
        18 => bytes.first() == Some(&0x09) && bytes.get(9) == Some(&0x11),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
