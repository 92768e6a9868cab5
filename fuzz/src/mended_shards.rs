//! Checks sound shards after changing a few bytes and repairing the checksums over them.
//!
//! Input: u8 shard | changes of 6 bytes: u16 region | u16 place in it | u8 how | u8 operand

use super::covered::{Covered, covered};
use arrow_array::builder::{Int32Builder, ListBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int64Array,
    RecordBatch, StringArray, StructArray, UInt8Array,
};
use arrow_shard::Shard;
use arrow_shard::io::NoContainer;
use arrow_shard::metadata::Wire;
use arrow_shard::read::ShardOptions;
use arrow_shard::write::{PresenceLayout, Profile, ShardWriter, WriterOptions};
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

struct Base {
    file: Vec<(String, Vec<u8>)>,
    regions: Vec<Covered>,
}

pub fn run(data: &[u8]) {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    let bases = BASES.get_or_init(|| {
        let base = |bytes: Vec<u8>| {
            let file = vec![("t.amudai.shard".to_owned(), bytes)];
            let regions = covered(&file);
            Base { file, regions }
        };
        shards().into_iter().map(base).collect()
    });
    let Some((which, changes)) = data.split_first() else {
        return;
    };
    let base = &bases[usize::from(*which) % bases.len()];
    let mut file = base.file.clone();
    for change in changes.as_chunks::<6>().0.iter().take(16) {
        let [r0, r1, p0, p1, how, operand] = *change;
        let region = usize::from(u16::from_le_bytes([r0, r1])) % base.regions.len();
        let region = &base.regions[region];
        if region.bytes.is_empty() {
            continue;
        }
        let place = usize::from(u16::from_le_bytes([p0, p1])) % region.bytes.len();
        let byte = &mut file[region.file].1[region.bytes.start + place];
        *byte = match how % 3 {
            0 => operand,
            1 => *byte ^ operand,
            _ => byte.wrapping_add(operand),
        };
        Covered::mend(&base.regions, region, &mut file);
    }
    let options = ShardOptions::default().with_limits(super::limits());
    let file = Arc::new(Bytes::from(file.swap_remove(0).1));
    if let Ok(shard) = Shard::from_reader(file, Arc::new(NoContainer), options) {
        super::shards::read(&shard);
    }
}

/// Returns the same data, written with various options that affect reading.
pub fn shards() -> Vec<Vec<u8>> {
    let options = || WriterOptions::default().with_creation_time(Some(638_000_000_000_000_000));
    let [flat, nested] = [flat(), nested()];
    let simple = flat
        .project(&[0, 1, 2, 3, 4, 5, 6])
        .expect("columns that are there");
    [
        (&flat, options()),
        (&flat, options().with_profile(Profile::Plain)),
        (&flat, options().with_profile(Profile::HighCompression)),
        (
            &flat,
            options()
                .with_presence(PresenceLayout::Embedded)
                .with_stripe_rows(100),
        ),
        (&simple, options().with_wire(Wire::Reference)),
        (&nested, options()),
        (
            &nested,
            options().with_profile(Profile::Plain).with_stripe_rows(20),
        ),
    ]
    .into_iter()
    .map(|(batch, options)| {
        let mut file = Vec::new();
        let mut writer =
            ShardWriter::try_new(&mut file, batch.schema(), options).expect("a schema");
        writer.write(batch).expect("a batch");
        writer.finish().expect("a shard");
        file
    })
    .collect()
}

fn flat() -> RecordBatch {
    let rows = 0..240i64;
    let some = |i: &i64| i % 7 != 3;
    let few = rows
        .clone()
        .map(|i| some(&i).then(|| format!("word {}", i * i % 5)));
    let text = rows.clone().map(|i| {
        let mixed = i.wrapping_mul(0x5851_F42D_4C95_7F2D);
        some(&i).then(|| format!("{mixed:016x} furiously {} deposits", mixed >> 60))
    });
    let fixed = rows.clone().map(|i| i.to_be_bytes());
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    rows.clone()
        .for_each(|i| dictionary.append_value(["red", "green", "blue"][i as usize % 3]));
    let columns: [(&str, ArrayRef); 9] = [
        (
            "steps",
            Arc::new(
                rows.clone()
                    .map(|i| some(&i).then_some(1_700_000_000 + 3 * i))
                    .collect::<Int64Array>(),
            ),
        ),
        (
            "bytes",
            Arc::new(rows.clone().map(|i| (i / 30) as u8).collect::<UInt8Array>()),
        ),
        (
            "decimals",
            Arc::new(
                rows.clone()
                    .map(|i| i as f64 / 100.0)
                    .collect::<Float64Array>(),
            ),
        ),
        (
            "flags",
            Arc::new(
                rows.clone()
                    .map(|i| some(&i).then_some(i % 3 == 0))
                    .collect::<BooleanArray>(),
            ),
        ),
        ("few", Arc::new(few.collect::<StringArray>())),
        ("text", Arc::new(text.collect::<StringArray>())),
        (
            "fixed",
            Arc::new(FixedSizeBinaryArray::try_from_iter(fixed).expect("one size")),
        ),
        (
            "money",
            Arc::new(
                rows.map(|i| i128::from(i) << 64)
                    .collect::<Decimal128Array>(),
            ),
        ),
        ("colours", Arc::new(dictionary.finish())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .expect("columns of one length")
}

fn nested() -> RecordBatch {
    let mut lists = ListBuilder::new(Int32Builder::new());
    for i in 0..40 {
        match i % 5 {
            0 => lists.append_null(),
            len => lists.append_value((0..len).map(|k| (k != 2).then_some(i * k))),
        }
    }
    let x = Arc::new(
        (0..40)
            .map(|i| (i % 4 > 0).then_some(i))
            .collect::<Int64Array>(),
    ) as ArrayRef;
    let name = Arc::new(
        (0..40)
            .map(|i| Some(format!("n{i}")))
            .collect::<StringArray>(),
    ) as ArrayRef;
    let points = StructArray::try_from(vec![("x", x), ("name", name)]).expect("one length");
    RecordBatch::try_from_iter([
        ("lists", Arc::new(lists.finish()) as ArrayRef),
        ("points", Arc::new(points)),
        ("same", Arc::new(Int64Array::from(vec![7; 40]))),
    ])
    .expect("columns of one length")
}
