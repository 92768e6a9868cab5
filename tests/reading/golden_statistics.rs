//! Statistics of a shard agree with the reference implementation's statistics of the same data.

use crate::support::{shared, written_bytes};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_shard::Shard;
use arrow_shard::format::{BasicType, DataType as NodeType, FieldDescriptor, Wire};
use arrow_shard::write::{Profile, WriterOptions};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Returns an error with the first difference between the descriptors of the reference and ours.
fn difference(theirs: &FieldDescriptor, ours: &FieldDescriptor) -> Result<(), String> {
    let same = |name: &str, equal: bool, values: [&dyn std::fmt::Debug; 2]| match equal {
        true => Ok(()),
        false => Err(format!("{name}: {:?}, ours {:?}", values[0], values[1])),
    };
    macro_rules! same {
        ($field:ident) => {
            same(
                stringify!($field),
                theirs.$field == ours.$field,
                [&theirs.$field, &ours.$field],
            )?
        };
    }
    same!(position_count);
    if theirs.position_count == 0 {
        // For a whole shard without positions, the reference stores no statistics.
        return Ok(());
    }
    same!(null_count);
    same!(raw_data_size);
    same!(type_specific);
    same!(bloom_filter);
    let (range, own) = (&theirs.range_stats, &ours.range_stats);
    let sides = |r: &Option<arrow_shard::format::RangeStats>| {
        r.clone().map(|r| {
            [
                (r.min_value, r.min_inclusive),
                (r.max_value, r.max_inclusive),
            ]
        })
    };
    let equal = match (sides(range), sides(own)) {
        (Some(a), Some(b)) => a.iter().zip(&b).all(|(a, b)| {
            let values = match (&a.0, &b.0) {
                (Some(a), Some(b)) => a.compare(b) == Some(Ordering::Equal),
                (a, b) => a == b,
            };
            values && a.1 == b.1
        }),
        (a, b) => a.is_none() && b.is_none(),
    };
    same("range_stats", equal, [range, own])?;
    let counted =
        |field: &FieldDescriptor| field.cardinality.as_ref().map(|c| (c.count, c.is_estimate));
    same(
        "cardinality",
        counted(theirs) == counted(ours),
        [&counted(theirs), &counted(ours)],
    )?;
    let sketch = |field: &FieldDescriptor| field.cardinality.clone().map(|c| c.sketch);
    match sketch(theirs) == sketch(ours) {
        true => Ok(()),
        false => Err("the sketch".to_owned()),
    }
}

/// Reads a column of a shard in its default type, or in coarser times.
fn column_of(shard: &Shard, i: usize) -> Result<RecordBatch, String> {
    let scan = |scan: arrow_shard::read::ScanBuilder| {
        let reader = scan
            .with_batch_size(1 << 20)
            .build()
            .map_err(|e| e.to_string())?;
        crate::support::collect(reader).map_err(|e| e.to_string())
    };
    let error = match scan(shard.scan().with_projection([i])) {
        Ok(batch) => return Ok(batch),
        Err(error) => error,
    };
    let schema = shard.schema().map_err(|e| e.to_string())?;
    let field = schema.field(i);
    let coarse = match field.data_type() {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Microsecond),
        _ => return Err(error),
    };
    let field = Field::new(field.name(), coarse, true);
    scan(shard.scan().with_schema(Arc::new(Schema::new(vec![field]))))
}

/// Collects this node and its children, as far as all of their values are visible. The reference stores and counts
/// values below a null struct or list, and this library does not.
fn shown<'a>(shard: &Shard, node: &'a NodeType, all: &mut Vec<&'a NodeType>) {
    all.push(node);
    let field = shard.stripe_field_descriptor(0, node.schema_id).unwrap();
    if field.is_some_and(|field| field.field.null_count == Some(0)) {
        node.children
            .iter()
            .for_each(|child| shown(shard, child, all));
    }
}

