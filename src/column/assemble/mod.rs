//! Spec: docs/format.md, "Arrow types": the values of schema nodes to Arrow arrays.

mod bytes;
mod cast;
mod decimal128;
mod dictionary_array;
mod empty;
mod equality;
mod fixed;
mod list;
mod offsets;
mod run;
mod ticks;
mod union;
mod widened;

pub use bytes::byte_array;
pub use cast::Casts;
pub use empty::check_cast;
pub(crate) use widened::widen;

use super::schema::{check_children, deeper};
use super::{Chunk, NodeSource, declared_nulls};
use crate::arrow::is_wrapped;
use crate::buffer::Selection;
use crate::error::{Error, ErrorKind, Result, Within, to_usize};
use crate::format::{BasicType, DataType};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, NullArray, PrimitiveArray, StructArray, downcast_primitive,
    make_array,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType as ArrowType, Field, Fields};
use std::collections::HashMap;
use std::sync::Arc;

/// Assembles the array of a column from the values of its schema nodes at the positions `rows`. The array has exactly
/// the type of the field. Uses the default [`Casts`]; see [`assemble_as`] for the supported types.
///
/// # Errors
/// Returns the errors of [`assemble_as`].
pub fn assemble(
    field: &Field,
    node: &DataType,
    rows: &Selection,
    source: &mut dyn NodeSource,
) -> Result<ArrayRef> {
    assemble_as(field, node, &Casts::default(), rows, source)
}

/// Assembles the array of a column from the values of its schema nodes at the positions `rows`. The array has exactly
/// the type of the field.
///
/// The type may differ from [`to_arrow`](super::to_arrow): it may have any layout of strings, binaries and lists,
/// dictionaries and runs of any values, a choice of struct members, and leaves of every type that `arrow-cast` casts
/// them to. Decimals of a native type become decimals of any type that holds them exactly, if the Arrow type that they
/// were written in is unknown.
///
/// # Errors
/// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch) if the node cannot be converted to the type,
/// [`ValueOutOfRange`](ErrorKind::ValueOutOfRange) if a value cannot, [`OffsetOverflow`](ErrorKind::OffsetOverflow) if
/// offsets, keys or run ends are too narrow for the number of rows, [`Corrupt`](ErrorKind::Corrupt) if values
/// contradict the schema, and the errors of the source.
pub fn assemble_as(
    field: &Field,
    node: &DataType,
    casts: &Casts,
    rows: &Selection,
    source: &mut dyn NodeSource,
) -> Result<ArrayRef> {
    let mut assembler = Assembler {
        source,
        casts,
        depth: 0,
    };
    assembler
        .node(field.data_type(), node, rows)
        .within(|| format!("field `{}`", field.name()))
}

struct Assembler<'a> {
    source: &'a mut dyn NodeSource,
    casts: &'a Casts,
    depth: u32,
}

