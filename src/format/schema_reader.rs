//! Spec: Chapter 6, "Schema" (as it is stored).
//!
//! The slots of the two layouts. They differ only in `DataType` and `Schema`:
//!
//! | `DataType` | spec | reference | | `Schema` | spec | reference |
//! |-|-|-|-|-|-|-|
//! | `basic_type` | 0 | 0 | | `fields` | 0 | 0 |
//! | `schema_id` | 1 | 1 | | `schema_id_count` | | 1 |
//! | `parent_schema_id` | | 2 | | `field_lookup` | | 2 |
//! | `field_name` | 2 | 3 | | | | |
//! | `field_aliases` | 3 | 4 | | | | |
//! | `children` | 4 | 5 | | | | |
//! | `signed` | 5 | 6 | | | | |
//! | `fixed_size` | 6 | 7 | | | | |
//! | `extended_type` | 7 | 8 | | | | |
//! | `lookup` | | 9 | | | | |

use super::flat::{Budget, Ledger, OffsetVector, Table};
use super::wire::{Message, Wire};
use super::{AnyValue, BasicType, DataType, ExtendedType, Field, PropertyValue};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::limits::{Limits, exceeded};
use bytes::Bytes;
use hashbrown::HashMap;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes that every node takes for itself: its table (12) and the reference to it (4). A buffer can have more
/// nodes than that allows only if references share tables.
const MIN_NODE_BYTES: usize = 16;

/// Longest name of a node, in bytes. Many nodes may share a name, and names are read often.
pub(super) const MAX_NAME_BYTES: usize = 1 << 16;

/// `parent_schema_id` of top-level fields in the reference's layout.
pub(super) const NO_PARENT: u32 = u32::MAX;

/// A reader of a stored schema, field by field.
///
/// Opening a schema takes the same time for ten fields as for fifty thousand. [`field`](Self::field) reads and
/// checks one field and its nested nodes.
#[derive(Debug, Clone)]
pub struct SchemaReader {
    payload: Bytes,
    limits: Limits,
    wire: Wire,
    len: usize,
    ledger: Arc<Ledger>,
}

/// The top-level fields with some names.
#[derive(Debug, Clone, Default)]
pub struct NamedFields<'n>(HashMap<&'n [u8], Vec<usize>>);

impl NamedFields<'_> {
    /// Returns the indexes of the fields with this name, ascending. Returns none if the name was not requested.
    pub fn get(&self, name: &str) -> &[usize] {
        self.0.get(name.as_bytes()).map_or(&[], Vec::as_slice)
    }
}

/// Remaining resources of one call.
struct SchemaAllowance<'a> {
    nodes: u32,
    depth: u32,
    budget: &'a mut Budget,
}

impl SchemaReader {
    /// Opens the FlatBuffer of a schema, which may start at any address.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the buffer has neither the layout of the specification
    /// nor the layout of the reference, [`LimitExceeded`](ErrorKind::LimitExceeded) if it has too many
    /// fields.
    pub fn try_new(payload: Bytes, limits: &Limits) -> Result<Self> {
        let (wire, len) = open(&payload).within(|| "Schema".to_owned())?;
        let reader = Self {
            ledger: Arc::new(Ledger::new(&payload)),
            payload,
            limits: limits.clone(),
            wire,
            len,
        };
        let most = reader.max_nodes();
        if u64::try_from(len).unwrap_or(u64::MAX) > u64::from(most) {
            return Err(too_many_nodes(most).within("Schema"));
        }
        Ok(reader)
    }

    /// Returns the layout of the schema.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// Returns the number of top-level fields.
    pub fn len(&self) -> usize {
        self.len
    }

