//! Random arrays of every Arrow type.

use arrow_array::types::{ArrowDictionaryKeyType, RunEndIndexType};
use arrow_array::*;
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, i256,
};
use arrow_cast::cast;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields, UnionMode};
use arrow_select::take::take;
use half::f16;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Entries of a dictionary.
const ENTRIES: u8 = 10;

/// A generator of random arrays that are the same in every run.
pub(super) struct Values {
    random: SmallRng,
    /// Arrays with the same number have the same dictionaries.
    dictionaries: u64,
}

impl Values {
    pub(super) fn new(seed: u64, dictionaries: u64) -> Self {
        Self {
            random: SmallRng::seed_from_u64(seed),
            dictionaries,
        }
    }

    /// Returns a column of `len` rows, a fifth of them null if the field takes nulls.
    pub(super) fn column(&mut self, field: &Field, len: usize) -> ArrayRef {
        use DataType as T;
        let nulls = field.is_nullable().then(|| self.nulls(len));
        let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        match field.data_type() {
            T::Null => Arc::new(NullArray::new(len)),
            T::Boolean => {
                let bits = BooleanBuffer::collect_bool(len, |_| self.random.random());
                Arc::new(BooleanArray::new(bits, nulls))
            }
            ty @ (T::Utf8 | T::LargeUtf8 | T::Utf8View) => {
                let texts = (0..len).map(|row| is_valid(row).then(|| self.text()));
                let texts = Arc::new(StringArray::from_iter(texts)) as ArrayRef;
                cast(&texts, ty).unwrap()
            }
            ty @ (T::Binary | T::LargeBinary | T::BinaryView) => {
                let bytes = (0..len).map(|row| is_valid(row).then(|| self.text().into_bytes()));
                let bytes = Arc::new(BinaryArray::from_iter(bytes)) as ArrayRef;
                cast(&bytes, ty).unwrap()
            }
            T::FixedSizeBinary(size) => {
                let bytes = self.bytes(len * size.as_usize());
                let array = FixedSizeBinaryArray::try_new_with_len(*size, bytes, nulls, len);
                Arc::new(array.unwrap())
            }
            T::List(item) => {
                let (offsets, items) = self.lists(item, len);
                Arc::new(ListArray::new(item.clone(), offsets, items, nulls))
            }
            T::LargeList(item) => {
                let (offsets, items) = self.lists(item, len);
                Arc::new(LargeListArray::new(item.clone(), offsets, items, nulls))
            }
            T::ListView(item) => {
                let (offsets, sizes, items) = self.views(item, len);
                let array = ListViewArray::new(item.clone(), offsets, sizes, items, nulls);
                Arc::new(array)
            }
            T::LargeListView(item) => {
                let (offsets, sizes, items) = self.views(item, len);
                let array = LargeListViewArray::new(item.clone(), offsets, sizes, items, nulls);
                Arc::new(array)
            }
            T::FixedSizeList(item, size) => {
                let items = self.column(item, len * size.as_usize());
                let item = item.clone();
                let array = FixedSizeListArray::try_new_with_length(item, *size, items, nulls, len);
                Arc::new(array.unwrap())
            }
            T::Struct(members) => Arc::new(self.members(members, len, nulls)),
            T::Map(entries, sorted) => {
                let T::Struct(members) = entries.data_type() else {
                    unreachable!("{entries}");
                };
                let lengths = (0..len).map(|_| self.random.random_range(0..4));
                let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
                let pairs = self.members(members, offsets.last().unwrap().as_usize(), None);
                let array = MapArray::new(entries.clone(), offsets, pairs, nulls, *sorted);
                Arc::new(array)
            }
            T::Dictionary(key, entry) => self.dictionary(key, entry, len, nulls),
            T::RunEndEncoded(ends, values) => match ends.data_type() {
                T::Int16 => self.runs::<types::Int16Type>(field, values, len),
                T::Int32 => self.runs::<types::Int32Type>(field, values, len),
                _ => self.runs::<types::Int64Type>(field, values, len),
            },
            T::Union(variants, mode) => self.union(variants, *mode, len),
            ty => self.numbers(ty, len, nulls),
        }
    }

