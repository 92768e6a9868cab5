use super::*;
use crate::error::Result;
use crate::interop::cole::column_schema::ColumnType;
use crate::interop::cole::encoding_type::Encoding;
use crate::interop::cole::page_header::{PageHeader, Statistics};
use crate::interop::cole::varint;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray};
use bytes::Bytes;
use proptest::prelude::*;
use std::sync::Arc;

/// Returns the page that a writer makes of an array.
fn encode(array: &ArrayRef) -> EncodedPage {
    let mut values = PageValues::new(column_type(array));
    let taken = values.take(array, 0, usize::MAX, usize::MAX).unwrap();
    assert_eq!(taken, array.len());
    let page = values.encode().unwrap();
    assert_eq!(values.len(), 0);
    page
}

fn column_type(array: &ArrayRef) -> ColumnType {
    ColumnType::from_arrow(array.data_type()).unwrap()
}

/// Returns the values of a page, starting at `from`.
fn decode(array: &ArrayRef, header: &PageHeader, data: &[u8], from: u32) -> Result<ArrayRef> {
    let page = Page::read(column_type(array), header, &Bytes::copy_from_slice(data))?;
    let range = from..header.num_values;
    Ok(match column_type(array) {
        ColumnType::Int32 => {
            let mut values = Vec::new();
            i32::of(&page)?.append(range, &mut values);
            Arc::new(Int32Array::from(values))
        }
        ColumnType::Int64 => {
            let mut values = Vec::new();
            i64::of(&page)?.append(range, &mut values);
            Arc::new(Int64Array::from(values))
        }
        ColumnType::String => {
            let (count, bytes) = page.fit(range.clone(), u64::MAX);
            assert_eq!(count, range.end - range.start);
            let mut strings = StringBuilder::with_capacity(0, 0);
            page.append_strings(range, &mut strings)?;
            let strings = strings.finish()?;
            assert_eq!(strings.values().len() as u64, bytes);
            Arc::new(strings)
        }
    })
}

/// Returns a page with the given bytes.
fn read(array: &ArrayRef, encoding: Encoding, data: &[u8]) -> Result<ArrayRef> {
    let mut page = encode(array);
    page.header.encoding = encoding;
    page.header.compressed_size = u32::try_from(data.len()).unwrap();
    decode(array, &page.header, data, 0)
}

