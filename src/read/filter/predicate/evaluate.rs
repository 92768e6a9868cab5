//! Evaluation of predicates on rows that have been read.

use super::Comparison;
use super::bind::{BoundFunction, BoundPredicate, Leaf, PredicateNode};
use super::operand::{MANY_VALUES, Test};
use super::truth::Truth;
use crate::column::{codes_within, integer_key, integers_within};
use crate::error::{Error, ErrorKind, Result, Within};
use arrow_arith::boolean::{and_kleene, not, or_kleene};
use arrow_array::cast::AsArray;
use arrow_array::types::{ByteViewType, UInt32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, GenericByteViewArray, OffsetSizeTrait, RecordBatch,
    RecordBatchOptions, Scalar,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_data::ByteView;
use arrow_ord::cmp;
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use arrow_select::nullif::nullif;
use std::cmp::Ordering;
use std::sync::Arc;

/// The columns of some rows, and the results of tests on their dictionaries.
pub(in crate::read) struct PredicateRows<'a> {
    pub(in crate::read) len: usize,
    /// By ordinal of the column, without the structs around a member. Dictionaries have keys of type UInt32.
    pub(in crate::read) columns: &'a [Option<ArrayRef>],
    /// By ordinal of the leaf: the result of its test for every dictionary entry of its column.
    pub(in crate::read) entries: &'a [Option<Arc<BooleanArray>>],
}

impl BoundPredicate {
    /// Evaluates a predicate for every row.
    pub(in crate::read) fn evaluate(
        &self,
        node: &PredicateNode,
        rows: &PredicateRows<'_>,
    ) -> Result<BooleanArray> {
        match node {
            PredicateNode::Known(truth) => Ok(match truth.known() {
                Some(Some(true)) => BooleanArray::new(BooleanBuffer::new_set(rows.len), None),
                Some(Some(false)) => BooleanArray::new(BooleanBuffer::new_unset(rows.len), None),
                _ => BooleanArray::new_null(rows.len),
            }),
            PredicateNode::Leaf(leaf) => match self.range(std::slice::from_ref(node), rows)? {
                Some(truths) => Ok(truths),
                None => self.leaf(*leaf, rows),
            },
            PredicateNode::Function(function) => self.functions[*function].call(rows),
            PredicateNode::And(parts) => match self.range(parts, rows)? {
                Some(truths) => Ok(truths),
                None => self.fold(parts, rows, true, and_kleene),
            },
            PredicateNode::Or(parts) => self.fold(parts, rows, false, or_kleene),
            PredicateNode::Not(part) => Ok(not(&self.evaluate(part, rows)?)?),
        }
    }

    fn fold(
        &self,
        parts: &[PredicateNode],
        rows: &PredicateRows<'_>,
        empty: bool,
        join: fn(
            &BooleanArray,
            &BooleanArray,
        ) -> std::result::Result<BooleanArray, arrow_schema::ArrowError>,
    ) -> Result<BooleanArray> {
        let Some((first, rest)) = parts.split_first() else {
            return self.evaluate(&PredicateNode::Known(Truth::always(empty)), rows);
        };
        let mut all = self.evaluate(first, rows)?;
        for part in rest {
            all = join(&all, &self.evaluate(part, rows)?)?;
        }
        Ok(all)
    }

    /// Evaluates a conjunction that restricts the integers of one column to a range; returns `None` for other
    /// conjunctions.
    fn range(
        &self,
        parts: &[PredicateNode],
        rows: &PredicateRows<'_>,
    ) -> Result<Option<BooleanArray>> {
        let Some(PredicateNode::Leaf(first)) = parts.first() else {
            return Ok(None);
        };
        let column = self.leaves[*first].column;
        let (mut low, mut high, mut is_empty) = (0, u128::MAX, false);
        for part in parts {
            let PredicateNode::Leaf(leaf) = part else {
                return Ok(None);
            };
            let leaf = &self.leaves[*leaf];
            let (Test::Compare(comparison, value), true) = (&leaf.test, leaf.column == column)
            else {
                return Ok(None);
            };
            let Some((key, most)) = integer_key(value) else {
                return Ok(None);
            };
            high = high.min(most);
            match comparison {
                Comparison::Eq => (low, high) = (low.max(key), high.min(key)),
                Comparison::NotEq => return Ok(None),
                Comparison::LtEq => high = high.min(key),
                Comparison::GtEq => low = low.max(key),
                Comparison::Lt => match key.checked_sub(1) {
                    Some(before) => high = high.min(before),
                    None => is_empty = true,
                },
                Comparison::Gt if key == most => is_empty = true,
                Comparison::Gt => low = low.max(key + 1),
            }
        }
        let array = rows.column(column)?;
        let Some(mut values) = integers_within(array, low, high) else {
            return Ok(None);
        };
        if is_empty || low > high {
            values = BooleanBuffer::new_unset(array.len());
        }
        Ok(Some(BooleanArray::new(values, array.nulls().cloned())))
    }

