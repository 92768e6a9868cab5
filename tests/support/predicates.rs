//! Random predicates, and their evaluation with arrow's kernels alone.
#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]

use crate::common::arrays::random_array;
use crate::common::schemas::is_union;
use arrow_arith::boolean::{and_kleene, not, or_kleene};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, Scalar};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use arrow_shard::read::{Literal, Predicate, col};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// A column, or a member of structs in a column.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) name: String,
    column: usize,
    members: Vec<usize>,
    pub(crate) data_type: DataType,
}

/// Returns all columns, and members outside of lists, with a unique path.
pub(crate) fn paths(schema: &Schema) -> Vec<Path> {
    let mut found = Vec::new();
    let fields = schema.fields();
    for (column, field) in fields.iter().enumerate() {
        let same = fields.iter().filter(|f| f.name() == field.name()).count();
        if same == 1 && !field.name().contains('.') {
            add_paths(field, field.name().clone(), column, &[], &mut found);
        }
    }
    found
}

fn add_paths(field: &Field, name: String, column: usize, members: &[usize], out: &mut Vec<Path>) {
    if let DataType::Struct(fields) = field.data_type() {
        for (i, child) in fields.iter().enumerate() {
            let is_same = |f: &&FieldRef| f.name() == child.name();
            if fields.iter().filter(is_same).count() == 1 && !child.name().contains('.') {
                let path = format!("{name}.{}", child.name());
                add_paths(child, path, column, &[members, &[i]].concat(), out);
            }
        }
    }
    // Unions are not null, even if the structs around them are.
    if is_union(field.data_type()) && !members.is_empty() {
        return;
    }
    out.push(Path {
        name,
        column,
        members: members.to_vec(),
        data_type: field.data_type().clone(),
    });
}

impl Path {
    /// Returns the values in a batch, and the nulls of the structs around them.
    fn values(&self, batch: &RecordBatch) -> (ArrayRef, Option<NullBuffer>) {
        let mut array = batch.column(self.column).clone();
        let mut nulls = None;
        for &member in &self.members {
            nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
            array = array.as_struct().column(member).clone();
        }
        (array, nulls)
    }

    /// Returns the type of the values without dictionaries and run-end encoding.
    fn plain(&self) -> &DataType {
        fn plain(data_type: &DataType) -> &DataType {
            match data_type {
                DataType::Dictionary(_, values) => plain(values),
                DataType::RunEndEncoded(_, values) => plain(values.data_type()),
                other => other,
            }
        }
        plain(&self.data_type)
    }

    /// Returns whether arrow's kernels can compare the values.
    fn is_comparable(&self) -> bool {
        let is_wrapped =
            |t: &DataType| matches!(t, DataType::Dictionary(..) | DataType::RunEndEncoded(..));
        let twice = match &self.data_type {
            DataType::Dictionary(_, values) => is_wrapped(values),
            DataType::RunEndEncoded(_, values) => is_wrapped(values.data_type()),
            _ => false,
        };
        let plain = self.plain();
        let is_odd = matches!(plain, DataType::Null | DataType::FixedSizeBinary(0));
        !twice && !plain.is_nested() && !is_odd
    }

    fn is_bytes(&self) -> bool {
        let plain = self.plain();
        self.is_comparable() && (plain.is_string() || plain.is_binary())
    }
}

/// A predicate in a form that the tests can evaluate.
#[derive(Debug, Clone)]
pub(crate) enum Oracle {
    Compare(Path, usize, ArrayRef),
    In(Path, Vec<ArrayRef>),
    Null(Path),
    Prefix(Path, Vec<u8>),
    Function(Path),
    And(Vec<Oracle>),
    Or(Vec<Oracle>),
    Not(Box<Oracle>),
}