    #[cfg(feature = "experimental")]
    /// Returns whether the schema is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns top-level field `i` with all of its nodes.
    ///
    /// # Errors
    /// [`UnknownColumn`](ErrorKind::UnknownColumn) if there is no such field,
    /// [`Corrupt`](ErrorKind::Corrupt) if its bytes are damaged, and
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) if it has too many nodes or too much text.
    pub fn field(&self, i: usize) -> Result<Field> {
        self.ledger
            .read(i, &self.payload, |budget| self.read_field(i, budget))
            .within(|| format!("Schema, field {i}"))
    }

    fn read_field(&self, i: usize, budget: &mut Budget) -> Result<Field> {
        let table = self.field_table(i)?;
        let mut allowance = SchemaAllowance {
            nodes: self.max_nodes(),
            depth: self.limits.max_schema_depth(),
            budget,
        };
        let internal_kind = match table.table(1)? {
            Some(annotation) => {
                let kind = required(annotation.text(0)?, "InternalFieldAnnotation.kind")?;
                Some(allowance.budget.copy(kind)?)
            }
            None => None,
        };
        let data_type = required(table.table(0)?, "Field.data_type")?;
        Ok(Field {
            data_type: self.node(&data_type, NO_PARENT, &mut allowance)?,
            internal_kind,
        })
    }

    /// Returns the name of top-level field `i`.
    ///
    /// # Errors
    /// Returns the errors of [`field`](Self::field).
    pub fn name(&self, i: usize) -> Result<&str> {
        self.read_name(i).within(|| format!("Schema, field {i}"))
    }

    fn read_name(&self, i: usize) -> Result<&str> {
        let data_type = required(self.field_table(i)?.table(0)?, "Field.data_type")?;
        self.node_name(&data_type)
    }

    fn node_name<'a>(&self, node: &Table<'a>) -> Result<&'a str> {
        let name = required(node.text(2 + self.shift())?, "DataType.field_name")?;
        if name.len() > MAX_NAME_BYTES {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "a name of {} bytes, and the limit is {MAX_NAME_BYTES}",
                    name.len()
                ),
            ));
        }
        Ok(name)
    }

    #[cfg(any(test, feature = "experimental"))]
    /// Returns the indexes of the top-level fields with this name, ascending.
    ///
    /// # Errors
    /// Returns the errors of [`name`](Self::name).
    pub fn find(&self, name: &str) -> Result<Vec<usize>> {
        Ok(self.find_all([name])?.get(name).to_vec())
    }

    /// Finds the top-level fields with any of these names, in one pass over the schema.
    ///
    /// # Errors
    /// Returns the errors of [`name`](Self::name).
    pub fn find_all<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<NamedFields<'n>> {
        let mut found = NamedFields::default();
        for name in names {
            let indexes = found.0.entry(name.as_bytes()).or_default();
            if indexes.is_empty() {
                *indexes = self.look_up(name).unwrap_or_default();
            }
        }
        let mut missing = NamedFields::default();
        found.0.retain(|name, indexes| {
            if indexes.is_empty() {
                missing.0.insert(name, Vec::new());
            }
            !indexes.is_empty()
        });
        if !missing.0.is_empty() {
            self.search(&mut missing)?;
            found.0.extend(missing.0);
        }
        Ok(found)
    }

    /// Compares the names of all fields with the wanted names.
    fn search(&self, wanted: &mut NamedFields<'_>) -> Result<()> {
        // Most names differ from the wanted ones by length. Lengths of 63 bytes and more share a bit.
        let bit = |name: &[u8]| 1u64 << name.len().min(63);
        let lengths = wanted.0.keys().fold(0, |bits, name| bits | bit(name));
        // Many fields of a hostile schema may share a very long name.
        let longest = wanted.0.keys().map(|name| name.len()).max().unwrap_or(0);
        let names = fields(&self.payload)?.bytes_below(0, 2 + self.shift());
        for (i, name) in names.enumerate() {
            let name = name.and_then(|name| required(name, "DataType.field_name"));
            let name = name.within(|| format!("Schema, field {i}"))?;
            if lengths & bit(name) != 0
                && name.len() <= longest
                && let Some(indexes) = wanted.0.get_mut(name)
            {
                indexes.push(i);
            }
        }
        Ok(())
    }

    /// Finds the fields with this name in the lookup table that the reference stores. Returns `None` if the table is
    /// missing or invalid.
    fn look_up(&self, name: &str) -> Option<Vec<usize>> {
        if self.wire != Wire::Reference {
            return None;
        }
        let lookup = Table::root(&self.payload).ok()?.table(2).ok()??;
        let (buckets, entries) = (lookup.words(0).ok()??, lookup.words(1).ok()??);
        let count = buckets
            .len()
            .checked_sub(1)
            .filter(|n| n.is_power_of_two())?;
        let hash = xxh3_64(name.as_bytes());
        let bucket = usize::try_from(hash & (count as u64 - 1)).ok()?;
        let start = |bucket: usize| usize::try_from(u32::from_le_bytes(*buckets.get(bucket)?)).ok();
        let mut found = Vec::new();
        for entry in entries.get(start(bucket)?..start(bucket + 1)?)? {
            let field = usize::try_from(u32::from_le_bytes(*entry)).ok()?;
            if field < self.len
                && self.stored_name(&self.field_table(field).ok()?).ok()? == name.as_bytes()
            {
                found.push(field);
            }
        }
        Some(found)
    }

    /// Returns the bytes of a field's name, which may not be valid text.
    fn stored_name<'a>(&self, field: &Table<'a>) -> Result<&'a [u8]> {
        let data_type = required(field.table(0)?, "Field.data_type")?;
        let stored = data_type.byte_vector(2 + self.shift())?;
        required(stored, "DataType.field_name")
    }

    #[cfg(any(test, feature = "experimental"))]
    /// Returns the number of nodes, including nested ones.
    ///
    /// The layout of the reference stores it. In the other layout, this visits the whole schema.
    ///
    /// # Errors
    /// Returns the errors of [`field`](Self::field).
    pub fn node_count(&self) -> Result<u32> {
        self.count_nodes().within(|| "Schema".to_owned())
    }

    #[cfg(any(test, feature = "experimental"))]
    fn count_nodes(&self) -> Result<u32> {
        let most = self.max_nodes();
        if self.wire == Wire::Reference {
            let count = Table::root(&self.payload)?.u32(1, 0)?;
            return if count <= most {
                Ok(count)
            } else {
                Err(too_many_nodes(most))
            };
        }
        let mut left = most;
        for i in 0..self.len {
            let data_type = required(self.field_table(i)?.table(0)?, "Field.data_type")?;
            self.count_below(&data_type, self.limits.max_schema_depth(), &mut left)?;
        }
        Ok(most - left)
    }

    #[cfg(any(test, feature = "experimental"))]
    fn count_below(&self, node: &Table<'_>, depth: u32, left: &mut u32) -> Result<()> {
        *left = left
            .checked_sub(1)
            .ok_or_else(|| too_many_nodes(self.max_nodes()))?;
        let depth = depth.checked_sub(1).ok_or_else(|| self.too_deep())?;
        for child in self.children(node)?.tables() {
            self.count_below(&child?, depth, left)?;
        }
        Ok(())
    }

    /// Returns the offset of slots after slot 1 from the specification's layout.
    fn shift(&self) -> usize {
        match self.wire {
            Wire::Spec => 0,
            Wire::Reference => 1,
        }
    }

    fn max_nodes(&self) -> u32 {
        let fit = u32::try_from(self.payload.len() / MIN_NODE_BYTES).unwrap_or(u32::MAX);
        fit.min(self.limits.max_schema_nodes())
    }

    fn too_deep(&self) -> Error {
        exceeded(
            "max_schema_depth",
            self.limits.max_schema_depth().into(),
            "schema nodes are nested more levels deep",
        )
    }

    fn field_table(&self, i: usize) -> Result<Table<'_>> {
        if i >= self.len {
            return Err(Error::new(
                ErrorKind::UnknownColumn,
                format!("the schema has {} fields", self.len),
            ));
        }
        fields(&self.payload)?.table(i)
    }

    fn children<'a>(&self, node: &Table<'a>) -> Result<OffsetVector<'a>> {
        required(node.vector(4 + self.shift())?, "DataType.children")
    }

    fn node(
        &self,
        table: &Table<'_>,
        parent: u32,
        allowance: &mut SchemaAllowance<'_>,
    ) -> Result<DataType> {
        allowance.nodes = allowance
            .nodes
            .checked_sub(1)
            .ok_or_else(|| too_many_nodes(self.max_nodes()))?;
        allowance.depth = allowance
            .depth
            .checked_sub(1)
            .ok_or_else(|| self.too_deep())?;
        allowance.budget.spend(size_of::<DataType>())?;
        let name = self.node_name(table)?;
        let node = self
            .named_node(table, name, parent, allowance)
            .within(|| format!("node {name:?}"))?;
        allowance.depth += 1;
        Ok(node)
    }

    fn named_node(
        &self,
        table: &Table<'_>,
        name: &str,
        parent: u32,
        allowance: &mut SchemaAllowance<'_>,
    ) -> Result<DataType> {
        let shift = self.shift();
        let number = table.u8(0, 0)?;
        let basic_type = BasicType::from_u8(number).ok_or_else(|| {
            Error::unsupported(format!("basic type {number} (this reader knows 0 to 17)"))
        })?;
        let schema_id = table.u32(1, 0)?;
        if schema_id >= self.max_nodes() {
            return Err(Error::corrupt(format!(
                "schema id {schema_id}, of at most {} nodes",
                self.max_nodes()
            )));
        }
        if self.wire == Wire::Reference && table.u32(2, 0)? != parent {
            return Err(Error::corrupt(format!(
                "parent_schema_id is {} instead of {parent}",
                table.u32(2, 0)?
            )));
        }
        let mut node = DataType::new(basic_type, allowance.budget.copy(name)?);
        node.schema_id = schema_id;
        // These have no meaning for other types, whatever a writer has stored.
        node.signed = table.bool(5 + shift)? && basic_type.is_integer();
        if basic_type.has_fixed_size() {
            node.fixed_size = table.u64(6 + shift, 0)?;
        }
        if let Some(aliases) = table.vector(3 + shift)? {
            for i in 0..aliases.len() {
                node.aliases.push(allowance.budget.copy(aliases.text(i)?)?);
            }
        }
        if let Some(extended) = table.table(7 + shift)? {
            node.extended_type = self.extended_type(&extended, allowance.budget)?;
        }
        for child in self.children(table)?.tables() {
            node.children
                .push(self.node(&child?, schema_id, allowance)?);
        }
        node.check()?;
        Ok(node)
    }

    fn extended_type(
        &self,
        table: &Table<'_>,
        budget: &mut Budget,
    ) -> Result<Option<ExtendedType>> {
        let label = required(table.text(0)?, "ExtendedTypeAnnotation.label")?;
        let stored = required(table.vector(1)?, "ExtendedTypeAnnotation.properties")?;
        let mut properties = Vec::new();
        for property in stored.tables() {
            let property = property?;
            let name = required(property.text(0)?, "ExtendedTypeProperty.name")?;
            let value = required(property.table(1)?, "ExtendedTypeProperty.value")?;
            budget.spend(size_of::<(String, PropertyValue)>())?;
            let value = self
                .property_value(&value, budget)
                .within(|| format!("property {name:?} of extended type {label:?}"))?;
            properties.push((budget.copy(name)?, value));
        }
        if label.is_empty() && properties.is_empty() {
            // An empty label is not an annotation.
            return Ok(None);
        }
        let label = budget.copy(label)?;
        Ok(Some(ExtendedType { label, properties }))
    }

    fn property_value(&self, table: &Table<'_>, budget: &mut Budget) -> Result<PropertyValue> {
        let data = required(table.byte_vector(1)?, "PropertyValue.data")?;
        budget.spend(data.len())?;
        let text = || {
            std::str::from_utf8(data)
                .map(str::to_owned)
                .map_err(|e| Error::corrupt(format!("the text is not UTF-8: {e}")))
        };
        Ok(match table.u8(0, 0)? {
            0 => PropertyValue::Null,
            1 => PropertyValue::String(text()?),
            2 => PropertyValue::Json(text()?),
            // The wire of this `AnyValue` is not stored. If it does not decode with the wire of the schema, its bytes
            // are kept.
            3 => match AnyValue::decode(data, self.wire, &self.limits) {
                Ok(value) => PropertyValue::Any(value),
                Err(_) => PropertyValue::Other(3, data.to_vec()),
            },
            other => PropertyValue::Other(other, data.to_vec()),
        })
    }
}

