//! Spec: Chapter 6, "Schema" (as it is stored).

use super::generated::reference_schema::amudai::reference;
use super::generated::spec_schema::amudai::spec;
use super::schema_reader::{MAX_NAME_BYTES, NO_PARENT};
use super::wire::{Message, Wire};
use super::{DataType, ExtendedType, PropertyValue, Schema};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::limits::{Limits, exceeded};
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, Vector, WIPOffset};
use xxhash_rust::xxh3::xxh3_64;

/// Fewest named children for which the reference stores a lookup table.
const MIN_LOOKUP_NAMES: usize = 10;

/// Upper bound of the size of the tables, vectors and vtables of a node or property, in bytes.
const NODE_OVERHEAD: usize = 256;

/// Largest schema, in bytes. FlatBuffers are limited to 2 GiB; half of that leaves room for padding.
const MAX_BYTES: usize = 1 << 30;

impl Schema {
    /// Returns the FlatBuffer of the schema in the layout of a wire.
    ///
    /// The ids must have been [assigned](Schema::assign_ids). Whether a reader of that wire supports
    /// the types is up to its [`Capabilities`](super::Capabilities).
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if a node is not valid,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) if the schema is larger or deeper than the
    /// default [`Limits`] of a reader.
    pub fn encode(&self, wire: Wire) -> Result<Vec<u8>> {
        let limits = Limits::default();
        let mut totals = Totals::default();
        for (i, field) in self.fields.iter().enumerate() {
            let kind = field.internal_kind.as_ref();
            totals.bytes += kind.map_or(0, String::len) + NODE_OVERHEAD;
            totals
                .add(&field.data_type, limits.max_schema_depth())
                .within(|| format!("field {i} ({:?})", field.data_type.name))?;
        }
        if totals.nodes > limits.max_schema_nodes() || totals.bytes > MAX_BYTES {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "a schema of {} nodes (Limits::max_schema_nodes is {} unless raised) and about \
                     {} bytes (at most {MAX_BYTES})",
                    totals.nodes,
                    limits.max_schema_nodes(),
                    totals.bytes
                ),
            ));
        }
        let mut builder = FlatBufferBuilder::with_capacity(1024);
        match wire {
            Wire::Spec => write_spec(&mut builder, self)?,
            Wire::Reference => write_reference(&mut builder, self, totals.nodes)?,
        }
        Ok(builder.finished_data().to_vec())
    }
}

/// Number of nodes, and upper bound of the size, of a schema.
#[derive(Default)]
struct Totals {
    nodes: u32,
    bytes: usize,
}

impl Totals {
    fn add(&mut self, node: &DataType, depth: u32) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| {
            let allowed = Limits::default().max_schema_depth().into();
            exceeded("max_schema_depth", allowed, "it is nested more levels deep")
        })?;
        node.check().map_err(|e| Error::invalid(e.message()))?;
        if node.name.len() > MAX_NAME_BYTES {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "a name of {} bytes, and the limit is {MAX_NAME_BYTES}",
                    node.name.len()
                ),
            ));
        }
        self.nodes = self.nodes.saturating_add(1);
        self.bytes += node.name.len() + NODE_OVERHEAD;
        self.bytes += node.aliases.iter().map(|a| a.len() + 16).sum::<usize>();
        for (name, value) in node.extended_type.iter().flat_map(|e| &e.properties) {
            let len = match value {
                PropertyValue::Null => 0,
                PropertyValue::String(s) | PropertyValue::Json(s) => s.len(),
                PropertyValue::Any(value) => value.encode(Wire::Spec)?.len(),
                PropertyValue::Other(_, bytes) => bytes.len(),
            };
            self.bytes += name.len() + len + NODE_OVERHEAD;
        }
        for child in &node.children {
            self.add(child, depth)
                .within(|| format!("{:?}", child.name))?;
        }
        Ok(())
    }
}

/// Returns the `PropertyValueKind` and the data of a property.
fn property_data(value: &PropertyValue, wire: Wire) -> Result<(u8, Vec<u8>)> {
    Ok(match value {
        PropertyValue::Null => (0, Vec::new()),
        PropertyValue::String(s) => (1, s.clone().into_bytes()),
        PropertyValue::Json(s) => (2, s.clone().into_bytes()),
        PropertyValue::Any(value) => (3, value.encode(wire)?),
        PropertyValue::Other(kind, data) => (*kind, data.clone()),
    })
}