    fn leaf(&self, ordinal: usize, rows: &PredicateRows<'_>) -> Result<BooleanArray> {
        let Leaf { column, test } = &self.leaves[ordinal];
        let array = rows.column(*column)?;
        let (Some(entries), DataType::Dictionary(..)) = (&rows.entries[ordinal], array.data_type())
        else {
            return test.of(array);
        };
        if matches!(test, Test::IsNull) {
            return test.of(array);
        }
        let codes = array.as_dictionary::<UInt32Type>().keys();
        Ok(look_up(codes.values(), codes.nulls(), entries))
    }
}

/// Returns the truth of every code, given the truth of the entries.
fn look_up(codes: &[u32], nulls: Option<&NullBuffer>, entries: &BooleanArray) -> BooleanArray {
    let values = match one_stretch(entries.values()) {
        Some((low, high)) => codes_within(codes, low, high),
        // With more rows than entries, a table of all entries is built first.
        None if codes.len() < entries.len() => {
            let truths = entries.values();
            let is = |code: usize| code < truths.len() && truths.value(code);
            BooleanBuffer::collect_bool(codes.len(), |i| is(codes[i] as usize))
        }
        None => {
            let truths: Vec<bool> = entries.values().iter().collect();
            let is = |code: u32| truths.get(code as usize).copied().unwrap_or(false);
            BooleanBuffer::collect_bool(codes.len(), |i| is(codes[i]))
        }
    };
    let mut known = nulls.cloned();
    if entries.null_count() > 0 {
        let valid = |code: u32| (code as usize) < entries.len() && entries.is_valid(code as usize);
        let valid = BooleanBuffer::collect_bool(codes.len(), |i| valid(codes[i]));
        known = NullBuffer::union(known.as_ref(), Some(&NullBuffer::new(valid)));
    }
    BooleanArray::new(values, known)
}

/// Returns the first and the last set bit, if all bits between them are set.
fn one_stretch(bits: &BooleanBuffer) -> Option<(u32, u32)> {
    let mut stretches = bits.set_slices();
    let (from, to) = stretches.next()?;
    if stretches.next().is_some() {
        return None;
    }
    let code = |i: usize| u32::try_from(i).ok();
    Some((code(from)?, code(to - 1)?))
}

impl PredicateRows<'_> {
    fn column(&self, ordinal: usize) -> Result<&ArrayRef> {
        let column = self.columns.get(ordinal).and_then(Option::as_ref);
        column.ok_or_else(|| Error::corrupt("a column of the filter has not been read"))
    }
}

impl BoundPredicate {
    /// Whether a conjunct is to be evaluated for this number of rows; false if it is an optional function that leaves
    /// them out.
    pub(in crate::read) fn is_due(&self, conjunct: &PredicateNode, rows: usize) -> bool {
        let PredicateNode::Function(function) = conjunct else {
            return true;
        };
        let is_due = &self.functions[*function].function.is_due;
        is_due.as_ref().is_none_or(|is_due| is_due(rows))
    }
}

impl BoundFunction {
    fn call(&self, rows: &PredicateRows<'_>) -> Result<BooleanArray> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (&column, functions) in self.columns.iter().zip(&self.applied) {
            let values = rows.column(column)?.clone();
            let mut functions = functions.iter();
            columns.push(functions.try_fold(values, |of, function| function.apply(&of))?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len));
        let place = || {
            let paths = self.function.paths.iter().map(|path| path.name());
            format!("function of ({})", paths.collect::<Vec<_>>().join(", "))
        };
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        let truths =
            (self.function.function)(&batch).map_err(|error| match self.function.written {
                // A function of this crate.
                Some(_) => Error::from(error),
                None => Error::of_caller("the function failed", error),
            });
        let truths = truths.within(place)?;
        if truths.len() != rows.len {
            let message = format!("expected {} truth values, found {}", rows.len, truths.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message)).within(place);
        }
        Ok(truths)
    }
}

