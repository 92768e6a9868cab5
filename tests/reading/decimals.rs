//! Decimals of 16 bytes take little more space than their digits, and all ways of reading return them.

use crate::support::{collect, written_bytes};
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch};
use arrow_shard::Shard;
use arrow_shard::read::{col, lit};
use arrow_shard::write::{PresenceLayout, Profile, WriterOptions};
use std::sync::Arc;

const ROWS: usize = 100_000;

/// Returns values of up to 40 bits, one in ten negative, one in 41 null, and optionally a few that need 128 bits.
fn batch(outliers: bool) -> RecordBatch {
    let value = |i: usize| {
        let noise = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let noise = i128::from((noise ^ (noise >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 24);
        match i {
            i if i % 41 == 7 => None,
            i if outliers && i % 20_011 == 5 => Some(10i128.pow(37) + noise),
            i if outliers && i % 20_011 == 6 => Some(-(10i128.pow(37)) - noise),
            i if i.is_multiple_of(10) => Some(-noise),
            _ => Some(noise),
        }
    };
    let array: Decimal128Array = (0..ROWS).map(value).collect();
    let array = array.with_precision_and_scale(38, 4).unwrap();
    RecordBatch::try_from_iter([("d", Arc::new(array) as ArrayRef)]).unwrap()
}

fn options(profile: Profile) -> WriterOptions {
    WriterOptions::default().with_profile(profile)
}

#[test]
fn moderate_decimals_take_a_third_of_their_width() {
    for profile in [
        Profile::Fast,
        Profile::Balanced,
        #[cfg(feature = "zstd")]
        Profile::HighCompression,
    ] {
        let bytes = written_bytes(&[batch(false)], options(profile)).len();
        // 41 bits with the sign, the minimum and maximum of every 256 values, and presence.
        assert!(bytes < ROWS * 11 / 2, "{profile:?}: {bytes} bytes");
    }
}

#[test]
fn decimals_come_back_from_scans_filters_and_single_rows() {
    let batch = batch(true);
    let column = batch.column(0).as_primitive::<Decimal128Type>();
    let plain = [
        Profile::Plain,
        Profile::Fast,
        Profile::Balanced,
        #[cfg(feature = "zstd")]
        Profile::MinimalSize,
    ];
    let mut all: Vec<WriterOptions> = plain.into_iter().map(options).collect();
    all.push(options(Profile::Balanced).with_presence(PresenceLayout::Embedded));
    for options in all {
        let shard =
            Shard::from_bytes(written_bytes(std::slice::from_ref(&batch), options)).unwrap();
        assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), batch);
        let rows = [5u64, 6, 7, 8191, 8192, 65_535, 65_536, 99_999];
        let taken = shard.take(&rows, ["d"]).unwrap();
        for (i, row) in rows.into_iter().enumerate() {
            let row = usize::try_from(row).unwrap();
            assert_eq!(taken.column(0).slice(i, 1).as_ref(), &column.slice(row, 1));
        }
        let filter = col("d").lt(lit("-1000000000000000"));
        let found = collect(shard.scan().with_filter(filter).build().unwrap()).unwrap();
        let least = column.iter().flatten().filter(|v| *v < -(10i128.pow(19)));
        assert_eq!(found.num_rows(), least.count());
    }
}
