//! Dictionaries that the compressed blocks of a field share: written data are read back in all ways, damage is an
//! error, and readers without support for them report it.
#![cfg(feature = "zstd")]

use crate::descriptors::with_descriptors;
use crate::support::{collect, remote, written, written_bytes};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray};
use arrow_select::take::take_record_batch;
use arrow_shard::buffer::{BLOCK_MAPS_PROPERTY, CHECKSUMS_PROPERTY};
use arrow_shard::format::{BufferKind, DataEncoding, EncodedBuffer, checksum};
use arrow_shard::metadata::Wire;
use arrow_shard::read::inspect::{BufferInfo, DictionaryKind, InspectOptions};
use arrow_shard::read::{Projection, col};
use arrow_shard::write::{ColumnOptions, PresenceLayout, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

/// Returns lines of a log, some of them null or empty.
fn lines(rows: usize, seed: u64) -> RecordBatch {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut line = |i: usize| match i % 17 {
        3 => None,
        11 => Some(String::new()),
        _ => Some(match rng.random_range(0..4) {
            0 => format!(
                "081109 20{:04} {} INFO dfs.DataNode$PacketResponder: PacketResponder {} for block \
                 blk_{} terminating",
                rng.random_range(0..10_000),
                rng.random_range(10..30_000),
                rng.random_range(0..3),
                rng.random::<i64>()
            ),
            1 => format!(
                "081109 20{:04} {} INFO dfs.FSNamesystem: BLOCK* NameSystem.addStoredBlock: blockMap \
                 updated: 10.250.{}.{}:50010 is added to blk_{} size 67108864",
                rng.random_range(0..10_000),
                rng.random_range(10..30_000),
                rng.random::<u8>(),
                rng.random::<u8>(),
                rng.random::<i64>()
            ),
            2 => format!(
                "[Sun Dec 04 04:{:02}:{:02} 2005] [notice] jk2_init() Found child {} in scoreboard slot {}",
                rng.random_range(0..60),
                rng.random_range(0..60),
                rng.random_range(1000..9999),
                rng.random_range(1..12)
            ),
            _ => format!(
                "nova.osapi_compute.wsgi.server [req-{:08x}-{:04x}] \"GET /v2/54fadb412c4e40cdbaed9335e4c35a9e\
                 /servers/detail HTTP/1.1\" status: 200 len: 1893 time: 0.{}",
                rng.random::<u32>(),
                rng.random::<u16>(),
                rng.random_range(1_000_000..4_000_000)
            ),
        }),
    };
    let text: StringArray = (0..rows).map(&mut line).collect();
    let bytes: BinaryArray = (0..rows).map(|i| line(i).map(String::into_bytes)).collect();
    let columns: [(&str, ArrayRef); 2] = [("text", Arc::new(text)), ("bytes", Arc::new(bytes))];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Returns words in random order, without long repeated sequences.
fn words(rows: usize, seed: u64) -> RecordBatch {
    let mut rng = StdRng::seed_from_u64(seed);
    let words: Vec<String> = (0..3000u64)
        .map(|i| {
            let noise = checksum(&i.to_le_bytes());
            let syllables = ["ta", "re", "mon", "li", "ser", "quo", "ven", "ash"];
            (0..2 + noise % 3)
                .map(|k| syllables[(noise >> (3 * k + 4)) as usize % 8])
                .collect()
        })
        .collect();
    let mut line = |i: usize| {
        let line = (0..6).map(|_| words[rng.random_range(0..words.len())].as_str());
        let line = line.collect::<Vec<_>>().join(" ");
        let line = if i % 50 == 9 {
            "[Sun".to_owned() + &line
        } else {
            line
        };
        (i % 13 != 5).then_some(line)
    };
    let text: StringArray = (0..rows).map(&mut line).collect();
    let bytes: BinaryArray = (0..rows).map(|i| line(i).map(String::into_bytes)).collect();
    let columns: [(&str, ArrayRef); 2] = [("text", Arc::new(text)), ("bytes", Arc::new(bytes))];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn options(profile: Profile, shares: bool) -> WriterOptions {
    let column = ColumnOptions::default()
        .with_block_values(256)
        .with_compressor_dictionary_enabled(shares);
    WriterOptions::default()
        .with_profile(profile)
        .with_column("text", column.clone())
        .with_column("bytes", column)
}

/// Returns the compressor dictionaries of a column in the first stripe.
fn dictionaries(shard: &Shard, column: usize) -> Vec<BufferInfo> {
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let buffers = info.stripes[0].fields[column].buffers.iter();
    buffers
        .filter(|buffer| buffer.kind == BufferKind::OpaqueDictionary)
        .cloned()
        .collect()
}

fn data_bytes(shard: &Shard, column: usize) -> u64 {
    let info = shard.inspect(InspectOptions::default()).unwrap();
    info.stripes
        .iter()
        .map(|stripe| stripe.fields[column].encoded_bytes)
        .sum()
}

/// Checks that all ways of reading return the batch.
fn check(shard: &Shard, batch: &RecordBatch) {
    assert_eq!(&collect(shard.scan().build().unwrap()).unwrap(), batch);
    let rows = batch.num_rows() as u64;
    let mut rng = StdRng::seed_from_u64(rows);
    let wanted: Vec<u64> = (0..40).map(|_| rng.random_range(0..rows)).collect();
    let taken = shard.take(&wanted, Projection::All).unwrap();
    let indices = arrow_array::UInt64Array::from(wanted);
    assert_eq!(taken, take_record_batch(batch, &indices).unwrap());
    let filtered = shard.scan().with_filter(col("text").starts_with("[Sun"));
    let filtered = collect(filtered.build().unwrap()).unwrap();
    let texts = batch["text"]
        .as_any()
        .downcast_ref::<StringArray>()
        .unwrap();
    let matching = texts
        .iter()
        .flatten()
        .filter(|text| text.starts_with("[Sun"));
    assert!(filtered.num_rows() > 0);
    assert_eq!(filtered.num_rows(), matching.count());
    let range = rows / 3..rows / 3 + 300;
    let part = shard.scan().with_row_range(range.clone()).build().unwrap();
    let start = usize::try_from(range.start).unwrap();
    assert_eq!(collect(part).unwrap(), batch.slice(start, 300));
    let report = shard.verify().unwrap();
    assert!(report.problems().is_empty(), "{report:?}");
}

/// Returns rows and a profile with which the writer shares dictionaries of a kind.
fn case(kind: DictionaryKind, rows: usize) -> (RecordBatch, Profile) {
    match kind {
        DictionaryKind::Symbols => (words(rows, 5), Profile::Balanced),
        _ => (lines(rows, 5), Profile::MinimalSize),
    }
}

const KINDS: [DictionaryKind; 2] = [DictionaryKind::Zstd, DictionaryKind::Symbols];

#[test]
fn what_shares_dictionaries_is_read_as_it_was_written() {
    for kind in KINDS {
        for (rows, presence) in [
            (8 * 256, PresenceLayout::Separate),
            (8 * 256 - 1, PresenceLayout::Embedded),
            (14_001, PresenceLayout::Embedded),
        ] {
            let (batch, profile) = case(kind, rows);
            let options = options(profile, true)
                .with_presence(presence)
                .with_stripe_rows(9000);
            let bytes = written_bytes(std::slice::from_ref(&batch), options);
            let shard = Shard::from_bytes(bytes.clone()).unwrap();
            check(&shard, &batch);
            check(&remote(bytes, <_>::default()).unwrap(), &batch);
            for column in 0..2 {
                let found = dictionaries(&shard, column);
                let kinds = found.iter().filter_map(|b| b.compressor).map(|c| c.kind);
                let kinds: Vec<_> = kinds.collect();
                assert!(rows < 9000 || kinds == [kind], "{kind:?}: {kinds:?}");
            }
        }
    }
}

#[test]
fn values_that_change_get_another_dictionary() {
    let first = lines(66_000, 1);
    // The same lines with other letters than the first ones.
    let turned = |c: char| match c {
        'a'..='m' | 'A'..='M' => (c as u8 + 13) as char,
        'n'..='z' | 'N'..='Z' => (c as u8 - 13) as char,
        _ => c,
    };
    let other = lines(66_000, 2);
    let other = other["text"].as_string::<i32>().iter();
    let other: StringArray = other
        .map(|line| Some(line?.chars().map(turned).collect::<String>()))
        .collect();
    let other: ArrayRef = Arc::new(other);
    let second = RecordBatch::try_new(
        first.schema(),
        vec![
            other.clone(),
            arrow_cast::cast(&other, first.schema().field(1).data_type()).unwrap(),
        ],
    )
    .unwrap();
    let batches = [first, second];
    let bytes = written_bytes(&batches, options(Profile::Balanced, true));
    let shard = Shard::from_bytes(bytes).unwrap();
    let found = dictionaries(&shard, 0);
    let ids: Vec<u32> = found
        .iter()
        .filter_map(|b| b.compressor)
        .map(|c| c.id)
        .collect();
    assert!(ids.len() > 1, "{ids:?}");
    let all = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    check(&shard, &all);
}

#[test]
fn small_blocks_are_smaller_with_dictionaries() {
    let batch = lines(30_000, 3);
    for (profile, most) in [(Profile::Balanced, 70), (Profile::MinimalSize, 95)] {
        let size = |shares| {
            let bytes = written_bytes(std::slice::from_ref(&batch), options(profile, shares));
            data_bytes(&Shard::from_bytes(bytes).unwrap(), 0)
        };
        let (with, without) = (size(true), size(false));
        eprintln!("{profile:?}: {with} of {without} bytes");
        assert!(
            with * 100 < without * most,
            "{profile:?}: {with} of {without} bytes"
        );
    }
}

#[test]
fn a_large_value_that_fills_a_block_is_compressed() {
    let page = "<td class=\"cell\">0</td>\n".repeat(250_000);
    let pages: StringArray = (0..3).map(|i| Some(format!("{i}{page}"))).collect();
    let batch = RecordBatch::try_from_iter([("page", Arc::new(pages) as ArrayRef)]).unwrap();
    for profile in [
        Profile::Balanced,
        Profile::HighCompression,
        Profile::MinimalSize,
    ] {
        let options = WriterOptions::default().with_profile(profile);
        let bytes = written_bytes(std::slice::from_ref(&batch), options);
        let size = bytes.len();
        assert!(size < page.len() / 10, "{profile:?}: {size} bytes");
        let shard = Shard::from_bytes(bytes).unwrap();
        assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), batch);
        assert_eq!(
            shard.take(&[2], Projection::All).unwrap(),
            batch.slice(2, 1)
        );
    }
}

#[test]
fn few_values_share_nothing() {
    let batch = lines(1500, 3);
    let bytes = written_bytes(
        std::slice::from_ref(&batch),
        options(Profile::HighCompression, true),
    );
    let shard = Shard::from_bytes(bytes).unwrap();
    assert_eq!(dictionaries(&shard, 0), []);
    check(&shard, &batch);
}

#[test]
fn the_bytes_do_not_depend_on_threads() {
    let batch = lines(12_000, 3);
    let write = |threads| {
        let options = options(Profile::MinimalSize, true)
            .with_creation_time(Some(638_000_000_000_000_000))
            .with_threads(threads);
        written_bytes(std::slice::from_ref(&batch), options)
    };
    assert_eq!(write(1), write(3));
}

#[test]
fn options_that_cannot_be_kept_are_refused() {
    let batch = lines(10, 3);
    let refused = |options: WriterOptions| {
        let written = written(&batch.schema(), std::slice::from_ref(&batch), options);
        written.map(|_| ()).unwrap_err()
    };
    let error = refused(options(Profile::Balanced, true).with_wire(Wire::Reference));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let text = error.to_string();
    assert!(
        text.contains("compressor dictionaries of column") && text.contains("Reference"),
        "{text}"
    );
    let all = WriterOptions::default()
        .with_wire(Wire::Reference)
        .with_compressor_dictionary_enabled(true);
    assert_eq!(refused(all).kind(), ErrorKind::Unsupported);
    for values in [0, 1, 64, 300, 1025, 131_072] {
        let column = ColumnOptions::default().with_block_values(values);
        let error = refused(WriterOptions::default().with_column("text", column));
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("column `text`"), "{error}");
    }
}