#[test]
fn statistics_agree_with_those_of_the_reference() {
    let Some(folder) = shared("golden/shards") else {
        return;
    };
    let mut wrong = Vec::new();
    let mut unread = BTreeSet::new();
    let (mut compared, mut indexes) = (0, 0);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.is_file()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let shard = Shard::open(path).unwrap();
        assert!(shard.num_stripes() <= 1);
        let theirs = shard.shard_schema().unwrap();
        for (i, field) in theirs.fields.iter().enumerate() {
            let place = format!("{name} `{}`", field.data_type.name);
            let batch = match column_of(&shard, i) {
                Ok(batch) if batch.num_rows() > 0 => batch,
                Ok(_) => continue,
                Err(error) => {
                    assert!(error.contains("exactly"), "{place}: {error}");
                    unread.insert(place);
                    continue;
                }
            };
            // The profile determines whether the reference writes filters.
            let profile = match name.contains(".plain.") {
                true => Profile::Plain,
                false => Profile::Balanced,
            };
            let options = WriterOptions::default()
                .with_wire(Wire::Reference)
                .with_profile(profile);
            let mut unwritten = false;
            field.data_type.walk(&mut |node| match node.basic_type {
                BasicType::FixedSizeList => unwritten = true,
                BasicType::Struct => unwritten |= node.children.is_empty(),
                _ => {}
            });
            if unwritten {
                // These are not written for the reference, because its reader does not accept them.
                continue;
            }
            let bytes = written_bytes(&[batch], options);
            let own = Shard::from_bytes(bytes).unwrap();
            let ours = own.shard_schema().unwrap();
            let (mut their_nodes, mut our_nodes) = (Vec::new(), Vec::new());
            shown(&shard, &field.data_type, &mut their_nodes);
            shown(&own, &ours.fields[0].data_type, &mut our_nodes);
            assert_eq!(their_nodes.len(), our_nodes.len(), "{place}");
            for (a, b) in their_nodes.into_iter().zip(our_nodes) {
                if a.basic_type != b.basic_type || a.signed != b.signed {
                    wrong.push(format!("{place}: {a:?} {b:?}"));
                    continue;
                }
                let of = |shard: &Shard, id: u32| shard.stripe_field_descriptor(0, id).unwrap();
                let Some(theirs) = of(&shard, a.schema_id) else {
                    continue;
                };
                let ours = of(&own, b.schema_id).unwrap();
                if let Err(e) = difference(&theirs.field, &ours.field) {
                    wrong.push(format!("{place} node {}: {e}", a.schema_id));
                }
                compared += 1;
                let shard_level = [(&shard, a.schema_id), (&own, b.schema_id)];
                let [c, d] = shard_level.map(|(s, id)| s.field_descriptor(id).unwrap().unwrap());
                if let Err(e) = difference(&c, &d) {
                    wrong.push(format!("{place} node {} of the shard: {e}", a.schema_id));
                }
                let index = |shard: &Shard, node| shard.range_index(0, node).unwrap();
                if let (Some(a), b) = (index(&shard, a), index(&own, b)) {
                    indexes += 1;
                    if let Some(b) = b {
                        let blocks = a.blocks().zip(b.blocks());
                        for (a, b) in blocks {
                            let same = match (&a.range, &b.range) {
                                (Some(a), Some(b)) => {
                                    a.0.compare(&b.0) == Some(Ordering::Equal)
                                        && a.1.compare(&b.1) == Some(Ordering::Equal)
                                }
                                (a, b) => a == b,
                            };
                            assert!(same && a.invalid == b.invalid, "{place}: {a:?} {b:?}");
                        }
                    }
                    // The range of all blocks is the range of the field.
                    let range = theirs.field.range_stats.clone().unwrap();
                    let (min, max) = (range.min_value.unwrap(), range.max_value.unwrap());
                    let all: Vec<_> = a.blocks().filter_map(|b| b.range).collect();
                    assert!(
                        all.iter().all(|(a, b)| min.compare(a).unwrap().is_le()
                            && max.compare(b).unwrap().is_ge())
                    );
                    assert!(
                        all.iter()
                            .any(|(a, _)| min.compare(a) == Some(Ordering::Equal)),
                        "{place}"
                    );
                    assert!(
                        all.iter()
                            .any(|(_, b)| max.compare(b) == Some(Ordering::Equal)),
                        "{place}"
                    );
                }
            }
        }
    }
    assert!(
        compared > 500 && indexes > 50,
        "{compared} fields, {indexes} indexes"
    );
    assert!(
        wrong.is_empty(),
        "{} of {compared}: {wrong:#?}",
        wrong.len()
    );
    // Its decimals have exponents beyond every Arrow type.
    assert_eq!(Vec::from_iter(unread), ["kusto_ext.amudai.shard `d`"]);
}