impl Assembler<'_> {
    fn node(&mut self, wanted: &ArrowType, node: &DataType, rows: &Selection) -> Result<ArrayRef> {
        let above = self.depth;
        self.depth = deeper(above)?;
        check_children(node)?;
        // Dictionaries and runs read their values through this method, which then widens them.
        let stored = if is_wrapped(wanted) {
            None
        } else {
            self.source.stored_as(node)
        };
        let result = match stored {
            Some(stored) => self.widened(wanted, node, &stored, rows),
            None => self.own(wanted, node, rows),
        };
        self.depth = above;
        result
    }

    /// Returns the values of a node in the type that the node has.
    fn own(&mut self, wanted: &ArrowType, node: &DataType, rows: &Selection) -> Result<ArrayRef> {
        match (wanted, node.basic_type) {
            (ArrowType::Dictionary(key, value), _) => self.dictionary(key, value, node, rows),
            (ArrowType::RunEndEncoded(ends, values), _) => {
                self.runs(wanted, ends.data_type(), values.data_type(), node, rows)
            }
            (_, BasicType::Unit) => self.units(wanted, node, rows),
            (_, BasicType::Boolean) => self.bits(wanted, node, rows),
            (_, BasicType::String | BasicType::Binary) => self.bytes(wanted, node, rows),
            (
                ArrowType::List(item)
                | ArrowType::LargeList(item)
                | ArrowType::ListView(item)
                | ArrowType::LargeListView(item),
                BasicType::List,
            ) => self.list(wanted, item, node, rows),
            (ArrowType::Map(entries, sorted), BasicType::Map) => {
                self.map(entries, *sorted, node, rows)
            }
            (ArrowType::FixedSizeList(item, size), BasicType::FixedSizeList) => {
                self.fixed_size_list(item, *size, node, rows)
            }
            (ArrowType::Struct(members), BasicType::Struct) => self.members(members, node, rows),
            (ArrowType::Union(variants, mode), BasicType::Union) => {
                self.union(variants, *mode, node, rows)
            }
            _ => self.fixed(wanted, node, rows),
        }
    }

    /// Refuses more positions than the limits allow for 8-byte numbers, before they are processed one by one. A few
    /// bytes of a file can represent billions of positions below fixed-size lists.
    fn check_positions(&self, rows: &Selection) -> Result<()> {
        let bytes = rows.len().saturating_mul(size_of::<u64>() as u64);
        self.source.check_bytes(bytes)
    }

    /// Returns one null per position. A unit node stores no bytes, but the source may refuse the number of positions.
    fn units(&mut self, wanted: &ArrowType, node: &DataType, rows: &Selection) -> Result<ArrayRef> {
        self.source.presence(node, rows)?;
        let nulls = Arc::new(NullArray::new(to_usize(rows.len())?));
        self.cast(nulls, wanted, node)
    }

    /// Returns the values of a leaf in another format, cast to the requested type. `natural` is the type from which
    /// they are cast.
    fn external(
        &mut self,
        wanted: &ArrowType,
        natural: &ArrowType,
        node: &DataType,
        rows: &Selection,
    ) -> Result<ArrayRef> {
        let array = self.source.external(node, natural, rows)?;
        check_len(to_usize(rows.len())?, array.len())?;
        let array = if array.data_type() == natural {
            array
        } else {
            cast::checked(&array, natural)?
        };
        self.cast(array, wanted, node)
    }

    /// Casts an array of a leaf to the requested type, if the source allows their size.
    fn cast(&self, array: ArrayRef, wanted: &ArrowType, node: &DataType) -> Result<ArrayRef> {
        if array.data_type() != wanted {
            let width = match wanted {
                ArrowType::FixedSizeBinary(size) => u64::try_from(*size).unwrap_or_default(),
                // Text is about as long as a view.
                other => other.primitive_width().unwrap_or(size_of::<u128>()) as u64,
            };
            let bytes = width.saturating_mul(array.len() as u64);
            self.source.check_bytes(bytes)?;
        }
        self.casts.leaf(array, wanted, node)
    }

    fn members(&mut self, members: &Fields, node: &DataType, rows: &Selection) -> Result<ArrayRef> {
        let nulls = self.source.presence(node, rows)?;
        let len = to_usize(rows.len())?;
        check_nulls(len, nulls.as_ref())?;
        let children = members_of(members, node)?;
        let mut arrays = Vec::with_capacity(members.len());
        for (member, child) in members.iter().zip(children) {
            let array = self.node(member.data_type(), child, rows);
            arrays.push(array.within(|| format!("member `{}`", member.name()))?);
        }
        for (member, array) in members.iter().zip(&arrays) {
            check_nullable(member, array, nulls.as_ref())
                .within(|| format!("member `{}`", member.name()))?;
        }
        let array = StructArray::try_new_with_length(members.clone(), arrays, nulls, len);
        Ok(Arc::new(array.map_err(invalid)?))
    }
}

