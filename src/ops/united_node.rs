//! Spec: Chapter 6, "Schema": nodes of a schema that fits the stripes of several shards.

use super::arrow::is_wider;
use super::unify::Compared;
use crate::column::has_packed_columns;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{BasicType, DataType};
use arrow_schema::DataType as ArrowType;
use std::collections::HashMap;
use std::ops::Range;

/// A node of the united schema, and its number in each of the sources.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnitedNode {
    /// The node without its children. Its number is not used.
    pub(super) stored: DataType,
    pub(super) children: Vec<UnitedNode>,
    /// The number of the node in each source.
    ids: BySource,
    /// Ordinals of the sources that store 32-bit integers for this 64-bit node, in ascending order.
    narrow: Vec<usize>,
    /// The types of a leaf in the sources, each once; empty as long as all of them have the type of the node.
    types: Vec<LeafType>,
    /// The place in `types` of the type in each source.
    type_of: BySource,
    /// The Arrow type of the values of a leaf whose types are widened.
    pub(super) arrow: Option<ArrowType>,
    /// For an added column: the number of the node in the file with its values, and its type there.
    added: Option<(u32, BasicType)>,
}

/// The type of a leaf in a source.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeafType {
    /// The stored type, without the number and the name of the leaf.
    pub(super) stored: DataType,
    /// The Arrow type of the values.
    pub(super) arrow: ArrowType,
}

impl LeafType {
    /// Returns the type of a leaf with this stored form and Arrow type.
    pub(super) fn new(stored: &DataType, arrow: &ArrowType) -> Self {
        Self {
            stored: DataType {
                schema_id: 0,
                name: String::new(),
                ..stored.clone()
            },
            arrow: arrow.clone(),
        }
    }
}

