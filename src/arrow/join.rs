//! Joins the pieces of a column into one array, and picks rows from them.
//!
//! The kernels of `arrow-select` panic if offsets, keys or run ends are too narrow for all values together, so these
//! are counted before the kernels are called.

use super::kernels::{defeats_kernels, defeats_repeated_take, defeats_take};
use super::size::span;
use super::types::{largest_integer, max_entries};
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, UInt64Array, make_array, new_empty_array};
use arrow_cast::cast;
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, UnionMode};
use arrow_select::concat::concat;
use arrow_select::take::take;
use std::collections::HashMap;
use std::ops::Range;

/// Joins one or more pieces into one array.
///
/// # Errors
/// [`OffsetOverflow`](ErrorKind::OffsetOverflow) if their values do not fit one array.
pub(crate) fn join(pieces: &[ArrayRef]) -> Result<ArrayRef> {
    if let [piece] = pieces {
        return Ok(piece.clone());
    }
    let fitted = fit(pieces)?;
    let pieces = fitted.as_deref().unwrap_or(pieces);
    let all: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
    if all.iter().any(|piece| defeats_kernels(piece.data_type())) {
        let whole = all.iter().map(|piece| 0..piece.len());
        return copy(pieces, whole.enumerate());
    }
    concat(&all).map_err(overflow)
}

