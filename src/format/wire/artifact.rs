//! Spec: Chapter 6, "Index Descriptor" (`artifacts`); docs/format.md, "Two wires, one model".
//!
//! In Chapter 6, an artifact is a `DataRef`. In the reference, it is an `IndexArtifact` that contains one.

use super::super::{DataRef, IndexArtifact};
use super::conversion::{Cx, FromWire, ToWire, from_list, from_option, to_list, to_option};
use super::raw::{Raw, RawFields};
use super::{Wire, data_ref_wire, is_range, parse, reference, spec};
use crate::error::{Error, Result, Within};
use prost::Message;

pub(super) fn encode(artifact: &IndexArtifact, wire: Wire, cx: Cx<'_>) -> Result<Vec<u8>> {
    match wire {
        Wire::Spec => {
            if !artifact.name.is_empty() || !artifact.properties.is_empty() {
                return Err(Error::unsupported(format!(
                    "Chapter 6 has no place for the name {:?} and the properties of an index artifact",
                    artifact.name
                )));
            }
            let data_ref = artifact
                .data_ref
                .as_ref()
                .ok_or_else(|| Error::invalid("an index artifact without a reference"))?;
            Ok(ToWire::<spec::DataRef>::to_wire(data_ref, cx)?.encode_to_vec())
        }
        Wire::Reference => Ok(reference::IndexArtifact {
            name: artifact.name.clone(),
            properties: to_list(&artifact.properties, cx, "property")?,
            data_ref: to_option(&artifact.data_ref, cx, "data_ref")?,
        }
        .encode_to_vec()),
    }
}

pub(super) fn decode(bytes: &[u8], wire: Wire, cx: Cx<'_>) -> Result<IndexArtifact> {
    match artifact_wire(bytes, wire)? {
        Wire::Spec => Ok(IndexArtifact {
            data_ref: Some(DataRef::from_wire(parse::<spec::DataRef>(bytes)?, cx)?),
            ..IndexArtifact::default()
        }),
        Wire::Reference => {
            let m: reference::IndexArtifact = parse(bytes)?;
            Ok(IndexArtifact {
                name: m.name,
                properties: from_list(m.properties, cx, "property")?,
                data_ref: from_option(m.data_ref, cx, "data_ref")?,
            })
        }
    }
}

/// Returns the wire that these bytes are written in.
fn artifact_wire(bytes: &[u8], wire: Wire) -> Result<Wire> {
    let mut named = false;
    let mut third = None;
    for field in RawFields::new(bytes) {
        match field? {
            (1, _) => named = true,
            (3, Raw::Len(value)) => third = Some(value),
            _ => {}
        }
    }
    match third {
        None | Some([]) if !named => Ok(wire),
        Some(value) if !named && is_range(value) => Ok(Wire::Spec),
        None | Some([]) => Ok(Wire::Reference),
        Some(value) => {
            // A reference inside it in the layout of Chapter 6 would be read as empty.
            match data_ref_wire(value).within(|| "data_ref".to_owned())? {
                Wire::Reference => Ok(Wire::Reference),
                Wire::Spec => Err(Error::corrupt(
                    "an index artifact of the reference contains a DataRef of the specification",
                )),
            }
        }
    }
}