    fn nulls(&mut self, len: usize) -> NullBuffer {
        (0..len).map(|_| !self.random.random_ratio(1, 5)).collect()
    }

    fn bytes(&mut self, len: usize) -> Buffer {
        let mut bytes = MutableBuffer::from_len_zeroed(len);
        self.random.fill(bytes.as_slice_mut());
        bytes.into()
    }

    /// Returns a text of 0 to 19 letters: a view contains up to 12 bytes, and refers to longer texts.
    fn text(&mut self) -> String {
        let letters = self.random.random_range(0..20);
        (0..letters)
            .map(|_| ['a', 'b', 'z', 'ä', '€', '𝄞'][self.random.random_range(0..6)])
            .collect()
    }

    /// Returns values of a fixed width.
    fn numbers(&mut self, ty: &DataType, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        use DataType as T;
        let bytes = match ty {
            T::Float16 => Buffer::from_iter((0..len).map(|_| f16::from_f32(self.random.random()))),
            T::Float32 => Buffer::from_iter((0..len).map(|_| self.random.random::<f32>())),
            T::Float64 => Buffer::from_iter((0..len).map(|_| self.random.random::<f64>())),
            T::Decimal32(digits, _) => Buffer::from_iter(
                (0..len).map(|_| i32::try_from(self.decimal(*digits).as_i128()).unwrap()),
            ),
            T::Decimal64(digits, _) => Buffer::from_iter(
                (0..len).map(|_| i64::try_from(self.decimal(*digits).as_i128()).unwrap()),
            ),
            T::Decimal128(digits, _) => {
                Buffer::from_iter((0..len).map(|_| self.decimal(*digits).as_i128()))
            }
            T::Decimal256(digits, _) => {
                let values: Vec<i256> = (0..len).map(|_| self.decimal(*digits)).collect();
                Buffer::from_vec(values)
            }
            T::Time32(_) => {
                Buffer::from_iter((0..len).map(|_| self.random.random_range(0..86_400)))
            }
            T::Time64(_) => {
                Buffer::from_iter((0..len).map(|_| self.random.random_range(0..86_400_000_000i64)))
            }
            T::Date64 => Buffer::from_iter(
                (0..len).map(|_| self.random.random_range(-99_999..99_999i64) * 86_400_000),
            ),
            ty => self.bytes(len * ty.primitive_width().unwrap()),
        };
        let data = ArrayData::builder(ty.clone()).len(len).nulls(nulls);
        make_array(data.add_buffer(bytes).build().unwrap())
    }

    /// Returns a number with at most this number of digits.
    fn decimal(&mut self, digits: u8) -> i256 {
        let bits = i256::from_le_bytes(self.random.random());
        let most = i256::from_i128(10).wrapping_pow(digits.into());
        bits % most
    }

    fn lists<O: OffsetSizeTrait>(
        &mut self,
        item: &Field,
        len: usize,
    ) -> (OffsetBuffer<O>, ArrayRef) {
        let lengths = (0..len).map(|_| self.random.random_range(0..4));
        let offsets = OffsetBuffer::<O>::from_lengths(lengths);
        let items = self.column(item, offsets.last().unwrap().as_usize());
        (offsets, items)
    }

    /// Returns lists that overlap, in no order.
    fn views<O: OffsetSizeTrait>(
        &mut self,
        item: &Field,
        len: usize,
    ) -> (
        arrow_buffer::ScalarBuffer<O>,
        arrow_buffer::ScalarBuffer<O>,
        ArrayRef,
    ) {
        let items = 2 * len + 4;
        let offsets = (0..len).map(|_| O::usize_as(self.random.random_range(0..items - 4)));
        let offsets = offsets.collect();
        let sizes = (0..len).map(|_| O::usize_as(self.random.random_range(0..4)));
        let sizes = sizes.collect();
        (offsets, sizes, self.column(item, items))
    }

