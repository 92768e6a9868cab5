//! Spec: docs/format.md, "Arrow types" (labels without properties).

use super::to_shard::{SchemaOptions, field_node};
use crate::format::DataType;
use arrow_schema::Field;

/// Restores the properties of labels that were stored without them. `hint` is the Arrow field of the writer; a property
/// is taken from it where its storage matches the node.
pub fn complete_labels(node: &mut DataType, hint: &Field) {
    let mut is_bare = false;
    node.walk(&mut |node| {
        let extended = node.extended_type.as_ref();
        is_bare |= extended.is_some_and(|e| e.properties.is_empty());
    });
    if is_bare && let Ok(written) = field_node(hint, hint.name(), &SchemaOptions::default(), 0) {
        complete(node, &written);
    }
}

fn complete(node: &mut DataType, written: &DataType) {
    if node.basic_type != written.basic_type
        || node.signed != written.signed
        || node.fixed_size != written.fixed_size
    {
        return;
    }
    if let (Some(stored), Some(full)) = (&mut node.extended_type, &written.extended_type)
        && stored.label == full.label
        && stored.properties.is_empty()
    {
        stored.properties.clone_from(&full.properties);
    }
    for (child, written) in node.children.iter_mut().zip(&written.children) {
        if child.name == written.name {
            complete(child, written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType as ArrowType, Fields, TimeUnit};

    fn node(field: &Field) -> DataType {
        field_node(field, field.name(), &SchemaOptions::default(), 0).unwrap()
    }

    fn bare(mut node: DataType) -> DataType {
        if let Some(extended) = &mut node.extended_type {
            extended.properties.clear();
        }
        node.children = node.children.into_iter().map(bare).collect();
        node
    }

    fn record(members: [(&str, ArrowType); 2]) -> Field {
        let member = |(name, data_type): (&str, _)| Field::new(name, data_type, true);
        let members: Fields = members.map(member).to_vec().into();
        Field::new("c", ArrowType::Struct(members), true)
    }

    #[test]
    fn properties_come_back_where_the_storage_agrees() {
        let time = ArrowType::Time64(TimeUnit::Nanosecond);
        let written = record([("a", time), ("b", ArrowType::Decimal128(30, 2))]);
        let mut read = bare(node(&written));
        assert_ne!(read, node(&written));
        complete_labels(&mut read, &written);
        assert_eq!(read, node(&written));
    }

    #[test]
    fn hints_of_other_storage_names_or_meaning_change_nothing() {
        let time = || ArrowType::Time64(TimeUnit::Nanosecond);
        let stored = bare(node(&record([
            ("a", time()),
            ("b", ArrowType::Decimal128(30, 2)),
        ])));
        let duration = ArrowType::Duration(TimeUnit::Second);
        let others = [
            record([("x", time()), ("b", ArrowType::Decimal128(4, 2))]),
            record([("a", duration), ("b", ArrowType::FixedSizeBinary(16))]),
        ];
        for hint in others {
            let mut read = stored.clone();
            complete_labels(&mut read, &hint);
            assert_eq!(read, stored, "{hint}");
        }
    }
}
