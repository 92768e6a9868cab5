//! Spec: docs/format.md, "Packed groups": columns that a shard stores as the members of one struct, so that their
//! blocks lie side by side.

use super::label;
use crate::format::{BasicType, DataType, ExtendedType};

/// The label of a struct of packed columns.
const LABEL: &str = "arrow_shard.columns";
/// The property with the positions of the members among all columns.
const POSITIONS: &str = "positions";

/// The place of a column: a field of the schema, or a member of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ColumnPlace {
    /// Ordinal of the field.
    pub(crate) field: usize,
    /// Ordinal of the member, for packed columns.
    pub(crate) member: Option<usize>,
}

impl ColumnPlace {
    /// Returns the place of a column that is a field of the schema.
    pub(crate) fn of_field(field: usize) -> Self {
        Self {
            field,
            member: None,
        }
    }
}

/// Returns the name of a struct of packed columns, which other readers see.
pub(crate) fn packed_columns_name(group: usize) -> String {
    format!("packed_columns_{group}")
}

/// Returns the label of a struct with the columns at these positions as members.
pub(crate) fn packed_columns_label(positions: &[usize]) -> ExtendedType {
    let positions: Vec<String> = positions.iter().map(usize::to_string).collect();
    label::label(LABEL, &[(POSITIONS, positions.join(","))])
}

/// Returns whether a field is a struct of packed columns.
pub(crate) fn has_packed_columns(node: &DataType) -> bool {
    node.basic_type == BasicType::Struct && node.label() == LABEL
}

/// Returns the places of the columns, in column order. `fields` has the ordinal of each field, with its node if it is a
/// struct of packed columns. The other fields take the remaining positions, in order. If the position of a packed
/// column is missing, out of range or already taken, the column follows the other fields.
pub(crate) fn column_places(fields: &[(usize, Option<&DataType>)]) -> Vec<ColumnPlace> {
    let count = |packed: &Option<&DataType>| packed.map_or(1, |node| node.children.len());
    let total = fields.iter().map(|(_, packed)| count(packed)).sum();
    let mut places: Vec<Option<ColumnPlace>> = vec![None; total];
    let (mut unpacked, mut late) = (Vec::new(), Vec::new());
    for (field, packed) in fields {
        let Some(node) = packed else {
            unpacked.push(ColumnPlace::of_field(*field));
            continue;
        };
        let positions = node.property(POSITIONS).unwrap_or_default().split(',');
        let mut positions = positions.map(|position| position.parse::<usize>().ok());
        for member in 0..node.children.len() {
            let place = ColumnPlace {
                field: *field,
                member: Some(member),
            };
            let position = positions.next().flatten();
            match position.and_then(|position| places.get_mut(position)) {
                Some(free) if free.is_none() => *free = Some(place),
                _ => late.push(place),
            }
        }
    }
    let mut rest = unpacked.into_iter().chain(late);
    places
        .into_iter()
        .filter_map(|place| place.or_else(|| rest.next()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(positions: &[usize], members: usize) -> DataType {
        let child = |i: usize| DataType::new(BasicType::Int32, format!("m{i}"));
        DataType {
            children: (0..members).map(child).collect(),
            extended_type: Some(packed_columns_label(positions)),
            ..DataType::new(BasicType::Struct, "packed")
        }
    }

    fn of(field: usize, member: usize) -> ColumnPlace {
        ColumnPlace {
            field,
            member: Some(member),
        }
    }

    #[test]
    fn columns_take_their_positions_and_others_what_is_left() {
        let node = packed(&[3, 0], 2);
        assert!(has_packed_columns(&node));
        let fields = [(0, None), (1, None), (2, Some(&node))];
        let alone = ColumnPlace::of_field;
        assert_eq!(
            column_places(&fields),
            [of(2, 1), alone(0), alone(1), of(2, 0)]
        );
        // Some fields were removed, others added.
        assert_eq!(column_places(&fields[2..]), [of(2, 1), of(2, 0)]);
        let more = [(0, None), (1, None), (4, None), (2, Some(&node))];
        assert_eq!(
            column_places(&more),
            [of(2, 1), alone(0), alone(1), of(2, 0), alone(4)]
        );
    }

    #[test]
    fn positions_that_are_not_so_lose_no_column() {
        for positions in [&[][..], &[9, 9], &[0, 0], &[usize::MAX, 1], &[1]] {
            let node = packed(positions, 2);
            let fields = [(0, None), (5, Some(&node)), (6, Some(&node))];
            let mut found = column_places(&fields);
            assert_eq!(found.len(), 5, "{positions:?}");
            found.sort_by_key(|place| (place.field, place.member));
            found.dedup();
            assert_eq!(found.len(), 5, "{positions:?}");
        }
        assert!(!has_packed_columns(&DataType::new(BasicType::Struct, "s")));
    }
}