impl UnitedNode {
    /// Returns a node that no source has.
    pub(super) fn new(mut stored: DataType) -> Self {
        let children = std::mem::take(&mut stored.children);
        Self {
            stored,
            children: children.into_iter().map(Self::new).collect(),
            ids: BySource::default(),
            narrow: Vec::new(),
            types: Vec::new(),
            type_of: BySource::default(),
            arrow: None,
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

    /// Sets the number of the node in a source. No later source has one yet.
    pub(super) fn set_id(&mut self, source: usize, id: u32) {
        self.ids.push(source, id);
    }

    /// Returns the number of the node in a source.
    pub(super) fn id_in(&self, source: usize) -> Option<u32> {
        self.ids.get(source)
    }

    /// Returns the first source that has the node.
    pub(super) fn first_source(&self) -> Option<usize> {
        self.ids.sources().next()
    }

    /// Returns the types of the leaf in the sources, each once, if they differ or differed from the type of the node.
    pub(super) fn types(&self) -> &[LeafType] {
        &self.types
    }

    /// Returns the type of the leaf in a source, if it is widened there.
    pub(super) fn type_in(&self, source: usize) -> Option<&LeafType> {
        let place = usize::try_from(self.type_of.get(source)?).ok()?;
        self.types
            .get(place)
            .filter(|there| !self.has_type(&there.stored))
    }

    /// Notes the type of the leaf in another source. All sources so far have the type `before`, unless types are noted
    /// already.
    pub(super) fn note_type(&mut self, source: usize, there: LeafType, before: &LeafType) {
        if self.types.is_empty() {
            self.types.push(before.clone());
            self.type_of = self.ids.all_with(0);
        }
        let known = self.types.iter().position(|known| *known == there);
        let place = known.unwrap_or_else(|| {
            self.types.push(there);
            self.types.len() - 1
        });
        if let Ok(place) = u32::try_from(place) {
            self.type_of.push(source, place);
        }
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
            _ => self.narrow.binary_search(&source).is_ok(),
        }
    }

    /// Whether a node is stored as this one, without regard to descendants.
    pub(super) fn has_type(&self, there: &DataType) -> bool {
        let same_storage = (
            self.stored.basic_type,
            self.stored.signed,
            self.stored.fixed_size,
        ) == (there.basic_type, there.signed, there.fixed_size);
        // Labels of packed columns contain their positions, which may differ. The first source decides.
        let same_label = self.stored.extended_type == there.extended_type
            || (has_packed_columns(&self.stored) && has_packed_columns(there));
        same_storage && same_label
    }

    /// Adds a source that stores this node and its descendants as `there`.
    ///
    /// # Errors
    /// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch) if the types do not fit, or
    /// [`AmbiguousColumn`](ErrorKind::AmbiguousColumn) if several members have the same name.
    pub(super) fn unite(&mut self, there: DataType, source: usize, at: Compared<'_>) -> Result<()> {
        if !self.has_type(&there) {
            if is_wider(&self.stored, &there) {
                self.narrow.push(source);
            } else if is_wider(&there, &self.stored) {
                self.narrow = self.ids.sources().filter(|&s| s < source).collect();
                self.stored.basic_type = there.basic_type;
            } else {
                return Err(self.mismatch(&there, at));
            }
        }
        self.set_id(source, there.schema_id);
        if there.basic_type == BasicType::Struct {
            let own: Vec<&str> = self.children.iter().map(Self::name).collect();
            let others: Vec<&str> = there.children.iter().map(|c| c.name.as_str()).collect();
            let places = places(&own, &others, at.path)?;
            for (place, child) in places.into_iter().zip(there.children) {
                let path = format!("{}.{}", at.path, child.name);
                match place.and_then(|place| self.children.get_mut(place)) {
                    Some(own) => own.unite(child, source, at.at(&path))?,
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
            return Err(self.mismatch(&there, at));
        }
        for (own, child) in self.children.iter_mut().zip(there.children) {
            own.unite(child, source, at)?;
        }
        Ok(())
    }

    /// Returns the error for a source that stores the node with a type that does not fit.
    pub(super) fn mismatch(&self, there: &DataType, at: Compared<'_>) -> Error {
        at.mismatch(
            &described(&self.stored),
            &described(there),
            self.first_source(),
        )
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

/// A number for each of some sources. Sources that follow each other and have the same number take the space of one:
/// a column usually has the same number everywhere.
#[derive(Debug, Clone, Default, PartialEq)]
struct BySource {
    /// Ranges of sources in ascending order, each with the number of its sources.
    runs: Vec<(Range<usize>, u32)>,
}

impl BySource {
    /// Sets the number of a source that is not before the last one. The number of the last one may change.
    fn push(&mut self, source: usize, number: u32) {
        if let Some((last, _)) = self.runs.last_mut()
            && source < last.end
        {
            last.end = source;
            if last.start == source {
                self.runs.pop();
            }
        }
        match self.runs.last_mut() {
            Some((last, same)) if last.end == source && *same == number => last.end += 1,
            _ => self.runs.push((source..source + 1, number)),
        }
    }

    fn get(&self, source: usize) -> Option<u32> {
        let next = self.runs.partition_point(|(run, _)| run.start <= source);
        let (run, number) = self.runs.get(next.checked_sub(1)?)?;
        run.contains(&source).then_some(*number)
    }

    /// Returns the sources that have a number, in ascending order.
    fn sources(&self) -> impl Iterator<Item = usize> {
        self.runs.iter().flat_map(|(run, _)| run.clone())
    }

    /// Returns the same sources, all with this number.
    fn all_with(&self, number: u32) -> Self {
        let mut all = Self::default();
        for (run, _) in &self.runs {
            match all.runs.last_mut() {
                Some((last, _)) if last.end == run.start => last.end = run.end,
                _ => all.runs.push((run.clone(), number)),
            }
        }
        all
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
    let places: HashMap<&str, usize> = own.iter().copied().zip(0..).collect();
    Ok(others
        .iter()
        .map(|name| places.get(name).copied())
        .collect())
}

/// Describes the type of a node for errors.
fn described(node: &DataType) -> String {
    match node.label() {
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
    }
}

#[cfg(test)]
mod tests {
    use super::BySource;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn numbers_by_source_are_those_that_were_set(
            steps in prop::collection::vec((0usize..3, 0u32..3), 0..40),
        ) {
            let (mut numbers, mut expected) = (BySource::default(), BTreeMap::new());
            let mut source = 0;
            for (step, number) in steps {
                source += step;
                numbers.push(source, number);
                expected.insert(source, number);
            }
            for source in 0..source + 2 {
                prop_assert_eq!(numbers.get(source), expected.get(&source).copied());
            }
            let sources: Vec<usize> = expected.keys().copied().collect();
            prop_assert_eq!(numbers.sources().collect::<Vec<_>>(), sources);
            // Equal numbers are equal values, however they came about.
            let mut again = BySource::default();
            expected.iter().for_each(|(&source, &number)| again.push(source, number));
            prop_assert_eq!(&numbers, &again);
            let mut same = BySource::default();
            expected.keys().for_each(|&source| same.push(source, 7));
            prop_assert_eq!(numbers.all_with(7), same);
        }
    }
}