/// Returns a shard with dictionaries, and the byte range of the first column's dictionary.
fn shared(kind: DictionaryKind) -> (Vec<u8>, std::ops::Range<usize>) {
    let (batch, profile) = case(kind, ROWS);
    let bytes = written_bytes(std::slice::from_ref(&batch), options(profile, true));
    let shard = Shard::from_bytes(bytes.clone()).unwrap();
    let found = dictionaries(&shard, 0);
    assert_eq!(found[0].compressor.unwrap().kind, kind);
    (bytes.to_vec(), found[0].range.to_usize().unwrap())
}

const ROWS: usize = 12_000;

fn text(bytes: Vec<u8>) -> arrow_shard::Result<ArrayRef> {
    let shard = Shard::from_bytes(bytes.into())?;
    let rows: Vec<u64> = (0..ROWS as u64).step_by(997).collect();
    Ok(shard.take(&rows, ["text"])?.column(0).clone())
}

#[test]
fn a_damaged_dictionary_is_an_error_that_says_where() {
    for kind in KINDS {
        let (bytes, range) = shared(kind);
        let step = (range.len() / 300).max(1);
        let places = (range.start..range.start + 12)
            .chain(range.clone().step_by(step))
            .chain(range.end - 4..range.end);
        for at in places {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let error = text(changed.clone()).unwrap_err();
            let kinds = [
                ErrorKind::Corrupt,
                ErrorKind::Checksum,
                ErrorKind::Unsupported,
            ];
            assert!(kinds.contains(&error.kind()), "{error}");
            let words = error.to_string();
            let named = ["stripe 0", "`text`", "OpaqueDictionary buffer"];
            assert!(named.iter().all(|word| words.contains(word)), "{words}");
            if at % 7 == 0 {
                let report = Shard::from_bytes(changed.into()).unwrap().verify().unwrap();
                assert_eq!(report.problems().len(), 1, "{report:?}");
            }
        }
    }
}