/// Returns the child node of every member: by position if all names agree, else by name.
fn members_of<'a>(members: &Fields, node: &'a DataType) -> Result<Vec<&'a DataType>> {
    let children = &node.children;
    let named = |(field, child): (&Arc<Field>, &DataType)| field.name() == &child.name;
    if members.len() == children.len() && members.iter().zip(children).all(named) {
        return Ok(children.iter().collect());
    }
    let mut by_name: HashMap<&str, Option<&DataType>> = HashMap::new();
    for child in children {
        let unique = by_name.entry(&child.name);
        unique.and_modify(|c| *c = None).or_insert(Some(child));
    }
    let member = |field: &Arc<Field>| match by_name.get(field.name().as_str()) {
        Some(Some(child)) => Ok(*child),
        found => Err(Error::new(
            ErrorKind::SchemaMismatch,
            format!(
                "the struct `{}` has {} member `{}`",
                node.name,
                if found.is_some() {
                    "more than one"
                } else {
                    "no"
                },
                field.name()
            ),
        )),
    };
    members.iter().map(member).collect()
}

/// Converts an error of an Arrow constructor: the decoded values are not valid.
fn invalid(error: ArrowError) -> Error {
    Error::corrupt(error.to_string())
}

/// Refuses nulls of a child if its field declares none. Nulls below a null parent are allowed.
fn check_nullable(field: &Field, child: &ArrayRef, parent: Option<&NullBuffer>) -> Result<()> {
    if field.is_nullable() || declared_nulls(child) == 0 {
        return Ok(());
    }
    let is_hidden = match (parent, child.logical_nulls()) {
        (Some(parent), Some(nulls)) => parent.contains(&nulls),
        _ => false,
    };
    if is_hidden {
        return Ok(());
    }
    Err(undeclared(declared_nulls(child)))
}

/// Returns the error for nulls of a field that declares none.
fn undeclared(nulls: usize) -> Error {
    Error::new(
        ErrorKind::SchemaMismatch,
        format!("declared without nulls, but has {nulls}; ask for a nullable type"),
    )
}

fn check_len(expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "expected {expected} values, found {found}"
    )))
}

fn check_nulls(len: usize, nulls: Option<&NullBuffer>) -> Result<()> {
    match nulls {
        Some(nulls) => check_len(len, nulls.len()),
        None => Ok(()),
    }
}

fn check_chunk<V>(chunk: &Chunk<V>, rows: &Selection) -> Result<()> {
    check_len(to_usize(rows.len())?, chunk.len)?;
    check_nulls(chunk.len, chunk.nulls.as_ref())
}

/// Returns an array of a primitive type. Copies the values if they are not aligned; values from a file may not be.
fn from_values(
    arrow: ArrowType,
    len: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    check_nulls(len, nulls.as_ref())?;
    macro_rules! primitive {
        ($ty:ty, $arrow:expr) => {{
            let width = size_of::<<$ty as ArrowPrimitiveType>::Native>();
            check_len(len.saturating_mul(width), values.len())?;
            let aligned = values
                .as_ptr()
                .addr()
                .is_multiple_of(align_of::<<$ty as ArrowPrimitiveType>::Native>());
            let values = if aligned {
                values
            } else {
                Buffer::from(values.as_slice())
            };
            let values = ScalarBuffer::new(values, 0, len);
            let array = PrimitiveArray::<$ty>::try_new(values, nulls).map_err(invalid)?;
            Arc::new(array.with_data_type($arrow)) as ArrayRef
        }};
    }
    Ok(downcast_primitive! {
        arrow => (primitive, arrow),
        _ => return Err(Error::corrupt(format!("{arrow} is no primitive type"))),
    })
}

/// Returns the elements of an array at ascending positions.
fn subset(array: &ArrayRef, positions: &[usize]) -> Result<ArrayRef> {
    if positions.len() == array.len() {
        return Ok(array.clone());
    }
    let data = array.to_data();
    let mut out = MutableArrayData::new(vec![&data], false, positions.len());
    for run in positions.chunk_by(|a, b| a + 1 == *b) {
        if let [first, ..] = run {
            out.try_extend(0, *first, first + run.len())?;
        }
    }
    Ok(make_array(out.freeze()))
}