fn int32(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

fn int64(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn the_example_of_plain_strings() {
    let array = strings(&["hello", "world"]);
    let offsets = [0_u32, 5, 10];
    let mut page = Vec::new();
    plain::write_strings(&offsets, b"helloworld", &mut page);
    let bytes = offsets.map(u32::to_le_bytes).concat();
    assert_eq!(page, [&bytes[..], b"helloworld"].concat());
    assert_eq!(&read(&array, Encoding::Plain, &page).unwrap(), &array);
    let header = encode(&array).header;
    assert_eq!((header.uncompressed_size, header.statistics), (22, None));
}

#[test]
fn integers_are_little_endian() {
    let page = encode(&int32([0x0102_0304, -2_000_000_000]));
    let bytes = [4, 3, 2, 1, 0x00, 0x6C, 0xCA, 0x88];
    assert_eq!(
        (page.header.encoding, &page.data[..]),
        (Encoding::Plain, &bytes[..])
    );
    let page = encode(&int64([i64::MIN]));
    assert_eq!(
        (page.header.encoding, &page.data[..]),
        (Encoding::Plain, &i64::MIN.to_le_bytes()[..])
    );
    let statistics = Statistics {
        min: Some(i64::MIN),
        max: Some(i64::MIN),
        null_count: 0,
    };
    assert_eq!(page.header.statistics, Some(statistics));
}

#[test]
fn the_smallest_encoding_is_chosen() {
    let random = |i: i32| i.wrapping_mul(1_640_531_527).rotate_left(13);
    let (a, b) = ("x".repeat(30), "y".repeat(40));
    let alternating: Vec<&str> = (0..300)
        .map(|i| if i % 3 == 0 { &*a } else { &*b })
        .collect();
    for (array, encoding) in [
        (int32((0..1000).map(random)), Encoding::Plain),
        (int32((0..1000).map(|i| i / 300 * 77)), Encoding::Rle),
        (int32((0..1000).map(|i| i * 3)), Encoding::Delta),
        (int64((0..1000).map(|i| i << 40)), Encoding::Delta),
        (int64(std::iter::repeat_n(i64::MAX, 1000)), Encoding::Rle),
        (strings(&alternating), Encoding::Dictionary),
        (strings(&[&*a; 50]), Encoding::Rle),
        (strings(&["a", "b", "c", "d"]), Encoding::Plain),
    ] {
        let page = encode(&array);
        assert_eq!(page.header.encoding, encoding, "{array:?}");
        assert_eq!(
            &decode(&array, &page.header, &page.data, 0).unwrap(),
            &array
        );
    }
}

#[test]
fn differences_are_read_in_both_readings() {
    let values = int32([10, 7, 1000, i32::MIN, i32::MAX]);
    let deltas = [-3_i64, 993, -2_147_484_648, 4_294_967_295];
    let page = |varint: fn(i64) -> u64| {
        let mut page = 10_i32.to_le_bytes().to_vec();
        varint::write(4, &mut page);
        for delta in deltas {
            varint::write(varint(delta), &mut page);
        }
        page
    };
    let zigzag = page(varint::zigzag);
    assert_eq!(&read(&values, Encoding::Delta, &zigzag).unwrap(), &values);
    let twos_complement = page(i64::cast_unsigned);
    assert_eq!(
        &read(&values, Encoding::Delta, &twos_complement).unwrap(),
        &values
    );
    // Differences that wrap around in 32 bits.
    let mut wrapped = 10_i32.to_le_bytes().to_vec();
    varint::write(4, &mut wrapped);
    for delta in deltas {
        let delta = i64::from(low(delta));
        varint::write(varint::zigzag(delta), &mut wrapped);
    }
    assert_eq!(&read(&values, Encoding::Delta, &wrapped).unwrap(), &values);
}

fn low(value: i64) -> i32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

#[test]
fn values_of_runs_are_read_as_varints_where_they_do_not_fit_otherwise() {
    let values = int32([7, 7, 7, -1]);
    assert_eq!(
        &read(
            &values,
            Encoding::Rle,
            &[2, 3, 7, 0, 0, 0, 1, 255, 255, 255, 255]
        )
        .unwrap(),
        &values
    );
    assert_eq!(
        &read(&values, Encoding::Rle, &[2, 3, 14, 1, 1]).unwrap(),
        &values
    );
    let values = strings(&["a", "a", "b"]);
    let entries = [2, 0, 0, 0, 1, 0, 0, 0, b'a', 1, 0, 0, 0, b'b'];
    for codes in [&[2, 2, 0, 0, 0, 0, 1, 1, 0, 0, 0][..], &[2, 2, 0, 1, 1]] {
        let page = [&entries, codes].concat();
        assert_eq!(
            &read(&values, Encoding::Dictionary, &page).unwrap(),
            &values
        );
    }
    assert_eq!(
        &read(
            &values,
            Encoding::Rle,
            &[2, 2, 1, 0, 0, 0, b'a', 1, 1, 0, 0, 0, b'b']
        )
        .unwrap(),
        &values
    );
}

#[test]
fn pages_that_contradict_themselves_are_refused() {
    let two = int32([7, 8]);
    let text = strings(&["a", "b"]);
    for (array, encoding, data, message) in [
        (
            &two,
            Encoding::Plain,
            &[0; 7][..],
            "have 7 bytes, expected 8",
        ),
        (
            &two,
            Encoding::Plain,
            &[9, 0, 0, 0, 8, 0, 0, 0],
            "value 9 lies outside",
        ),
        (
            &two,
            Encoding::Rle,
            &[1, 3, 7, 0, 0, 0],
            "the runs have 3 values, expected 2",
        ),
        (
            &two,
            Encoding::Rle,
            &[0xFF, 0xFF, 3],
            "65535 runs do not fit",
        ),
        (
            &two,
            Encoding::Rle,
            &[1, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 7, 0, 0, 0],
            "more than a page can hold",
        ),
        (
            &two,
            Encoding::Rle,
            &[1, 2, 7, 0, 0, 0, 0],
            "1 bytes follow",
        ),
        (
            &two,
            Encoding::Delta,
            &[7, 0, 0, 0, 2, 2, 2],
            "there are 2 differences",
        ),
        (
            &two,
            Encoding::Delta,
            &[7, 0, 0, 0],
            "expected 1 bytes at byte 4",
        ),
        (
            &two,
            Encoding::Delta,
            &[7, 0, 0, 0, 1, 4],
            "value 9 lies outside",
        ),
        (&two, Encoding::Dictionary, &[0; 9], "is for STRING"),
        (&text, Encoding::Delta, &[0; 9], "is for INT32 and INT64"),
        (&text, Encoding::Plain, &[0; 11], "expected 12 bytes"),
        (
            &text,
            Encoding::Plain,
            &[1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'a', b'b'],
            "first offset is 1",
        ),
        (
            &text,
            Encoding::Plain,
            &[0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, b'a', b'b'],
            "offset 2 is 1, less",
        ),
        (
            &text,
            Encoding::Plain,
            &[0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, b'a', b'b'],
            "ends at byte 3, and there are only 2",
        ),
        (
            &text,
            Encoding::Plain,
            &[0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, b'a', b'b'],
            "1 bytes, and the page has 2",
        ),
        (
            &text,
            Encoding::Plain,
            &[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0xC3, 0xA4],
            "string 0 is not UTF-8",
        ),
        (
            &text,
            Encoding::Rle,
            &[1, 2, 9, 0, 0, 0, b'a'],
            "expected 9 bytes",
        ),
        (
            &text,
            Encoding::Dictionary,
            &[1, 0, 0, 0, 1, 0, 0, 0, b'a', 1, 2, 1, 0, 0, 0],
            "entry 1 of a dictionary of 1",
        ),
        (
            &text,
            Encoding::Dictionary,
            &[0xFF; 8],
            "expected 4294967295 bytes",
        ),
    ] {
        let error = read(array, encoding, data).unwrap_err();
        assert!(
            error.message().contains(message),
            "{encoding} {data:?}: {error}"
        );
    }
}

#[test]
fn nulls_and_false_sizes_are_refused() {
    let array = int32([1, 2, 3]);
    let page = encode(&array);
    let mut nulls = page.header.clone();
    nulls.statistics = Some(Statistics {
        null_count: 1,
        ..page.header.statistics.unwrap()
    });
    let error = decode(&array, &nulls, &page.data, 0).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
    let mut size = page.header.clone();
    size.uncompressed_size += 1;
    assert!(decode(&array, &size, &page.data, 0).is_err());
}

#[test]
fn a_page_without_values_has_any_encoding() {
    for array in [int32([]), int64([]), strings(&[])] {
        let page = encode(&array);
        assert_eq!(
            &decode(&array, &page.header, &page.data, 0).unwrap(),
            &array
        );
        for encoding in Encoding::ALL {
            assert_eq!(&read(&array, encoding, &[]).unwrap(), &array);
        }
    }
}

#[test]
fn a_few_bytes_that_stand_for_billions_of_values_take_no_memory() {
    let mut header = encode(&int32([7])).header;
    header.encoding = Encoding::Rle;
    header.num_values = 1 << 29;
    header.uncompressed_size = 1 << 31;
    let data = Bytes::from_static(&[1, 0x80, 0x80, 0x80, 0x80, 2, 7, 0, 0, 0]);
    let page = Page::read(ColumnType::Int32, &header, &data).unwrap();
    let mut values = Vec::new();
    i32::of(&page)
        .unwrap()
        .append(1 << 28..(1 << 28) + 3, &mut values);
    assert_eq!(values, [7; 3]);
    header.num_values = u32::MAX;
    for encoding in Encoding::ALL {
        header.encoding = encoding;
        for data in [&[0xFF; 40][..], &[1; 40], &[0; 40]] {
            for column_type in [ColumnType::Int32, ColumnType::Int64, ColumnType::String] {
                assert!(Page::read(column_type, &header, &Bytes::from_static(data)).is_err());
            }
        }
    }
}

#[test]
fn offsets_beyond_32_bits_are_counted_in_the_error() {
    let mut header = encode(&strings(&["a"])).header;
    (header.encoding, header.num_values) = (Encoding::Plain, u32::MAX);
    let data = Bytes::from_static(&[0; 40]);
    let error = Page::read(ColumnType::String, &header, &data).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Corrupt);
    assert_eq!(
        error.message(),
        "expected 17179869184 bytes at byte 0, found 40"
    );
}

proptest! {
    #[test]
    fn integers_come_back(
        start: i64,
        steps in prop::collection::vec(prop_oneof![Just(0_i64), -3..3_i64, any::<i64>()], 0..400),
        from in 0..400_usize,
    ) {
        let mut value = start;
        let values: Vec<i64> = steps.iter().map(|step| { value = value.wrapping_add(*step); value }).collect();
        for array in [int64(values.iter().copied()), int32(values.iter().map(|&value| low(value)))] {
            let page = encode(&array);
            prop_assert_eq!(page.data.len(), page.header.compressed_size as usize);
            prop_assert!(page.header.compressed_size <= page.header.uncompressed_size);
            let from = from.min(array.len());
            let found = decode(&array, &page.header, &page.data, u32::try_from(from).unwrap()).unwrap();
            prop_assert_eq!(&found, &array.slice(from, array.len() - from));
        }
    }

    #[test]
    fn strings_come_back(
        values in prop::collection::vec(prop_oneof![3 => "[ab]{0,2}", 1 => ".{0,20}"], 0..300),
        repeat in 1..20_usize,
        from in 0..400_usize,
    ) {
        let values = values.iter().flat_map(|value| std::iter::repeat_n(value.as_str(), repeat));
        let array: ArrayRef = Arc::new(StringArray::from(values.collect::<Vec<_>>()));
        let page = encode(&array);
        prop_assert_eq!(page.data.len(), page.header.compressed_size as usize);
        prop_assert!(page.header.compressed_size <= page.header.uncompressed_size);
        let from = from.min(array.len());
        let found = decode(&array, &page.header, &page.data, u32::try_from(from).unwrap()).unwrap();
        prop_assert_eq!(&found, &array.slice(from, array.len() - from));
    }

    #[test]
    fn any_bytes_are_values_or_an_error(
        data in prop::collection::vec(any::<u8>(), 0..60),
        num_values in 0..20_u32,
    ) {
        for encoding in Encoding::ALL {
            for column_type in [ColumnType::Int32, ColumnType::Int64, ColumnType::String] {
                let width = if column_type == ColumnType::Int64 { 8 } else { 4 };
                let header = PageHeader {
                    uncompressed_size: num_values * width,
                    compressed_size: u32::try_from(data.len()).unwrap(),
                    num_values,
                    encoding,
                    statistics: None,
                };
                if let Ok(page) = Page::read(column_type, &header, &data.clone().into()) {
                    let (count, _) = page.fit(0..num_values, u64::MAX);
                    prop_assert_eq!(count, num_values);
                }
            }
        }
    }
}