#[test]
fn a_dictionary_whose_checksum_was_mended_is_no_more_than_other_data() {
    for kind in KINDS {
        let (bytes, range) = shared(kind);
        // No descriptor repeats the checksum.
        let bytes = with_descriptors(&bytes, |_, field, _| field.field.custom_properties.clear());
        let intact = text(bytes.clone()).unwrap();
        let payload = range.start + 8..range.end - 4;
        let mut outcomes = [0, 0];
        let dense = payload.clone().take(300);
        for at in dense.chain(payload.clone().step_by((payload.len() / 300).max(1))) {
            for value in [0, 0x80, 0xFF] {
                let mut changed = bytes.clone();
                changed[at] ^= value;
                let sum = checksum(&changed[payload.clone()]).to_le_bytes();
                changed[payload.end..range.end].copy_from_slice(&sum);
                let read = text(changed);
                outcomes[usize::from(read.is_ok())] += 1;
                if let Ok(array) = read {
                    assert_eq!(array.len(), intact.len());
                    array.to_data().validate_full().unwrap();
                }
            }
        }
        assert!(outcomes.iter().all(|n| *n > 0), "{kind:?}: {outcomes:?}");
    }
}

/// Returns the shard with changed OPAQUE_DICTIONARY buffers of the first column.
fn with_buffers(bytes: &[u8], edit: impl Fn(&mut Vec<EncodedBuffer>)) -> Vec<u8> {
    with_descriptors(bytes, |id, field, _| {
        // These properties name buffers by ordinal, and the ordinals change.
        let properties = &mut field.field.custom_properties;
        properties
            .retain(|p| ![CHECKSUMS_PROPERTY, BLOCK_MAPS_PROPERTY].contains(&p.name.as_str()));
        if let (0, DataEncoding::Native(native)) = (id, &mut field.encodings[0]) {
            edit(&mut native.buffers);
        }
    })
}

