//! Round trips: `assemble` restores the arrays that `shred` was given.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "test data is small"
)]

mod casts;
mod conversions;
mod generate;
mod hostile;
mod logical;
mod native;
#[path = "../../tests/common/native.rs"]
mod representable;
mod source;

use super::schema::{self, NativeTypes, SchemaOptions, TypeMapping, to_shard};
use super::{assemble, shred};
use crate::buffer::Selection;
use crate::error::{ErrorKind, Result};
use crate::format::DataType;
use arrow_array::ArrayRef;
use arrow_schema::{DataType as ArrowType, Field, Schema};
use generate::{random_array, random_field};
use logical::{Value, values};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use source::{MemorySource, Style};

fn to_arrow(node: &DataType, hint: Option<&Field>) -> Result<Field> {
    schema::to_arrow(node, hint, &NativeTypes::default())
}

fn node_of(field: &Field, arrow_width_decimals: bool) -> DataType {
    let options = SchemaOptions {
        arrow_width_decimals,
        ..SchemaOptions::default()
    };
    node_with(field, &options)
}

fn node_with(field: &Field, options: &SchemaOptions) -> DataType {
    let schema = to_shard(&Schema::new(vec![field.clone()]), options).unwrap();
    schema.fields.into_iter().next().unwrap().data_type
}

fn push(source: &mut MemorySource, field: &Field, node: &DataType, array: &ArrayRef) -> Result<()> {
    let mut chunks = Vec::new();
    shred(field, array, node, &mut |id, chunk| {
        chunks.push((id, chunk));
        Ok(())
    })?;
    source.push(node, chunks, array.len());
    Ok(())
}

/// Stores one array and reads all of it as a type.
fn read_as(array: &ArrayRef, wanted: &ArrowType, style: Style) -> Result<ArrayRef> {
    let field = Field::new("c", array.data_type().clone(), true);
    let node = node_of(&field, false);
    let mut source = MemorySource::new(style);
    push(&mut source, &field, &node, array)?;
    let rows = Selection::range(0..array.len() as u64);
    let wanted = Field::new("c", wanted.clone(), true);
    let read = assemble(&wanted, &node, &rows, &mut source)?;
    assert_eq!(read.data_type(), wanted.data_type());
    read.to_data().validate_full().unwrap();
    Ok(read)
}

fn styles() -> [Style; 3] {
    let plain = Style::default();
    [
        plain,
        Style {
            dictionaries: true,
            ..plain
        },
        Style {
            unaligned: true,
            ..plain
        },
    ]
}

fn random_selection(rng: &mut StdRng, len: u64) -> Selection {
    let mut selection = Selection::default();
    let mut at = 0;
    while at < len {
        let start = at + rng.random_range(0..4);
        let end = (start + rng.random_range(0..6)).min(len);
        selection.push(start..end.max(start));
        at = end.max(start) + 1;
    }
    selection
}

fn check_round_trip(seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let field = random_field(&mut rng, 4, "column");
    let mappings = [TypeMapping::Lossless, TypeMapping::Amudai];
    let options = SchemaOptions {
        mapping: mappings[rng.random_range(0..2)],
        arrow_width_decimals: rng.random_bool(0.3),
    };
    let is_native = options.mapping == TypeMapping::Amudai;
    let node = node_with(&field, &options);
    assert_eq!(to_arrow(&node, Some(&field)).unwrap(), field);
    let mut source = MemorySource::new(styles()[rng.random_range(0..3)]);
    let mut expected: Vec<Value> = Vec::new();
    for _ in 0..rng.random_range(1..4) {
        let len = rng.random_range(0..30);
        let mut array = random_array(&mut rng, &field, len);
        if is_native {
            array = representable::representable(&array);
        }
        expected.extend(values(&array));
        push(&mut source, &field, &node, &array).unwrap();
    }
    let len = expected.len() as u64;
    let selections = [
        Selection::range(0..len),
        random_selection(&mut rng, len),
        Selection::default(),
    ];
    let natural = to_arrow(&node, None).unwrap();
    for rows in selections {
        let picked: Vec<Value> = rows
            .ranges()
            .iter()
            .flat_map(|r| expected[r.start as usize..r.end as usize].to_vec())
            .collect();
        for wanted in [&field, &natural] {
            let read = match assemble(wanted, &node, &rows, &mut source) {
                // Not every time fits nanoseconds, and not all decimals fit one type.
                Err(e) if is_native && wanted != &field => {
                    assert_eq!(e.kind(), ErrorKind::ValueOutOfRange, "{e}");
                    continue;
                }
                read => read.unwrap(),
            };
            assert_eq!(read.data_type(), wanted.data_type());
            read.to_data().validate_full().unwrap();
            if !is_native || wanted == &field {
                assert_eq!(values(&read), picked, "{field:?} as {wanted:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    #[cfg_attr(not(feature = "decimal"), ignore = "needs the feature decimal")]
    fn any_column_comes_back_equal_in_its_own_and_its_natural_type(seed in any::<u64>()) {
        check_round_trip(seed);
    }
}