    fn members(&mut self, members: &Fields, len: usize, nulls: Option<NullBuffer>) -> StructArray {
        if members.is_empty() {
            return StructArray::new_empty_fields(len, nulls);
        }
        let columns = members.iter().map(|member| self.column(member, len));
        let columns = columns.collect();
        StructArray::new(members.clone(), columns, nulls)
    }

    fn dictionary(
        &mut self,
        key: &DataType,
        entry: &DataType,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let mut seed = DefaultHasher::new();
        (self.dictionaries, entry).hash(&mut seed);
        let mut entries = Self::new(seed.finish(), self.dictionaries);
        let entries = entries.column(&Field::new("", entry.clone(), false), ENTRIES.into());
        let keys = (0..len).map(|_| self.random.random_range(0..ENTRIES));
        let keys = UInt8Array::new(keys.collect(), nulls);
        let keys = cast(&keys, key).unwrap();
        fn of<K: ArrowDictionaryKeyType>(keys: &ArrayRef, entries: ArrayRef) -> ArrayRef {
            use arrow_array::cast::AsArray;
            Arc::new(DictionaryArray::new(
                keys.as_primitive::<K>().clone(),
                entries,
            ))
        }
        match key {
            DataType::Int8 => of::<types::Int8Type>(&keys, entries),
            DataType::Int16 => of::<types::Int16Type>(&keys, entries),
            DataType::Int32 => of::<types::Int32Type>(&keys, entries),
            DataType::Int64 => of::<types::Int64Type>(&keys, entries),
            DataType::UInt8 => of::<types::UInt8Type>(&keys, entries),
            DataType::UInt16 => of::<types::UInt16Type>(&keys, entries),
            DataType::UInt32 => of::<types::UInt32Type>(&keys, entries),
            _ => of::<types::UInt64Type>(&keys, entries),
        }
    }

    fn runs<R: RunEndIndexType>(&mut self, field: &Field, values: &Field, len: usize) -> ArrayRef {
        let mut ends = Vec::new();
        let mut end = 0;
        while end < len {
            end = (end + self.random.random_range(1..5)).min(len);
            ends.push(R::Native::usize_as(end));
        }
        let values = self.column(values, ends.len());
        let ends = PrimitiveArray::<R>::from_iter_values(ends);
        let data = ArrayData::builder(field.data_type().clone())
            .len(len)
            .add_child_data(ends.into_data())
            .add_child_data(values.into_data());
        make_array(data.build().unwrap())
    }

    fn union(
        &mut self,
        variants: &arrow_schema::UnionFields,
        mode: UnionMode,
        len: usize,
    ) -> ArrayRef {
        let ids: Vec<i8> = variants.iter().map(|(id, _)| id).collect();
        let chosen = (0..len).map(|_| ids[self.random.random_range(0..ids.len())]);
        let chosen: Vec<i8> = chosen.collect();
        let count = |id: i8, until: usize| chosen[..until].iter().filter(|it| **it == id).count();
        let offsets = (mode == UnionMode::Dense).then(|| {
            let rows = chosen.iter().enumerate();
            rows.map(|(row, id)| i32::try_from(count(*id, row)).unwrap())
                .collect()
        });
        let children = variants.iter().map(|(id, field)| {
            let child = self.column(field, count(id, len));
            match mode {
                UnionMode::Dense => child,
                // The rows of other children are null, because a shard does not store their values.
                UnionMode::Sparse => {
                    let mut next = 0..;
                    let rows = chosen.iter();
                    let rows = rows.map(|it| (*it == id).then(|| next.next()).flatten());
                    take(&child, &UInt64Array::from_iter(rows), None).unwrap()
                }
            }
        });
        let children = children.collect();
        let array = UnionArray::try_new(variants.clone(), chosen.into(), offsets, children);
        Arc::new(array.unwrap())
    }
}