impl Test {
    /// Evaluates the test for every value of an array.
    pub(in crate::read) fn of(&self, array: &ArrayRef) -> Result<BooleanArray> {
        let len = array.len();
        match self {
            Self::IsNull => {
                let values = match array.logical_nulls() {
                    Some(nulls) => !nulls.inner(),
                    None => BooleanBuffer::new_unset(len),
                };
                Ok(BooleanArray::new(values, None))
            }
            Self::Unknown => Ok(BooleanArray::new_null(len)),
            Self::Present(value) => {
                let values = if *value {
                    BooleanBuffer::new_set(len)
                } else {
                    BooleanBuffer::new_unset(len)
                };
                Ok(BooleanArray::new(values, array.logical_nulls()))
            }
            Self::Compare(comparison, value) => comparison.of(array, value),
            Self::In {
                values,
                has_null,
                set,
            } => {
                let found = match set.as_ref().and_then(|set| set.members_of(array)) {
                    Some(found) => BooleanArray::new(found, array.nulls().cloned()),
                    None => is_in(array, values)?,
                };
                if !has_null {
                    return Ok(found);
                }
                let (found, nulls) = found.into_parts();
                let known = NullBuffer::new(found.clone());
                Ok(BooleanArray::new(
                    found,
                    NullBuffer::union(nulls.as_ref(), Some(&known)),
                ))
            }
            Self::StartsWith(prefix) => starts_with(array, prefix),
        }
    }
}

impl Comparison {
    /// Compares every value of an array with one value of the same type.
    fn of(self, array: &ArrayRef, value: &ArrayRef) -> Result<BooleanArray> {
        if let (Some(array), Some(value)) = (array.as_boolean_opt(), value.as_boolean_opt())
            && value.is_valid(0)
        {
            return Ok(self.of_booleans(array, value.value(0)));
        }
        if is_empty_bytes(value)
            && let Some(has_bytes) = has_bytes(array)
        {
            // The empty value is the least of all, as `false` is.
            return Ok(self.of_booleans(&has_bytes, false));
        }
        let value = Scalar::new(value.clone());
        Ok(match self {
            Self::Eq => cmp::eq(array, &value),
            Self::NotEq => cmp::neq(array, &value),
            Self::Lt => cmp::lt(array, &value),
            Self::LtEq => cmp::lt_eq(array, &value),
            Self::Gt => cmp::gt(array, &value),
            Self::GtEq => cmp::gt_eq(array, &value),
        }?)
    }

    /// Compares 64 values at a time, by the results for false and for true.
    fn of_booleans(self, array: &BooleanArray, value: bool) -> BooleanArray {
        let holds = |truth: bool| match self {
            Self::Eq => truth == value,
            Self::NotEq => truth != value,
            Self::Lt => !truth & value,
            Self::LtEq => truth <= value,
            Self::Gt => truth & !value,
            Self::GtEq => truth >= value,
        };
        let values = match (holds(false), holds(true)) {
            (false, true) => array.values().clone(),
            (true, false) => !array.values(),
            (true, true) => BooleanBuffer::new_set(array.len()),
            (false, false) => BooleanBuffer::new_unset(array.len()),
        };
        BooleanArray::new(values, array.nulls().cloned())
    }
}

/// Returns whether an array of one value holds a text or binary value of no bytes.
fn is_empty_bytes(value: &ArrayRef) -> bool {
    value.len() == 1
        && value.is_valid(0)
        && has_bytes(value).is_some_and(|has_bytes| !has_bytes.value(0))
}