/// Returns the buckets and entries of a lookup table for names.
fn hash_lookup<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Result<(Vec<u32>, Vec<u32>)> {
    let bucket_count = (names.len().max(4) / 2).next_power_of_two();
    let mut buckets = vec![Vec::new(); bucket_count];
    for (i, name) in names.enumerate() {
        let mask = u64::try_from(bucket_count).unwrap_or(u64::MAX) - 1;
        let bucket = usize::try_from(xxh3_64(name.as_bytes()) & mask).unwrap_or(usize::MAX);
        if let (Some(bucket), Ok(i)) = (buckets.get_mut(bucket), u32::try_from(i)) {
            bucket.push(i);
        }
    }
    let entries = buckets.concat();
    let mut start = 0;
    let mut starts = vec![0];
    for bucket in &buckets {
        start += u32::try_from(bucket.len())
            .map_err(|_| Error::invalid("more than 2^32 names to look up"))?;
        starts.push(start);
    }
    Ok((starts, entries))
}

type Offsets<'b, T> = WIPOffset<Vector<'b, ForwardsUOffset<T>>>;

macro_rules! writer {
    ($p:ident, $wire:expr, $node:ident, $extended:ident, $field:ident, $args:ident) => {
        fn $field<'b>(
            builder: &mut FlatBufferBuilder<'b>,
            field: &super::Field,
        ) -> Result<WIPOffset<$p::Field<'b>>> {
            let data_type = $node(builder, &field.data_type, NO_PARENT)?;
            let internal_field_annotation = field.internal_kind.as_ref().map(|kind| {
                let kind = Some(builder.create_string(kind));
                $p::InternalFieldAnnotation::create(
                    builder,
                    &$p::InternalFieldAnnotationArgs { kind },
                )
            });
            let args = $p::FieldArgs {
                data_type: Some(data_type),
                internal_field_annotation,
            };
            Ok($p::Field::create(builder, &args))
        }

        fn $node<'b>(
            builder: &mut FlatBufferBuilder<'b>,
            node: &DataType,
            parent: u32,
        ) -> Result<WIPOffset<$p::DataType<'b>>> {
            let written: Vec<_> = node
                .children
                .iter()
                .map(|child| $node(builder, child, node.schema_id))
                .collect::<Result<_>>()?;
            let children = builder.create_vector(&written);
            let extended_type = match &node.extended_type {
                Some(extended) => Some($extended(builder, extended)?),
                None => None,
            };
            let aliases: Vec<_> = node
                .aliases
                .iter()
                .map(|a| builder.create_string(a))
                .collect();
            let field_aliases = (!aliases.is_empty()).then(|| builder.create_vector(&aliases));
            let mut args = $args(builder, node, parent)?;
            args.field_name = Some(builder.create_string(&node.name));
            args.children = Some(children);
            args.field_aliases = field_aliases;
            args.extended_type = extended_type;
            args.basic_type = $p::BasicType(node.basic_type as u8);
            args.schema_id = node.schema_id;
            args.signed = node.signed && node.basic_type.is_integer();
            args.fixed_size = if node.basic_type.has_fixed_size() {
                node.fixed_size
            } else {
                0
            };
            Ok($p::DataType::create(builder, &args))
        }

        fn $extended<'b>(
            builder: &mut FlatBufferBuilder<'b>,
            extended: &ExtendedType,
        ) -> Result<WIPOffset<$p::ExtendedTypeAnnotation<'b>>> {
            let mut properties = Vec::with_capacity(extended.properties.len());
            for (name, value) in &extended.properties {
                let (kind, data) = property_data(value, $wire)?;
                let data = Some(builder.create_vector(&data));
                let args = $p::PropertyValueArgs {
                    kind: $p::PropertyValueKind(kind),
                    data,
                };
                let value = Some($p::PropertyValue::create(builder, &args));
                let name = Some(builder.create_string(name));
                let args = $p::ExtendedTypePropertyArgs { name, value };
                properties.push($p::ExtendedTypeProperty::create(builder, &args));
            }
            let properties: Offsets<'b, _> = builder.create_vector(&properties);
            let label = Some(builder.create_string(&extended.label));
            let args = $p::ExtendedTypeAnnotationArgs {
                label,
                properties: Some(properties),
            };
            Ok($p::ExtendedTypeAnnotation::create(builder, &args))
        }
    };
}