impl Oracle {
    /// Returns a random predicate over some of the paths, with literals among the values.
    pub(crate) fn random(
        rng: &mut StdRng,
        paths: &[Path],
        batches: &[RecordBatch],
        depth: u32,
    ) -> Option<Self> {
        let path = paths.choose(rng)?.clone();
        let some = |rng: &mut StdRng| -> Option<Vec<Self>> {
            let count = rng.random_range(1..4);
            (0..count)
                .map(|_| Self::random(rng, paths, batches, depth - 1))
                .collect()
        };
        Some(match rng.random_range(0..12) {
            0 | 1 if depth > 0 => Self::And(some(rng)?),
            2 | 3 if depth > 0 => Self::Or(some(rng)?),
            4 if depth > 0 => Self::Not(Box::new(Self::random(rng, paths, batches, depth - 1)?)),
            5 => Self::Function(path),
            6 if path.is_bytes() => {
                let literal = literal(rng, &path, batches)?;
                let bytes = arrow_cast::cast(&literal, &DataType::LargeBinary).ok()?;
                let bytes = bytes.as_binary::<i64>();
                let bytes = if bytes.is_valid(0) {
                    bytes.value(0)
                } else {
                    b"a"
                };
                let len = rng.random_range(0..=bytes.len().min(3));
                Self::Prefix(path, bytes[..len].to_vec())
            }
            7 if path.is_comparable() => {
                let count = match rng.random_range(0..4) {
                    0 => rng.random_range(9..20),
                    _ => rng.random_range(0..4),
                };
                let literals = (0..count).map(|_| literal(rng, &path, batches));
                Self::In(path.clone(), literals.collect::<Option<_>>()?)
            }
            _ if path.is_comparable() => {
                let literal = literal(rng, &path, batches)?;
                Self::Compare(path, rng.random_range(0..6), literal)
            }
            _ => Self::Null(path),
        })
    }

    /// Returns all comparisons of a column with one value.
    pub(crate) fn comparisons(path: &Path, value: &ArrayRef) -> Vec<Self> {
        let compare = |comparison| Self::Compare(path.clone(), comparison, value.clone());
        (0..6).map(compare).collect()
    }

    pub(crate) fn predicate(&self) -> Predicate {
        let of = |value: &ArrayRef| Literal::try_new(&Scalar::new(value.clone())).unwrap();
        let lit = |(i, value): (usize, &ArrayRef)| match i % 2 {
            0 => of(value),
            _ => of(&in_another_type(value)),
        };
        match self {
            Self::Compare(path, comparison, value) => {
                let (column, value) = (col(&path.name), lit((*comparison, value)));
                match comparison {
                    0 => column.eq(value),
                    1 => column.not_eq(value),
                    2 => column.lt(value),
                    3 => column.lt_eq(value),
                    4 => column.gt(value),
                    _ => column.gt_eq(value),
                }
            }
            Self::In(path, values) => col(&path.name).is_in(values.iter().enumerate().map(lit)),
            Self::Null(path) => col(&path.name).is_null(),
            Self::Prefix(path, prefix) => col(&path.name).starts_with(prefix),
            Self::Function(path) => {
                Predicate::from_fn([&path.name], |batch| Ok(odd(batch.column(0).as_ref())))
            }
            Self::And(parts) => join(parts, Predicate::and),
            Self::Or(parts) => join(parts, Predicate::or),
            Self::Not(part) => !part.predicate(),
        }
    }

