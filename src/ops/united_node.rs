//! Spec: Chapter 6, "Schema": nodes of a schema that fits the stripes of several shards.

use super::arrow::is_wider;
use crate::column::has_packed_columns;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BasicType, DataType};

/// A node of the united schema, and its number in each of the sources.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnitedNode {
    /// The node without its children. Its number is not used.
    pub(super) stored: DataType,
    pub(super) children: Vec<UnitedNode>,
    /// The number of the node in each source, by ordinal of the source.
    ids: Vec<Option<u32>>,
    /// Ordinals of the sources that store 32-bit integers for this 64-bit node.
    narrow: Vec<usize>,
    /// For an added column: the number of the node in the file with its values, and its type there.
    added: Option<(u32, BasicType)>,
}

impl UnitedNode {
    /// Returns a node that no source has.
    pub(super) fn new(mut stored: DataType) -> Self {
        let children = std::mem::take(&mut stored.children);
        Self {
            stored,
            children: children.into_iter().map(Self::new).collect(),
            ids: Vec::new(),
            narrow: Vec::new(),
            added: None,
        }
    }

    /// Returns a node of an added column, with its number in the file with the values.
    pub(super) fn added(mut stored: DataType) -> Self {
        let children = std::mem::take(&mut stored.children);
        Self {
            added: Some((stored.schema_id, stored.basic_type)),
            children: children.into_iter().map(Self::added).collect(),
            ..Self::new(stored)
        }
    }

    /// Returns a node that exists in one source.
    pub(super) fn of(mut stored: DataType, source: usize) -> Self {
        let children = std::mem::take(&mut stored.children);
        let mut node = Self::new(stored);
        node.set_id(source, node.stored.schema_id);
        node.children = children.into_iter().map(|c| Self::of(c, source)).collect();
        node
    }

    fn set_id(&mut self, source: usize, id: u32) {
        if self.ids.len() <= source {
            self.ids.resize(source + 1, None);
        }
        if let Some(known) = self.ids.get_mut(source) {
            *known = Some(id);
        }
    }

    /// Returns the number of the node in a source.
    pub(super) fn id_in(&self, source: usize) -> Option<u32> {
        self.ids.get(source).copied().flatten()
    }

    /// Returns the number of the node in the file with the values of an added column.
    pub(super) fn added_id(&self) -> Option<u32> {
        self.added.map(|(id, _)| id)
    }

    /// Whether a source stores 32-bit integers for this 64-bit node. If the source lacks the node, whether the values
    /// of the added column are 32-bit integers.
    pub(super) fn is_narrow_in(&self, source: usize) -> bool {
        match (self.id_in(source), self.added) {
            (None, Some((_, added))) => added != self.stored.basic_type,
            _ => self.narrow.contains(&source),
        }
    }

    /// Adds a source that stores this node and its descendants as `there`.
    ///
    /// # Errors
    /// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch) if the types do not fit, or
    /// [`AmbiguousColumn`](ErrorKind::AmbiguousColumn) if several members have the same name.
    pub(super) fn unite(&mut self, there: DataType, source: usize, path: &str) -> Result<()> {
        let same_storage = (
            self.stored.basic_type,
            self.stored.signed,
            self.stored.fixed_size,
        ) == (there.basic_type, there.signed, there.fixed_size);
        // Labels of packed columns contain their positions, which may differ. The first source decides.
        let same_label = self.stored.extended_type == there.extended_type
            || (has_packed_columns(&self.stored) && has_packed_columns(&there));
        if !same_storage || !same_label {
            if is_wider(&self.stored, &there) {
                self.narrow.push(source);
            } else if is_wider(&there, &self.stored) {
                self.narrow = (0..source).filter(|&s| self.id_in(s).is_some()).collect();
                self.stored.basic_type = there.basic_type;
            } else {
                return Err(mismatch(path, &self.stored, &there));
            }
        }
        self.set_id(source, there.schema_id);
        if there.basic_type == BasicType::Struct {
            let own: Vec<&str> = self.children.iter().map(Self::name).collect();
            let others: Vec<&str> = there.children.iter().map(|c| c.name.as_str()).collect();
            let places = places(&own, &others, path)?;
            for (place, child) in places.into_iter().zip(there.children) {
                let path = format!("{path}.{}", child.name);
                match place.and_then(|place| self.children.get_mut(place)) {
                    Some(own) => own.unite(child, source, &path)?,
                    None => self.children.push(Self::of(child, source)),
                }
            }
            return Ok(());
        }
        let is_union = there.basic_type == BasicType::Union;
        let differ = |(own, other): (&Self, &DataType)| is_union && own.name() != other.name;
        if self.children.len() != there.children.len()
            || self.children.iter().zip(&there.children).any(differ)
        {
            return Err(mismatch(path, &self.stored, &there));
        }
        for (own, child) in self.children.iter_mut().zip(there.children) {
            own.unite(child, source, path)?;
        }
        Ok(())
    }

    pub(super) fn name(&self) -> &str {
        &self.stored.name
    }

    /// Returns the stored form of the node and its descendants, without final numbers.
    pub(super) fn to_stored(&self) -> DataType {
        DataType {
            children: self.children.iter().map(Self::to_stored).collect(),
            ..self.stored.clone()
        }
    }

    /// Calls `visit` for the node and its descendants, parents first: the order in which numbers are assigned.
    pub(super) fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        self.children.iter().for_each(|child| child.walk(visit));
    }
}

/// Returns the position of each of `others` in `own`, or `None` for a new name.
pub(super) fn places(own: &[&str], others: &[&str], path: &str) -> Result<Vec<Option<usize>>> {
    if own == others {
        return Ok((0..own.len()).map(Some).collect());
    }
    for names in [own, others] {
        let mut sorted = names.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let of = if path.is_empty() { "columns" } else { path };
            return Err(Error::new(
                ErrorKind::AmbiguousColumn,
                format!(
                    "several of {of} are named `{}`, and cannot be told apart",
                    twice[0]
                ),
            ));
        }
    }
    let place = |name: &&str| own.iter().position(|own| own == name);
    Ok(others.iter().map(place).collect())
}

fn mismatch(path: &str, own: &DataType, other: &DataType) -> Error {
    let describe = |node: &DataType| match node.label() {
        "" => node.stored_type(),
        label => {
            let texts: Vec<String> = (node.extended_type.iter())
                .flat_map(|e| &e.properties)
                .map(|(name, value)| format!("{name} {}", value.text()))
                .collect();
            let properties = if texts.is_empty() {
                String::new()
            } else {
                format!(" ({})", texts.join(", "))
            };
            format!("{label}{properties} as {}", node.stored_type())
        }
    };
    Error::new(
        ErrorKind::SchemaMismatch,
        format!(
            "column `{path}` is {} in one shard and {} in another; rewrite one of them with the type of \
             the other",
            describe(own),
            describe(other)
        ),
    )
}
