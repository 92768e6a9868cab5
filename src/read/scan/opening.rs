//! Opens a stripe for reading: finds it, and loads the metadata of its fields.

use super::source::{ReadState, StripeFields, may_end_early};
use super::stripe_reader::StripeReader;
use crate::buffer::{Selection, Storage};
use crate::error::{Error, Result, Within};
use crate::format::{BasicType, DataType, StripeDirectory, Wire};
use crate::read::shard::column::Column;
use crate::read::shard::fetch::{FetchPolicy, Fetched, StepBytes, drive};
use crate::read::shard::metadata::Metadata;

/// Returns the stripe that contains a row, and its ordinal.
pub(in crate::read) fn stripe_of(
    stripes: &[StripeDirectory],
    row: u64,
) -> Option<(u64, &StripeDirectory)> {
    let after = stripes.partition_point(|stripe| stripe.record_offset <= row);
    // Empty stripes have the same offset as the next stripe with rows, which is the last of them.
    let ordinal = after.checked_sub(1)?;
    let stripe = stripes.get(ordinal)?;
    (row - stripe.record_offset < stripe.total_record_count).then_some((ordinal as u64, stripe))
}

/// Opens the fields of the columns in a stripe: descriptors, block maps, dictionaries. Returns `None` if bytes must be
/// fetched first.
pub(in crate::read) fn open_fields(
    metadata: &Metadata,
    step: &StepBytes<'_>,
    stripe: u64,
    rows: u64,
    columns: &[Column],
) -> Result<Option<StripeFields>> {
    let mut opened = Vec::new();
    let mut complete = true;
    for column in columns {
        let mut error = Ok(());
        column.node.walk(&mut |node| {
            if error.is_err() {
                return;
            }
            match metadata.open_field(step, (stripe, node.schema_id), node) {
                Ok(Some(field)) => opened.push((node.schema_id, field)),
                Ok(None) => complete = false,
                Err(e) => {
                    let name = if node.name.is_empty() {
                        &column.node.name
                    } else {
                        &node.name
                    };
                    error = Err(e.within(format!("stripe {stripe}, field `{name}`")));
                }
            }
        });
        error?;
    }
    if !complete {
        return Ok(None);
    }
    let fields = StripeFields::new(stripe, opened, step);
    for column in columns {
        check_positions(metadata.wire, &fields, &column.node, Some(rows))
            .within(|| format!("stripe {stripe}, field `{}`", column.node.name))?;
    }
    Ok(Some(fields))
}

/// Largest descriptors of a column that are fetched before it is known whether the stripe has matching rows. Only Bloom
/// filters make descriptors larger.
const MAX_SMALL_DESCRIPTORS: u64 = 64 << 10;

/// Notes the metadata of the columns in a stripe that have to be fetched, except for columns with large descriptors.
pub(in crate::read) fn ask_for_small_fields(
    metadata: &Metadata,
    step: &StepBytes<'_>,
    stripe: u64,
    rows: u64,
    columns: &[Column],
) {
    for column in columns {
        let mut bytes = Some(0u64);
        column.node.walk(&mut |node| {
            let of_node = metadata.descriptor_bytes(step, (stripe, node.schema_id));
            let sum = bytes.zip(of_node.ok().flatten());
            bytes = sum.map(|(sum, of_node)| sum.saturating_add(of_node));
        });
        if bytes.is_some_and(|bytes| bytes <= MAX_SMALL_DESCRIPTORS) {
            // The reader of the column reports the error.
            let column = std::slice::from_ref(column);
            drop(open_fields(metadata, step, stripe, rows, column));
        }
    }
}

/// Fetches the descriptors of the columns in a stripe, unless they are known. In the same round, fetches bytes that are
/// likely to contain the values of these columns.
pub(super) async fn fetch_descriptors(
    metadata: &Metadata,
    fetched: &mut Fetched,
    stripe: u64,
    columns: &[Column],
) -> Result<()> {
    let policy = FetchPolicy::for_sparse_rows();
    drive(&metadata.artifacts, fetched, policy, |step| {
        let mut missing = Vec::new();
        for column in columns {
            // `open_fields` reports errors.
            column.node.walk(&mut |node| {
                if let Ok(None) = metadata.field(step, (stripe, node.schema_id)) {
                    missing.push(node.schema_id);
                }
            });
        }
        if step.guesses() {
            drop(metadata.guess_values(step, stripe, &missing));
        }
        Ok(missing.is_empty().then_some(()))
    })
    .await
}

/// Checks the number of positions of a field, which follows from its parent's, except for list items.
fn check_positions(
    wire: Wire,
    fields: &StripeFields,
    node: &DataType,
    expected: Option<u64>,
) -> Result<()> {
    let Some(layout) = fields.layout(node.schema_id) else {
        return Ok(());
    };
    let absent = layout.is_absent();
    if let Some(expected) = expected
        && layout.positions != expected
        && !absent
        && !(may_end_early(wire) && layout.positions < expected)
    {
        return Err(Error::corrupt(format!(
            "{} positions, expected {expected}",
            layout.positions
        ))
        .within(format!("schema node {}", node.schema_id)));
    }
    let below = match (node.basic_type, &layout.storage) {
        (_, Storage::Null) if absent => None,
        (BasicType::Struct, _) => Some(layout.positions),
        (BasicType::FixedSizeList, _) => Some(layout.positions.saturating_mul(node.fixed_size)),
        (BasicType::Union, Storage::Buffers(buffers)) if buffers.offsets.is_none() => {
            Some(layout.positions)
        }
        _ => None,
    };
    for child in &node.children {
        check_positions(wire, fields, child, below)?;
    }
    Ok(())
}

/// Returns the size in bytes of the columns' values in a stripe, from the descriptors alone; `None` if these must be
/// fetched first.
pub(in crate::read) fn described_bytes(
    metadata: &Metadata,
    step: &StepBytes<'_>,
    stripe: u64,
    columns: &[Column],
) -> Result<Option<u64>> {
    let (mut bytes, mut complete) = (0u64, true);
    for column in columns {
        let mut error = Ok(());
        column.node.walk(&mut |node| match metadata.described_bytes(
            step,
            (stripe, node.schema_id),
            node,
        ) {
            Ok(Some(of_field)) => bytes = bytes.saturating_add(of_field),
            Ok(None) => complete = false,
            Err(e) => error = Err(e),
        });
        error.within(|| format!("stripe {stripe}, field `{}`", column.node.name))?;
    }
    Ok(complete.then_some(bytes))
}

/// Notes the bytes of rows that have to be fetched, as far as their places are known before the dictionaries of the
/// columns have been loaded.
pub(in crate::read) fn ask_for_rows(
    metadata: &Metadata,
    step: &StepBytes<'_>,
    stripe: u64,
    columns: &[Column],
    rows: &Selection,
) {
    for column in columns {
        let (mut opened, mut complete) = (Vec::new(), true);
        column.node.walk(&mut |node| {
            match metadata.open_codes(step, (stripe, node.schema_id), node) {
                Ok(Some((field, has_maps))) => {
                    opened.push((node.schema_id, field));
                    complete &= has_maps;
                }
                // The reader of the rows reports the error.
                Ok(None) | Err(_) => complete = false,
            }
        });
        let fields = StripeFields::new(stripe, opened, step);
        let mut state = ReadState::default();
        let mut reader = StripeReader::new(metadata, step, &fields, &mut state, false);
        if complete {
            drop(reader.fetch(std::slice::from_ref(column), rows));
        } else {
            reader.guess(&column.node, rows);
        }
    }
}
