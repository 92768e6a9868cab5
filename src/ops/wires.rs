//! Spec: docs/format.md, "Differences in meaning": what stripes of one wire say in a directory of another.

use crate::error::{Error, Result, Within};
use crate::format::{BasicType, FieldDescriptor, Schema, Sketch, TypeStats, Wire};

/// Returns the wire of a directory over stripes of both wires. `Wire::Spec` if they differ, because readers of the
/// other wire may not know its blocks.
pub(super) fn united(a: Wire, b: Wire) -> Wire {
    if a == b { a } else { Wire::Spec }
}

/// Fails if the buffers of a column would have another meaning in a directory of another wire.
///
/// # Errors
/// Returns [`Unsupported`](crate::ErrorKind::Unsupported), which names the column: under `Wire::Reference`, children of
/// fixed-size lists may have fewer positions than their parents declare.
pub(super) fn check(schema: &Schema, from: Wire, to: Wire) -> Result<()> {
    if from == to {
        return Ok(());
    }
    for field in &schema.fields {
        let mut has_lists = false;
        let node = &field.data_type;
        node.walk(&mut |node| has_lists |= node.basic_type == BasicType::FixedSizeList);
        if has_lists {
            let place = || format!("column `{}`", node.name);
            return Err(Error::unsupported(format!(
                "a FixedSizeList is stored differently under {from:?} and {to:?}; convert the shard to {to:?}"
            )))
            .within(place);
        }
    }
    Ok(())
}

/// Translates a field descriptor from one wire to the other. Parts that the other wire cannot express are left out.
/// `label` is the label of the field's type.
pub(super) fn translate(field: &mut FieldDescriptor, label: &str, from: Wire, to: Wire) {
    if from == to {
        return;
    }
    let (before, after) = (from.capabilities(), to.capabilities());
    // A reader that hashes with another seed would not find values that are present.
    let filter = field.bloom_filter.take();
    field.bloom_filter = filter.filter(|filter| filter.hash_seed == after.filter_seed);
    if let Some(cardinality) = &mut field.cardinality {
        let sketch = cardinality.sketch.take();
        cardinality.sketch = sketch.filter(|sketch| match sketch {
            Sketch::Hll(hll) => hll.hash_seed == after.sketch_seed,
            Sketch::Other(_) => true,
        });
        if after.spec_statistics && !before.spec_statistics {
            let null = u64::from(field.null_count != Some(0));
            let count = cardinality.count.map(|count| count.saturating_add(null));
            cardinality.count = count.map(|count| count.min(field.position_count));
        }
    }
    if let Some(TypeStats::Floating {
        signs,
        positive_infinity_count,
        negative_infinity_count,
    }) = &mut field.type_specific
        && after.spec_statistics
        && !before.spec_statistics
    {
        let add = |count: &mut u64, more: u64| *count = count.saturating_add(more);
        add(&mut signs.positive_count, *positive_infinity_count);
        add(&mut signs.negative_count, *negative_infinity_count);
    }
    if label == "arrow.float16" {
        // One wire has statistics of the stored bits, and the other of the numbers.
        field.range_stats = None;
        field.type_specific = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{DataType, Field};

    #[test]
    fn lists_of_a_fixed_size_are_refused_by_name_where_wires_differ() {
        let mut list = DataType::new(BasicType::FixedSizeList, "l");
        list.children = vec![DataType::new(BasicType::Int32, "")];
        let mut around = DataType::new(BasicType::Struct, "s");
        around.children = vec![list];
        let schema = Schema {
            fields: vec![Field {
                data_type: around,
                internal_kind: None,
            }],
        };
        check(&schema, Wire::Reference, Wire::Reference).unwrap();
        let error = check(&schema, Wire::Reference, Wire::Spec).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
        assert!(error.to_string().contains("`s`"), "{error}");
        assert_eq!(united(Wire::Reference, Wire::Reference), Wire::Reference);
        assert_eq!(united(Wire::Reference, Wire::Spec), Wire::Spec);
    }
}