/// Returns the values in `rows` of one or more pieces. Rows are numbered through all pieces, may be in any order, and
/// may be repeated.
///
/// # Errors
/// [`OffsetOverflow`](ErrorKind::OffsetOverflow) if the values do not fit one array.
pub(crate) fn pick(pieces: &[ArrayRef], rows: &[usize]) -> Result<ArrayRef> {
    let total: usize = pieces.iter().map(|piece| piece.len()).sum();
    if rows.len() == total && rows.iter().copied().eq(0..total) {
        return join(pieces);
    }
    let Some(data_type) = pieces.first().map(|piece| piece.data_type()) else {
        return Err(Error::invalid("rows of no array"));
    };
    if rows.is_empty() {
        return Ok(new_empty_array(data_type));
    }
    check_run_ends(data_type, rows.len())?;
    if defeats_take(data_type) || defeats_repeated_take(data_type) && repeats(rows, total) {
        let fitted = fit(pieces)?;
        let pieces = fitted.as_deref().unwrap_or(pieces);
        let ends = pieces.iter().scan(0, |end, piece| {
            *end += piece.len();
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        let place = |&row: &usize| {
            let piece = ends.partition_point(|&end| end <= row);
            let first = piece.checked_sub(1).map_or(0, |before| ends[before]);
            (piece, row - first..row - first + 1)
        };
        return copy(pieces, rows.iter().map(place));
    }
    let rows = UInt64Array::from_iter_values(rows.iter().map(|&row| row as u64));
    take(&join(pieces)?, &rows, None).map_err(overflow)
}

fn repeats(rows: &[usize], total: usize) -> bool {
    let mut seen = vec![false; total];
    rows.iter()
        .any(|&row| std::mem::replace(&mut seen[row], true))
}

/// Copies values of pieces that are known to fit, range by range.
fn copy(
    pieces: &[ArrayRef],
    ranges: impl ExactSizeIterator<Item = (usize, Range<usize>)>,
) -> Result<ArrayRef> {
    let data: Vec<ArrayData> = pieces.iter().map(|piece| piece.to_data()).collect();
    let mut out = MutableArrayData::new(data.iter().collect(), false, ranges.len());
    for (piece, range) in ranges {
        out.try_extend(piece, range.start, range.end)
            .map_err(overflow)?;
    }
    Ok(make_array(out.freeze()))
}

fn overflow(e: ArrowError) -> Error {
    too_many(format_args!("{e}"))
}

fn too_many(what: std::fmt::Arguments<'_>) -> Error {
    Error::new(
        ErrorKind::OffsetOverflow,
        format!("the rows do not fit one array ({what}); take fewer at once"),
    )
}

/// Fails if `found` exceeds the largest number of an integer type.
fn check(found: usize, what: &str, integer: &DataType) -> Result<()> {
    if found as u64 <= largest_integer(integer) {
        return Ok(());
    }
    Err(too_many(format_args!("{found} {what} of type {integer}")))
}

/// Fails if run ends, at any depth with one value per row, cannot count the rows.
fn check_run_ends(data_type: &DataType, rows: usize) -> Result<()> {
    match data_type {
        DataType::RunEndEncoded(ends, _) => check(rows, "rows exceed run ends", ends.data_type()),
        DataType::Struct(fields) => fields
            .iter()
            .try_for_each(|field| check_run_ends(field.data_type(), rows)),
        _ => Ok(()),
    }
}

/// Checks at every depth that the values of all pieces fit in one array. Returns the pieces with smaller dictionaries
/// if their own do not fit; `None` if they fit unchanged.
fn fit(pieces: &[ArrayRef]) -> Result<Option<Vec<ArrayRef>>> {
    let Some(data_type) = pieces.first().map(|piece| piece.data_type()) else {
        return Ok(None);
    };
    let total = |count: fn(&dyn Array) -> usize| {
        let counts = pieces.iter().map(|piece| count(piece.as_ref()));
        counts.fold(0, usize::saturating_add)
    };
    let items = |count| check(total(count), "items exceed offsets", &DataType::Int32);
    match data_type {
        DataType::Utf8 => items(|piece| span(piece.as_string::<i32>().value_offsets()).len())?,
        DataType::Binary => items(|piece| span(piece.as_binary::<i32>().value_offsets()).len())?,
        DataType::List(_) => items(|piece| span(piece.as_list::<i32>().value_offsets()).len())?,
        DataType::Map(..) => items(|piece| span(piece.as_map().value_offsets()).len())?,
        DataType::ListView(_) => items(|piece| piece.as_list_view::<i32>().values().len())?,
        DataType::Union(_, UnionMode::Dense) => {
            items(|piece| {
                children(piece)
                    .iter()
                    .map(ArrayData::len)
                    .max()
                    .unwrap_or(0)
            })?;
        }
        DataType::RunEndEncoded(ends, _) => {
            check(
                total(|piece| piece.len()),
                "rows exceed run ends",
                ends.data_type(),
            )?;
        }
        DataType::Dictionary(key, _) => return fit_dictionaries(pieces, key),
        _ => {}
    }
    if !data_type.is_nested() {
        return Ok(None);
    }
    let data: Vec<ArrayData> = pieces.iter().map(|piece| piece.to_data()).collect();
    let count = data.first().map_or(0, |piece| piece.child_data().len());
    let fitted = (0..count).map(|child| {
        let of = |piece: &ArrayData| make_array(piece.child_data()[child].clone());
        fit(&data.iter().map(of).collect::<Vec<_>>())
    });
    let fitted = fitted.collect::<Result<Vec<_>>>()?;
    if fitted.iter().all(Option::is_none) {
        return Ok(None);
    }
    let rebuilt = data.into_iter().enumerate().map(|(i, piece)| {
        let joined = piece.child_data().iter().zip(&fitted);
        let children = joined
            .map(|(child, fitted)| match fitted {
                Some(fitted) => fitted[i].to_data(),
                None => child.clone(),
            })
            .collect();
        Ok(make_array(
            piece.into_builder().child_data(children).build()?,
        ))
    });
    rebuilt.collect::<Result<_>>().map(Some)
}

fn children(array: &dyn Array) -> Vec<ArrayData> {
    array.to_data().child_data().to_vec()
}

/// Checks that the dictionaries of all pieces fit in one array, like [`fit`]. If there are too many entries, the pieces
/// share the entries that their rows use. If these are still too many, equal entries are merged.
fn fit_dictionaries(pieces: &[ArrayRef], key: &DataType) -> Result<Option<Vec<ArrayRef>>> {
    let dictionaries: Vec<_> = pieces
        .iter()
        .map(|piece| piece.as_any_dictionary())
        .collect();
    let values: Vec<ArrayRef> = dictionaries.iter().map(|d| d.values().clone()).collect();
    let is_same = |pair: &[ArrayRef]| pair[0].to_data().ptr_eq(&pair[1].to_data());
    if values.windows(2).all(is_same) {
        return Ok(None);
    }
    let fits = |entries: usize| entries <= max_entries(key);
    if fits(values.iter().map(|values| values.len()).sum())
        && let Ok(fitted) = fit(&values)
    {
        let rebuilt = fitted.map(|values| {
            let pairs = dictionaries.iter().zip(values);
            pairs
                .map(|(piece, values)| piece.with_values(values))
                .collect()
        });
        return Ok(rebuilt);
    }
    let mut used = Vec::with_capacity(pieces.len());
    let mut codes = Vec::with_capacity(pieces.len());
    let mut count = 0;
    for (dictionary, values) in dictionaries.iter().zip(&values) {
        let (positions, own) = used_entries(*dictionary);
        used.push(pick(std::slice::from_ref(values), &positions)?);
        codes.push(
            own.into_iter()
                .map(|code| code + count)
                .collect::<Vec<usize>>(),
        );
        count += positions.len();
    }
    let mut entries = join(&used)?;
    if !fits(entries.len())
        && let Some((firsts, renumbered)) = distinct(&entries)?
    {
        entries = pick(&[entries], &firsts)?;
        let renumber = |code: &mut usize| *code = renumbered.get(*code).copied().unwrap_or(0);
        codes.iter_mut().flatten().for_each(renumber);
    }
    if !fits(entries.len()) {
        let found = entries.len();
        return Err(too_many(format_args!(
            "{found} distinct values exceed dictionary keys of type {key}"
        )));
    }
    let rebuilt = dictionaries.iter().zip(codes).map(|(dictionary, codes)| {
        let codes = codes
            .into_iter()
            .map(|code| code as u64)
            .collect::<Vec<_>>();
        let codes = UInt64Array::try_new(codes.into(), dictionary.nulls().cloned())?;
        let keys = cast(&codes, key)?.to_data();
        let data_type =
            DataType::Dictionary(key.clone().into(), entries.data_type().clone().into());
        let data = keys.into_builder().data_type(data_type);
        Ok(make_array(data.add_child_data(entries.to_data()).build()?))
    });
    rebuilt.collect::<Result<_>>().map(Some)
}

/// Returns the entries that the rows of a dictionary use, ascending, and the ordinal among these for each row; 0 for
/// null rows.
fn used_entries(dictionary: &dyn AnyDictionaryArray) -> (Vec<usize>, Vec<usize>) {
    if dictionary.values().is_empty() {
        return (Vec::new(), vec![0; dictionary.len()]);
    }
    let keys = dictionary.normalized_keys();
    let mut is_used = vec![false; dictionary.values().len()];
    for (i, key) in keys.iter().enumerate() {
        is_used[*key] |= dictionary.keys().is_valid(i);
    }
    let positions: Vec<usize> = (0..is_used.len()).filter(|&entry| is_used[entry]).collect();
    let mut ranks = vec![0; is_used.len()];
    for (rank, &entry) in positions.iter().enumerate() {
        ranks[entry] = rank;
    }
    let codes = keys.into_iter().map(|key| ranks[key]).collect();
    (positions, codes)
}

/// Returns the first position of each distinct value, and for every value its ordinal among these; `None` if values of
/// the type cannot be compared.
fn distinct(values: &ArrayRef) -> Result<Option<(Vec<usize>, Vec<usize>)>> {
    let field = SortField::new(values.data_type().clone());
    if !RowConverter::supports_fields(std::slice::from_ref(&field)) {
        return Ok(None);
    }
    let rows = RowConverter::new(vec![field])?.convert_columns(std::slice::from_ref(values))?;
    let mut seen = HashMap::new();
    let mut firsts = Vec::new();
    let ordinals = rows.iter().enumerate().map(|(i, row)| {
        *seen.entry(row).or_insert_with(|| {
            firsts.push(i);
            firsts.len() - 1
        })
    });
    let ordinals = ordinals.collect();
    Ok(Some((firsts, ordinals)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Int8Type, Int16Type};
    use arrow_array::{
        DictionaryArray, Int8Array, Int16Array, Int32Array, ListArray, ListViewArray, MapArray,
        RunArray, StringArray, StructArray,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::{Field, FieldRef};
    use std::sync::Arc;

    /// Items without bytes; two arrays have more items than 32-bit offsets can count.
    const ITEMS: i32 = 1_200_000_000;

    fn items() -> (FieldRef, ArrayRef) {
        let items = StructArray::new_empty_fields(ITEMS as usize, None);
        let item = Field::new("item", items.data_type().clone(), false);
        (Arc::new(item), Arc::new(items))
    }

    /// Returns one row of many items, as a list of any kind.
    fn lists() -> Vec<ArrayRef> {
        let (item, items) = items();
        let ends = || OffsetBuffer::new(vec![0, ITEMS].into());
        let views = ListViewArray::new(
            item.clone(),
            vec![0].into(),
            vec![ITEMS].into(),
            items.clone(),
            None,
        );
        let entries = StructArray::from(vec![
            (item.clone(), items.clone()),
            (item.clone(), items.clone()),
        ]);
        let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let list: ArrayRef = Arc::new(ListArray::new(item, ends(), items, None));
        let member = Arc::new(Field::new("member", list.data_type().clone(), true));
        vec![
            list.clone(),
            Arc::new(StructArray::from(vec![(member, list)])),
            Arc::new(MapArray::new(field, ends(), entries, None, false)),
            Arc::new(views),
        ]
    }

    #[test]
    fn items_that_exceed_offsets_are_an_error() {
        for list in lists() {
            let none = new_empty_array(list.data_type());
            assert_eq!(join(&[list.clone(), none]).unwrap().len(), 1);
            let error = join(&[list.clone(), list.clone()]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OffsetOverflow, "{error}");
            // Any number of views may share the same items.
            let twice = pick(std::slice::from_ref(&list), &[0, 0]);
            match list.data_type() {
                DataType::ListView(_) => assert_eq!(twice.unwrap().len(), 2),
                _ => assert_eq!(twice.unwrap_err().kind(), ErrorKind::OffsetOverflow),
            }
        }
    }

    #[test]
    fn rows_of_pieces_come_in_any_order() {
        let pieces = [1..4, 4..4, 4..6].map(|range| Arc::new(Int32Array::from_iter_values(range)));
        let pieces = pieces.map(|piece| piece as ArrayRef);
        let lists = pieces.clone().map(|piece| {
            let item = Arc::new(Field::new("item", DataType::Int32, true));
            let ends = OffsetBuffer::from_lengths(vec![1; piece.len()]);
            Arc::new(ListArray::new(item, ends, piece, None)) as ArrayRef
        });
        for rows in [
            vec![4, 3, 3, 0],
            vec![0, 1, 2, 3, 4],
            vec![2, 1, 0, 4, 3],
            vec![],
        ] {
            let expected = rows.iter().map(|row| i32::try_from(row + 1).unwrap());
            let expected = Int32Array::from_iter_values(expected);
            assert_eq!(pick(&pieces, &rows).unwrap().as_primitive(), &expected);
            let found = pick(&lists, &rows).unwrap();
            assert_eq!(found.len(), rows.len());
            assert_eq!(found.as_list::<i32>().values().as_primitive(), &expected);
        }
    }

    #[test]
    fn run_ends_are_counted_over_all_pieces() {
        let run = |ends: i16| -> ArrayRef {
            let values = Int32Array::from(vec![i32::from(ends)]);
            Arc::new(
                RunArray::<Int16Type>::try_new(&Int16Array::from(vec![ends]), &values).unwrap(),
            )
        };
        assert_eq!(join(&[run(30_000), run(2_767)]).unwrap().len(), 32_767);
        let error = join(&[run(30_000), run(2_768)]).unwrap_err();
        assert!(
            error
                .message()
                .contains("32768 rows exceed run ends of type Int16")
        );
    }

    #[test]
    fn entries_that_no_row_uses_need_no_keys() {
        let texts = |from: i32| {
            let texts = (from..from + 100).map(|i| format!("{i}"));
            Arc::new(StringArray::from_iter_values(texts)) as ArrayRef
        };
        let piece = |keys: Int8Array, from| -> ArrayRef {
            // Inside of a list, where the kernel cannot merge dictionaries.
            let array = DictionaryArray::<Int8Type>::new(keys, texts(from));
            let item = Arc::new(Field::new("item", array.data_type().clone(), true));
            let ends = OffsetBuffer::from_lengths([array.len()]);
            Arc::new(ListArray::new(item, ends, Arc::new(array), None))
        };
        let pieces = [
            piece(Int8Array::from(vec![Some(99), None, Some(5)]), 0),
            piece(Int8Array::from(vec![None, None]), 100),
            piece(Int8Array::from(vec![Some(0), Some(7), Some(0)]), 200),
        ];
        let joined = join(&pieces).unwrap();
        joined.to_data().validate_full().unwrap();
        let values = joined.as_list::<i32>().values().clone();
        let values = values.as_dictionary::<Int8Type>();
        assert_eq!(values.values().len(), 4);
        let found: Vec<_> = values
            .downcast_dict::<StringArray>()
            .unwrap()
            .into_iter()
            .collect();
        let (none, some) = (None, Some);
        let expected = [
            some("99"),
            none,
            some("5"),
            none,
            none,
            some("200"),
            some("207"),
            some("200"),
        ];
        assert_eq!(found, expected);
    }
}