    /// Returns the result for every row of a batch.
    pub(crate) fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray, ArrowError> {
        let fold = |parts: &[Self], join: fn(&_, &_) -> Result<BooleanArray, ArrowError>| {
            let mut all = parts[0].evaluate(batch)?;
            for part in &parts[1..] {
                all = join(&all, &part.evaluate(batch)?)?;
            }
            Ok(all)
        };
        match self {
            Self::Compare(path, comparison, value) => {
                let (array, outer) = path.values(batch);
                Ok(with_nulls(compare(*comparison, &array, value)?, outer))
            }
            Self::In(path, values) => {
                let (array, outer) = path.values(batch);
                let mut any = with_nulls(all_false(&array), outer.clone());
                for value in values {
                    let one = with_nulls(compare(0, &array, value)?, outer.clone());
                    any = or_kleene(&any, &one)?;
                }
                Ok(any)
            }
            Self::Null(path) => {
                let (array, outer) = path.values(batch);
                let nulls = NullBuffer::union(array.logical_nulls().as_ref(), outer.as_ref());
                Ok(match nulls {
                    Some(nulls) => BooleanArray::new(!nulls.inner(), None),
                    None => BooleanArray::new(BooleanBuffer::new_unset(batch.num_rows()), None),
                })
            }
            Self::Prefix(path, prefix) => {
                let (array, outer) = path.values(batch);
                let plain = arrow_cast::cast(&array, path.plain())?;
                let plain = arrow_cast::cast(&plain, &DataType::LargeBinary)?;
                let values = plain.as_binary::<i64>();
                let found = values.iter().map(|v| v.map(|v| v.starts_with(prefix)));
                Ok(with_nulls(found.collect(), outer))
            }
            Self::Function(path) => {
                let (array, outer) = path.values(batch);
                let truth = odd(array.as_ref());
                let Some(outer) = outer else {
                    return Ok(truth);
                };
                // A member of a null struct is null, which the function does not know.
                let values = truth.values() & outer.inner();
                Ok(BooleanArray::new(values, None))
            }
            Self::And(parts) => fold(parts, and_kleene),
            Self::Or(parts) => fold(parts, or_kleene),
            Self::Not(part) => not(&part.evaluate(batch)?),
        }
    }
}

/// A function of values of any type that depends on no other row: whether a row is not null.
fn odd(array: &dyn Array) -> BooleanArray {
    let values = match array.logical_nulls() {
        Some(nulls) => nulls.inner().clone(),
        None => BooleanBuffer::new_set(array.len()),
    };
    BooleanArray::new(values, None)
}

fn join(parts: &[Oracle], join: fn(Predicate, Predicate) -> Predicate) -> Predicate {
    let mut parts = parts.iter().map(Oracle::predicate);
    let first = parts.next().unwrap();
    parts.fold(first, join)
}

fn with_nulls(truths: BooleanArray, outer: Option<NullBuffer>) -> BooleanArray {
    let (values, nulls) = truths.into_parts();
    BooleanArray::new(values, NullBuffer::union(nulls.as_ref(), outer.as_ref()))
}

fn all_false(array: &ArrayRef) -> BooleanArray {
    BooleanArray::new(BooleanBuffer::new_unset(array.len()), array.logical_nulls())
}

fn compare(
    comparison: usize,
    array: &ArrayRef,
    value: &ArrayRef,
) -> Result<BooleanArray, ArrowError> {
    let value = Scalar::new(value.clone());
    match comparison {
        0 => cmp::eq(array, &value),
        1 => cmp::neq(array, &value),
        2 => cmp::lt(array, &value),
        3 => cmp::lt_eq(array, &value),
        4 => cmp::gt(array, &value),
        _ => cmp::gt_eq(array, &value),
    }
}

/// Returns the same value in another type, if a type can represent it.
fn in_another_type(value: &ArrayRef) -> ArrayRef {
    let other = match value.data_type() {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => DataType::Int64,
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        DataType::Utf8 => DataType::LargeUtf8,
        DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary => DataType::LargeBinary,
        _ => return value.clone(),
    };
    arrow_cast::cast(value, &other).unwrap()
}

/// Returns a value of the column's type, mostly one of its values.
fn literal(rng: &mut StdRng, path: &Path, batches: &[RecordBatch]) -> Option<ArrayRef> {
    let plain = path.plain();
    let rows: Vec<&RecordBatch> = batches.iter().filter(|b| b.num_rows() > 0).collect();
    match rows.choose(rng) {
        Some(batch) if rng.random_ratio(3, 4) => {
            let (array, _) = path.values(batch);
            let row = rng.random_range(0..array.len());
            arrow_cast::cast(&array.slice(row, 1), plain).ok()
        }
        _ => {
            let field = Field::new("literal", plain.clone(), true);
            Some(random_array(rng, &field, 1))
        }
    }
}