fn required<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| Error::corrupt(format!("{name} is required, and absent")))
}

fn too_many_nodes(most: u32) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        format!(
            "a schema of more than {most} nodes, which is Limits::max_schema_nodes or all that fit \
             into its bytes"
        ),
    )
}

fn fields(payload: &[u8]) -> Result<OffsetVector<'_>> {
    required(Table::root(payload)?.vector(0)?, "Schema.fields")
}

/// Returns the layout of a schema, and the number of its fields.
fn open(payload: &[u8]) -> Result<(Wire, usize)> {
    let root = Table::root(payload)?;
    let wire = match (root.has(1), root.has(2)) {
        (_, true) => Wire::Reference,
        (false, false) => Wire::Spec,
        (true, false) => {
            return Err(Error::corrupt(format!(
                "a root table of {} slots, the second in use and the third not, is neither the specification's nor the reference's",
                root.slot_count()
            )));
        }
    };
    let fields = required(root.vector(0)?, "Schema.fields")?;
    if fields.len() > 0 {
        let first = required(fields.table(0)?.table(0)?, "Field.data_type")?;
        // In the other layout, this slot is an offset to a name, which can never have this value.
        let no_parent = first.u32(2, 0)? == NO_PARENT;
        if no_parent != (wire == Wire::Reference) {
            return Err(Error::corrupt(format!(
                "the root table is laid out for Wire::{wire:?}, and the first field is not"
            )));
        }
    }
    Ok((wire, fields.len()))
}

#[cfg(test)]
mod tests;