writer!(
    spec,
    Wire::Spec,
    spec_node,
    spec_extended,
    spec_field,
    spec_args
);
writer!(
    reference,
    Wire::Reference,
    reference_node,
    reference_extended,
    reference_field,
    reference_args
);

#[expect(clippy::unnecessary_wraps, reason = "the other layout's can fail")]
fn spec_args<'b>(
    _: &mut FlatBufferBuilder<'b>,
    _: &DataType,
    _: u32,
) -> Result<spec::DataTypeArgs<'b>> {
    Ok(spec::DataTypeArgs::default())
}

fn reference_args<'b>(
    builder: &mut FlatBufferBuilder<'b>,
    node: &DataType,
    parent_schema_id: u32,
) -> Result<reference::DataTypeArgs<'b>> {
    let names = node.children.iter().map(|c| c.name.as_str());
    let named = names.clone().filter(|name| !name.is_empty()).count();
    Ok(reference::DataTypeArgs {
        parent_schema_id,
        lookup: if named >= MIN_LOOKUP_NAMES {
            Some(reference_lookup(builder, names)?)
        } else {
            None
        },
        ..Default::default()
    })
}

fn reference_lookup<'a, 'b>(
    builder: &mut FlatBufferBuilder<'b>,
    names: impl ExactSizeIterator<Item = &'a str>,
) -> Result<WIPOffset<reference::HashLookup<'b>>> {
    let (buckets, entries) = hash_lookup(names)?;
    let args = reference::HashLookupArgs {
        buckets: Some(builder.create_vector(&buckets)),
        entries: Some(builder.create_vector(&entries)),
    };
    Ok(reference::HashLookup::create(builder, &args))
}

fn write_spec(builder: &mut FlatBufferBuilder<'_>, schema: &Schema) -> Result<()> {
    let written: Vec<_> = schema
        .fields
        .iter()
        .map(|f| spec_field(builder, f))
        .collect::<Result<_>>()?;
    let fields = Some(builder.create_vector(&written));
    let root = spec::Schema::create(builder, &spec::SchemaArgs { fields });
    builder.finish(root, None);
    Ok(())
}

fn write_reference(
    builder: &mut FlatBufferBuilder<'_>,
    schema: &Schema,
    node_count: u32,
) -> Result<()> {
    let written: Vec<_> = schema
        .fields
        .iter()
        .map(|f| reference_field(builder, f))
        .collect::<Result<_>>()?;
    let names = schema.fields.iter().map(|f| f.data_type.name.as_str());
    let args = reference::SchemaArgs {
        fields: Some(builder.create_vector(&written)),
        schema_id_count: node_count,
        field_lookup: Some(reference_lookup(builder, names)?),
    };
    let root = reference::Schema::create(builder, &args);
    builder.finish(root, None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_of_nine_names_is_that_of_the_reference() {
        let names = [
            "Id", "const", "f", "flag", "name", "st", "tags", "ts", "txt",
        ];
        let (buckets, entries) = hash_lookup(names.into_iter()).unwrap();
        assert_eq!(buckets, [0, 1, 5, 7, 9]);
        assert_eq!(entries, [6, 3, 4, 5, 7, 0, 2, 1, 8]);
        assert_eq!(xxh3_64(b"Id"), 0x6088_6B47_5781_816E);
    }

    #[test]
    fn buckets_are_half_the_names_rounded_up_to_a_power_of_two() {
        for (n, expected) in [(0, 2), (4, 2), (5, 2), (6, 4), (9, 4), (10, 8), (100, 64)] {
            let (buckets, entries) = hash_lookup(vec!["a"; n].into_iter()).unwrap();
            assert_eq!((buckets.len(), entries.len()), (expected + 1, n));
        }
    }
}
