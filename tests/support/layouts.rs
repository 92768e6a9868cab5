//! Random layouts of columns, which do not change the data.
#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use arrow_schema::{DataType, Field, Schema};
use arrow_shard::write::{ColumnOptions, PresenceLayout};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Chooses a random layout for the columns with a name. The reference wire does not support all layouts.
pub(crate) fn random_layout(
    rng: &mut StdRng,
    schema: &Schema,
    name: &str,
    all_layouts: bool,
) -> ColumnOptions {
    let mut column = ColumnOptions::default()
        .with_presence(random_presence(rng))
        .with_packed_group(all_layouts && may_be_packed(schema, name) && rng.random())
        .with_delimited_values(all_layouts && rng.random_ratio(1, 4));
    if rng.random() {
        let most = [128, 256, 512, 1024, 4096];
        column = column.with_block_values(*most.choose(rng).unwrap());
    }
    column
}

pub(crate) fn random_presence(rng: &mut StdRng) -> PresenceLayout {
    let layouts = [PresenceLayout::Separate, PresenceLayout::Embedded];
    *layouts.choose(rng).unwrap()
}

/// Returns whether all columns with a name are structs with a member that is not nested.
fn may_be_packed(schema: &Schema, name: &str) -> bool {
    let mut named = schema.fields().iter().filter(|field| field.name() == name);
    named.all(|field| has_leaf(field))
}

/// Sometimes enables blobs for the columns with a name, if their type supports it. The reference wire and packed
/// columns have no blobs.
pub(crate) fn random_blobs(
    rng: &mut StdRng,
    schema: &Schema,
    name: &str,
    column: ColumnOptions,
) -> ColumnOptions {
    if !may_have_blobs(schema, name) || rng.random() {
        return column;
    }
    let sizes = [1, 3, 10, 1000];
    column
        .with_delimited_values(false)
        .with_blobs(*sizes.choose(rng).unwrap())
}

/// Returns whether all columns with a name are binary or text.
fn may_have_blobs(schema: &Schema, name: &str) -> bool {
    let mut named = schema.fields().iter().filter(|field| field.name() == name);
    named.all(|field| {
        let data_type = field.data_type();
        let is_fixed = matches!(data_type, DataType::FixedSizeBinary(_));
        (data_type.is_binary() || data_type.is_string()) && !is_fixed
    })
}

pub(crate) fn has_leaf(field: &Field) -> bool {
    let DataType::Struct(members) = field.data_type() else {
        return false;
    };
    members.iter().any(|member| {
        if member.dict_is_ordered() == Some(true) {
            return false;
        }
        let mut data_type = member.data_type();
        loop {
            data_type = match data_type {
                DataType::Dictionary(_, values) => values,
                DataType::RunEndEncoded(_, values) => values.data_type(),
                _ => break,
            };
        }
        !data_type.is_nested() && *data_type != DataType::Null
    })
}