fn opaque(buffers: &mut [EncodedBuffer]) -> &mut EncodedBuffer {
    let mut found = buffers.iter_mut();
    found
        .find(|b| b.kind == BufferKind::OpaqueDictionary)
        .unwrap()
}

#[test]
fn descriptors_that_claim_what_no_writer_would_are_refused() {
    for kind in KINDS {
        let (bytes, _) = shared(kind);
        assert!(text(with_buffers(&bytes, |_| {})).is_ok());
        let refused = |edit: &dyn Fn(&mut Vec<EncodedBuffer>), word: &str| {
            let error = text(with_buffers(&bytes, edit)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            let text = error.to_string();
            assert!(text.contains(word) && text.contains("`text`"), "{text}");
        };
        let absent = |buffers: &mut Vec<EncodedBuffer>| {
            buffers.retain(|b| b.kind != BufferKind::OpaqueDictionary);
        };
        refused(&absent, "the field has no OPAQUE_DICTIONARY buffer");
        refused(&|b| opaque(b).buffer_id = None, "buffer_id");
        refused(&|b| opaque(b).buffer_id = Some(0), "buffer_id");
        let twice = |buffers: &mut Vec<EncodedBuffer>| {
            let again = opaque(buffers).clone();
            buffers.push(again);
        };
        refused(&twice, "two OpaqueDictionary buffers with the buffer_id");
        let many = |buffers: &mut Vec<EncodedBuffer>| {
            let again = opaque(buffers).clone();
            for id in 300..800 {
                let mut next = again.clone();
                next.buffer_id = Some(id);
                buffers.push(next);
            }
        };
        refused(&many, "up to 255");
        let other = |buffers: &mut Vec<EncodedBuffer>| opaque(buffers).buffer_id = Some(99);
        let word = match kind {
            DictionaryKind::Symbols => "the field has no OPAQUE_DICTIONARY buffer",
            _ => "expected a Zstandard dictionary of id 99",
        };
        refused(&other, word);
        refused(&|b| opaque(b).buffer = None, "no reference to its bytes");
    }
}
