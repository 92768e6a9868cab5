//! The columns that filters test. Each type has one predicate, and values that do or do not match it. Statistics rule
//! out no value of the predicates, except for constants.

use crate::texts::{WORDS, address, phrase, word};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringViewArray, StructArray,
};
use arrow_buffer::BooleanBuffer;
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType, Field};
use arrow_shard::read::{ColumnRef, Predicate};
use rand::Rng;
use rand::rngs::SmallRng;
use std::sync::Arc;

/// A type of column, with a predicate.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// The member of a struct to test, if the column is one.
    pub(crate) member: Option<&'static str>,
    pub(crate) predicate: fn(ColumnRef) -> Predicate,
    /// Tests the values that a scan returned.
    pub(crate) kernel: fn(&dyn Array) -> Result<BooleanArray, ArrowError>,
    /// Returns values that match exactly where the bits are set.
    pub(crate) values: fn(&[bool], &mut SmallRng) -> ArrayRef,
}

pub(crate) const KEYS: [Key; 8] = [
    Key {
        name: "integer",
        member: None,
        predicate: |key| key.eq(INTEGER),
        kernel: |array| cmp::eq(&array, &Int64Array::new_scalar(INTEGER)),
        values: |matches, random| {
            // The integer is even, and the others are odd.
            integers(matches, |matches| {
                if matches {
                    INTEGER
                } else {
                    random.random_range(0..INTEGER) * 2 + 1
                }
            })
        },
    },
    Key {
        name: "float",
        member: None,
        predicate: |key| key.lt(1000.0),
        kernel: |array| cmp::lt(&array, &Float64Array::new_scalar(1000.0)),
        values: |matches, random| {
            let values = matches
                .iter()
                .map(|&matches| less_than_1000(matches, random));
            let prices = values.map(|value| value as f64 + 0.25);
            Arc::new(Float64Array::from_iter_values(prices))
        },
    },
    Key {
        name: "dictionary",
        member: None,
        predicate: |key| key.eq(word(0)),
        kernel: |array| cmp::eq(&array, &StringViewArray::new_scalar(word(0))),
        values: |matches, random| {
            texts(matches, |matches| {
                if matches {
                    word(0)
                } else {
                    word(random.random_range(1..WORDS))
                }
            })
        },
    },
    Key {
        name: "unique",
        member: None,
        predicate: |key| key.starts_with("x"),
        kernel: |array| {
            let mut prefixes = array.as_string_view().prefix_bytes_iter(1);
            let values =
                BooleanBuffer::collect_bool(array.len(), |_| prefixes.next() == Some(b"x"));
            Ok(BooleanArray::new(values, array.nulls().cloned()))
        },
        values: |matches, random| {
            texts(matches, |matches| {
                if matches {
                    address("xmpp", random)
                } else {
                    address(
                        ["http", "ftp", "zeronet"][random.random_range(0..3)],
                        random,
                    )
                }
            })
        },
    },
    Key {
        name: "empty",
        member: None,
        predicate: |key| key.not_eq(""),
        kernel: |array| cmp::neq(&array, &StringViewArray::new_scalar("")),
        values: |matches, random| {
            texts(matches, |matches| {
                if matches {
                    phrase(random)
                } else {
                    String::new()
                }
            })
        },
    },
    Key {
        name: "boolean",
        member: None,
        predicate: |key| key.eq(true),
        kernel: |array| Ok(array.as_boolean().clone()),
        values: |matches, _| Arc::new(BooleanArray::from(matches.to_vec())),
    },
    Key {
        name: "member",
        member: Some("a"),
        predicate: |key| key.lt(1000),
        kernel: |array| cmp::lt(array.as_struct().column(0), &Int64Array::new_scalar(1000)),
        values: |matches, random| {
            let tested = integers(matches, |matches| less_than_1000(matches, random));
            let other = integers(matches, |_| random.random_range(0..1000));
            let field = |name| Arc::new(Field::new(name, DataType::Int64, true));
            let members = vec![(field("a"), tested), (field("b"), other)];
            Arc::new(StructArray::from(members))
        },
    },
    Key {
        name: "nullable",
        member: None,
        predicate: |key| key.not_eq(0),
        kernel: |array| cmp::neq(&array, &Int64Array::new_scalar(0)),
        values: |matches, random| {
            // One in ten of the values that do not match is null.
            let values = matches.iter().map(|&matches| {
                if matches {
                    Some(random.random_range(1..INTEGER))
                } else {
                    (!random.random_ratio(1, 10)).then_some(0)
                }
            });
            Arc::new(values.collect::<Int64Array>())
        },
    },
];

/// A column of equal values.
pub(crate) const CONSTANT: Key = Key {
    name: "constant",
    member: None,
    predicate: |key| key.eq(1),
    kernel: |array| cmp::eq(&array, &Int64Array::new_scalar(1)),
    values: |matches, _| integers(matches, i64::from),
};

const INTEGER: i64 = 500_000;

/// Returns an integer that is less than 1,000 if it matches, and 1,000 or more otherwise.
fn less_than_1000(matches: bool, random: &mut SmallRng) -> i64 {
    random.random_range(if matches { 0..1000 } else { 1000..1_000_000 })
}

fn integers(matches: &[bool], value: impl FnMut(bool) -> i64) -> ArrayRef {
    let values = matches.iter().copied().map(value);
    Arc::new(Int64Array::from_iter_values(values))
}

fn texts(matches: &[bool], value: impl FnMut(bool) -> String) -> ArrayRef {
    let values = matches.iter().copied().map(value);
    Arc::new(StringViewArray::from_iter_values(values))
}