/// Returns whether each text or binary value has at least one byte; `None` for values of other types. The lengths
/// alone answer this. Arrow's kernels call `memcmp` for each value, which some CPUs do slowly for zero bytes.
fn has_bytes(array: &ArrayRef) -> Option<BooleanArray> {
    let len = array.len();
    let of_views =
        |views: &[u128]| BooleanBuffer::collect_bool(len, |i| views[i] & u128::from(u32::MAX) != 0);
    fn of_offsets<O: OffsetSizeTrait>(offsets: &[O]) -> BooleanBuffer {
        let len = offsets.len().saturating_sub(1);
        BooleanBuffer::collect_bool(len, |i| offsets[i] != offsets[i + 1])
    }
    let values = match array.data_type() {
        DataType::Utf8 => of_offsets(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => of_offsets(array.as_string::<i64>().value_offsets()),
        DataType::Binary => of_offsets(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => of_offsets(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => of_views(array.as_string_view().views()),
        DataType::BinaryView => of_views(array.as_binary_view().views()),
        _ => return None,
    };
    Some(BooleanArray::new(values, array.nulls().cloned()))
}

fn is_in(array: &ArrayRef, values: &ArrayRef) -> Result<BooleanArray> {
    if values.len() < MANY_VALUES {
        let mut found = Comparison::Eq.of(array, &values.slice(0, 1))?;
        for i in 1..values.len() {
            found = or_kleene(&found, &Comparison::Eq.of(array, &values.slice(i, 1))?)?;
        }
        return Ok(found);
    }
    let array = match array.data_type() {
        DataType::Dictionary(_, value_type) => &arrow_cast::cast(array, value_type)?,
        _ => array,
    };
    let compare = make_comparator(array, values, SortOptions::default())?;
    let nulls = array.logical_nulls();
    let is_present = |i: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i));
    let found = BooleanBuffer::collect_bool(array.len(), |i| {
        let (mut low, mut high) = (0, values.len());
        while low < high && is_present(i) {
            let middle = low + (high - low) / 2;
            match compare(i, middle) {
                Ordering::Equal => return true,
                Ordering::Greater => low = middle + 1,
                Ordering::Less => high = middle,
            }
        }
        false
    });
    Ok(BooleanArray::new(found, nulls))
}

fn starts_with(array: &ArrayRef, prefix: &[u8]) -> Result<BooleanArray> {
    macro_rules! starts_with {
        ($array:expr, $bytes:expr) => {{
            let array = $array;
            BooleanBuffer::collect_bool(array.len(), |i| $bytes(array.value(i)).starts_with(prefix))
        }};
    }
    let bytes = |bytes| -> &[u8] { bytes };
    let values = match array.data_type() {
        // On some CPUs, `memcmp` of no bytes takes longer than a comparison of some.
        _ if prefix.is_empty() => BooleanBuffer::new_set(array.len()),
        DataType::Utf8 => starts_with!(array.as_string::<i32>(), str::as_bytes),
        DataType::LargeUtf8 => starts_with!(array.as_string::<i64>(), str::as_bytes),
        DataType::Utf8View => views_start_with(array.as_string_view(), prefix),
        DataType::Binary => starts_with!(array.as_binary::<i32>(), bytes),
        DataType::LargeBinary => starts_with!(array.as_binary::<i64>(), bytes),
        DataType::BinaryView => views_start_with(array.as_binary_view(), prefix),
        DataType::FixedSizeBinary(_) => starts_with!(array.as_fixed_size_binary(), bytes),
        DataType::Dictionary(_, value_type) => {
            return starts_with(&arrow_cast::cast(array, value_type)?, prefix);
        }
        other => {
            let message = format!("values of type {other} have no prefix");
            return Err(Error::new(ErrorKind::SchemaMismatch, message));
        }
    };
    Ok(BooleanArray::new(values, array.logical_nulls()))
}

/// Returns which values begin with a prefix. A view has the first four bytes of its value, which rule out most values.
fn views_start_with<T: ByteViewType>(
    array: &GenericByteViewArray<T>,
    prefix: &[u8],
) -> BooleanBuffer {
    let (mut wanted, mut mask) = ([0; 4], [0; 4]);
    for ((wanted, mask), byte) in wanted.iter_mut().zip(&mut mask).zip(prefix) {
        (*wanted, *mask) = (*byte, 0xFF);
    }
    let (wanted, mask) = (u32::from_le_bytes(wanted), u32::from_le_bytes(mask));
    let views = array.views();
    // Without a branch, because matches may be anywhere.
    let begins = |i: usize| {
        let view = ByteView::from(views[i]);
        (view.length as usize >= prefix.len()) & (view.prefix & mask == wanted)
    };
    if prefix.len() <= 4 {
        return BooleanBuffer::collect_bool(views.len(), begins);
    }
    BooleanBuffer::collect_bool(views.len(), |i| {
        begins(i) && AsRef::<[u8]>::as_ref(array.value(i)).starts_with(prefix)
    })
}

/// Returns the member below `depth` structs of one member each; null where a struct is null.
pub(in crate::read) fn member(array: &ArrayRef, depth: usize) -> Result<ArrayRef> {
    let mut nulls: Option<NullBuffer> = None;
    let mut member = array;
    for _ in 0..depth {
        let Some([child]) = member.as_struct_opt().map(|s| s.columns()) else {
            let message = format!(
                "expected a struct of one member, found {}",
                array.data_type()
            );
            return Err(Error::corrupt(message));
        };
        nulls = NullBuffer::union(nulls.as_ref(), member.nulls());
        member = child;
    }
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else {
        return Ok(member.clone());
    };
    // Runs have only the nulls of their values, and values below a null struct are stored as nulls.
    if member.data_type().is_null() || matches!(member.data_type(), DataType::RunEndEncoded(..)) {
        return Ok(member.clone());
    }
    Ok(nullif(member, &BooleanArray::new(!nulls.inner(), None))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BinaryArray, BinaryViewArray, StringArray, StringViewArray};

    /// Asserts that all comparisons with a value have the results of Arrow's kernels.
    #[track_caller]
    fn assert_compared(array: &ArrayRef, value: &ArrayRef) {
        let scalar = Scalar::new(value.clone());
        let pairs = [
            (Comparison::Eq, cmp::eq(array, &scalar)),
            (Comparison::NotEq, cmp::neq(array, &scalar)),
            (Comparison::Lt, cmp::lt(array, &scalar)),
            (Comparison::LtEq, cmp::lt_eq(array, &scalar)),
            (Comparison::Gt, cmp::gt(array, &scalar)),
            (Comparison::GtEq, cmp::gt_eq(array, &scalar)),
        ];
        for (comparison, expected) in pairs {
            let found = comparison.of(array, value).unwrap();
            assert_eq!(found, expected.unwrap(), "{comparison:?} {value:?}");
        }
    }

    #[test]
    fn empty_values_compare_as_arrow_compares_them() {
        let texts = [
            Some(""),
            Some("a"),
            None,
            Some(""),
            Some("a longer text than 12 bytes"),
        ];
        let texts: ArrayRef = Arc::new(StringArray::from(texts.repeat(30)));
        let types = [
            DataType::Utf8,
            DataType::LargeUtf8,
            DataType::Utf8View,
            DataType::Binary,
            DataType::LargeBinary,
            DataType::BinaryView,
        ];
        for data_type in types {
            let array = arrow_cast::cast(&texts, &data_type).unwrap();
            for value in [0, 1, 4] {
                assert_compared(&array.slice(1, 100), &array.slice(value, 1));
            }
            assert_compared(&array.slice(3, 0), &array.slice(0, 1));
        }
    }

    #[test]
    fn booleans_compare_as_arrow_compares_them() {
        let array =
            BooleanArray::from(vec![Some(false), None, Some(true), Some(false), Some(true)]);
        let array: ArrayRef = Arc::new(array.slice(1, 4));
        for value in [false, true] {
            assert_compared(
                &array,
                &(Arc::new(BooleanArray::from(vec![value])) as ArrayRef),
            );
        }
        // A comparison with null is unknown.
        let null: ArrayRef = Arc::new(BooleanArray::from(vec![None]));
        let found = Comparison::Eq.of(&array, &null).unwrap();
        assert_eq!(found.null_count(), array.len());
    }

    #[test]
    fn values_of_every_length_begin_with_their_first_bytes() {
        let value = |i: usize| -> Vec<u8> {
            (0..i % 20)
                .map(|at| [0, 255][((i / 20) >> at) % 2])
                .collect()
        };
        let values: Vec<Option<Vec<u8>>> =
            (0..2000).map(|i| (i % 7 != 3).then(|| value(i))).collect();
        let bytes: ArrayRef =
            Arc::new(values.iter().map(Option::as_deref).collect::<BinaryArray>());
        let views: ArrayRef = Arc::new(
            values
                .iter()
                .map(Option::as_deref)
                .collect::<BinaryViewArray>(),
        );
        for prefix in (0..2000).step_by(13).map(value) {
            let expected: BooleanArray = (values.iter())
                .map(|value| value.as_ref().map(|value| value.starts_with(&prefix)))
                .collect();
            assert_eq!(
                starts_with(&bytes, &prefix).unwrap(),
                expected,
                "{prefix:?}"
            );
            assert_eq!(
                starts_with(&views, &prefix).unwrap(),
                expected,
                "{prefix:?}"
            );
        }
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![
            "é",
            "",
            "éa long text of bytes",
        ]));
        let found = starts_with(&texts, "éa long".as_bytes()).unwrap();
        assert_eq!(found, BooleanArray::from(vec![false, false, true]));
    }
}
