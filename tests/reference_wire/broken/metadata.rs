//! Breaks the rules of files, messages and the schema.

use super::{breaks, node};
use crate::bytes::{DataRef, Message, checksum, frame};
use crate::field::{Descriptor, StripeField};
use crate::files_of;
use crate::schema::{self, FIXED, GUID, LIST, Node, STRING, STRUCT};
use crate::shard::{self, Exceptions, Files};
use crate::support::written;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_shard::metadata::Wire;
use arrow_shard::write::WriterOptions;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns a fixed64 field of a message.
fn fixed64(tag: u8, value: u64) -> Vec<u8> {
    [
        &[0x81 | (tag << 3) & 0x7f, tag >> 4][..],
        &value.to_le_bytes(),
    ]
    .concat()
}

fn len(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let size = u8::try_from(bytes.len()).unwrap();
    [&[0x82 | (tag << 3) & 0x7f, tag >> 4, size][..], bytes].concat()
}

fn varint(tag: u8, value: u8) -> Vec<u8> {
    vec![0x80 | (tag << 3) & 0x7f, tag >> 4, value]
}

/// Returns a descriptor of 4 positions and one null, with additional fields.
fn descriptor(more: &[Vec<u8>], raw: u64) -> Vec<u8> {
    [
        fixed64(1, 4),
        fixed64(2, 1),
        more.concat(),
        fixed64(41, raw),
    ]
    .concat()
}

#[test]
fn rules_of_descriptors() {
    let int = node(4);
    let parse = |bytes: &[u8], node: &Node| Descriptor::parse(bytes, node);
    let range = |kind: u8, flag: u8| {
        let bound = varint(kind, 1);
        len(
            6,
            &[
                len(1, &bound),
                varint(2, flag),
                len(3, &bound),
                varint(4, 1),
            ]
            .concat(),
        )
    };
    parse(&descriptor(&[range(3, 1)], 13), &int).unwrap();
    breaks(
        parse(&descriptor(&[range(4, 1)], 13), &int),
        "bounds are of the kind",
    );
    breaks(
        parse(&descriptor(&[range(3, 0)], 13), &int),
        "bounds are inclusive",
    );
    breaks(
        parse(&descriptor(&[range(3, 1)], 13), &node(STRING)),
        "statistics are those",
    );
    breaks(
        parse(&descriptor(&[len(22, &[])], 13), &int),
        "statistics are those",
    );
    breaks(
        parse(&descriptor(&[len(9, &[])], 13), &int),
        "the reference's tags alone",
    );
    breaks(
        parse(&descriptor(&[fixed64(3, 1)], 13), &int),
        "wire types of the reference",
    );
    let unordered = [fixed64(2, 1), fixed64(1, 4)].concat();
    breaks(parse(&unordered, &int), "in the order of their tags");
    let many = [fixed64(1, 1), fixed64(2, 4)].concat();
    breaks(parse(&many, &int), "null_count is at most");
    let constant = |kind: u8| len(3, &varint(kind, 1));
    breaks(
        parse(&descriptor(&[constant(4)], 13), &int),
        "constant is of the kind",
    );
    breaks(
        parse(&descriptor(&[len(3, &len(1, &[]))], 13), &int),
        "null if all values are",
    );
    breaks(
        parse(&descriptor(&[len(3, &len(1, &[]))], 13), &node(LIST)),
        "no constant",
    );
    let guid = Node {
        fixed_size: 16,
        ..node(GUID)
    };
    breaks(
        parse(&descriptor(&[len(3, &len(9, b"abc"))], 13), &guid),
        "the size of its type",
    );
    let own = len(40, &len(1, b"arrow_shard.checksums"));
    breaks(
        parse(&[fixed64(1, 4), fixed64(2, 1), own].concat(), &int),
        "no properties of the writer's own",
    );
}

/// Returns a buffer message with a kind and additional fields.
fn buffer(kind: u8, more: &[Vec<u8>], start: u64) -> Vec<u8> {
    let place = len(2, &len(2, &[fixed64(1, start), fixed64(2, start)].concat()));
    [varint(1, kind), place, more.concat()].concat()
}

#[test]
fn rules_of_buffers() {
    let files = Files {
        directory: vec![0; 4096],
        others: HashMap::new(),
    };
    let check = |node: &Node, descriptor: &[u8], native: &[u8]| {
        let encoding = len(2, &len(1, native));
        let field = StripeField {
            files: &files,
            node,
            positions: 4,
        };
        field.check(&[len(1, descriptor), encoding].concat())
    };
    let int = node(4);
    let plain = descriptor(&[], 13);
    let data = |more: &[Vec<u8>], start| len(1, &buffer(0, more, start));
    breaks(
        check(&int, &descriptor(&[], 12), &data(&[], 64)),
        "counts values and bitmaps",
    );
    breaks(
        check(&int, &plain, &data(&[], 65)),
        "start on a multiple of 64",
    );
    breaks(check(&int, &plain, &varint(10, 1)), "no packed groups");
    breaks(check(&int, &plain, &data(&[], 64)), "flags match the type");
    breaks(
        check(&int, &plain, &data(&[varint(6, 1)], 64)),
        "values lie in blocks",
    );
    let map = len(3, &len(2, &[fixed64(1, 0), fixed64(2, 64)].concat()));
    breaks(
        check(&int, &plain, &data(&[map, varint(6, 1)], 64)),
        "the tail of its buffer",
    );
    let map = || len(3, &len(2, &[fixed64(1, 64), fixed64(2, 64)].concat()));
    breaks(
        check(&int, &plain, &data(&[map(), varint(6, 1)], 64)),
        "blocks have checksums",
    );
    let marked = data(&[map(), varint(5, 1), varint(6, 1)], 64);
    breaks(check(&int, &plain, &marked), "have a block_count");
    let presence = [data(&[], 64), len(1, &buffer(1, &[], 128))].concat();
    breaks(check(&int, &plain, &presence), "its buffers in their order");
    breaks(
        check(&int, &descriptor(&[fixed64(4, 2)], 13), &data(&[], 64)),
        "goes with a dictionary",
    );
    let fixed = Node {
        fixed_size: 3,
        ..node(FIXED)
    };
    breaks(
        check(&fixed, &descriptor(&[], 10), &data(&[varint(6, 1)], 64)),
        "flags match the type",
    );
    let field = StripeField {
        files: &files,
        node: &int,
        positions: 5,
    };
    breaks(field.check(&len(1, &plain)), "the positions of its parent");
    let field = StripeField {
        positions: 4,
        ..field
    };
    breaks(field.check(&len(1, &plain)), "a field has one encoding");
    breaks(field.check(&[]), "a stripe field has a descriptor");
    let parquet = [len(1, &plain), len(2, &len(2, &[]))].concat();
    breaks(field.check(&parquet), "the reference's tags alone");
}

/// Returns a shard with a column of numbers and a column of strings.
fn sample() -> Files {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let batch = RecordBatch::try_from_iter([("i", numbers), ("s", texts)]).unwrap();
    let options = WriterOptions::default().with_wire(Wire::Reference);
    files_of(&written(&batch.schema(), &[batch], options).unwrap())
}

/// Returns the files with a changed directory and a repaired checksum.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Files {
    let mut files = sample();
    let file = &mut files.directory;
    let end = file.len() - 8;
    let len = u32::from_le_bytes(file[end - 4..end].try_into().unwrap()) as usize;
    let mut directory = file[end - 8 - len..end - 8].to_vec();
    change(&mut directory);
    file.truncate(end - 12 - len);
    let len = u32::try_from(directory.len()).unwrap();
    file.extend(len.to_le_bytes());
    file.extend(&directory);
    file.extend(checksum(&directory).to_le_bytes());
    file.extend(len.to_le_bytes());
    file.extend([0x61, 0x6d, 0x75, 0x64, 0, 1, 0, 0]);
    files
}

#[test]
fn rules_of_containers() {
    let check = |files: &Files| shard::check(files, Exceptions::default());
    check(&sample()).unwrap();
    check(&changed(|_| {})).unwrap();
    let cases = [
        (0, "begins and ends with the magic bytes"),
        (7, "begins and ends with the magic bytes"),
        (8, "gaps between buffers are zero"),
        (84, "ends with its checksum"),
    ];
    for (at, rule) in cases {
        let mut files = sample();
        files.directory[at] ^= 0xff;
        breaks(check(&files), rule);
    }
    let mut files = sample();
    let end = files.directory.len() - 8;
    files.directory[end - 9] ^= 1;
    breaks(check(&files), "the directory ends with its checksum");
    files.directory[end - 4] += 1;
    breaks(check(&files), "stands on both sides");
    // Tags 1, 3, 4 and 5 are references; 7 to 10 are counts.
    breaks(
        check(&changed(Vec::clear)),
        "the directory has all references",
    );
    breaks(
        check(&changed(|d| d.extend(fixed64(11, 1)))),
        "the reference's tags alone",
    );
    breaks(
        check(&changed(|d| d.extend(fixed64(10, 1)))),
        "raw_data_size is the sum",
    );
    let counts = changed(|d| {
        let at = d.iter().position(|&byte| byte == 0x39).unwrap();
        d[at + 1] += 1;
    });
    breaks(check(&counts), "the sums of the stripes");
    breaks(sample().file("../x"), "URLs are relative");
    breaks(sample().file("file:///x"), "URLs are relative");
    breaks(sample().file("x"), "references lead to files of the shard");
    let beyond = DataRef {
        url: String::new(),
        start: 0,
        end: 1 << 40,
    };
    breaks(
        frame(&sample().directory, &beyond),
        "references are in bounds",
    );
    breaks(DataRef::list(&len(2, b"x")), "have one length");
    assert!(Message::parse(&[0x0a, 5], "m", &[1]).is_err());
}

#[test]
fn rules_of_schemas() {
    let files = sample();
    // The frame of the schema is the last one before the directory.
    let end = files.directory.len() - 8;
    let len = u32::from_le_bytes(files.directory[end - 4..end].try_into().unwrap()) as usize;
    let directory = &files.directory[end - 8 - len..end - 8];
    let message =
        Message::parse(directory, "ShardDirectory", &(1..=10).collect::<Vec<_>>()).unwrap();
    let place = message.reference(1).unwrap().unwrap();
    let good = frame(&files.directory, &place).unwrap().to_vec();
    schema::parse(&good).unwrap();
    let mut rules = std::collections::BTreeSet::new();
    for at in 0..good.len() {
        for flip in [1, 2, 4, 0x80] {
            let mut bytes = good.clone();
            bytes[at] ^= flip;
            let parsed = std::panic::catch_unwind(|| schema::parse(&bytes));
            if let Ok(Err(error)) = parsed {
                rules.extend(error.split(['[', ']']).nth(1).map(str::to_owned));
            }
        }
    }
    let expected = [
        "the root table stores field_lookup in slot 2",
        "schema_id_count is the number of nodes",
        "ids are given depth first, parents before children",
        "slot 2 is the id of the parent node",
        "required slots are stored",
        "only integers are signed",
        "a bucket has the names of its hash",
        "a lookup has a power of two buckets, half the names",
        "fixed_size is 16 of a Guid, and the bytes of a fixed-size binary",
        "lists have one child, maps two, leaves none",
    ];
    for rule in expected {
        assert!(rules.contains(rule), "nothing breaks [{rule}]: {rules:#?}");
    }
}

#[test]
fn rules_of_types() {
    let check = |node: &Node| schema::types_are_ones_that_it_reads(node);
    let with = |children| Node {
        children,
        ..node(STRUCT)
    };
    check(&with(vec![node(STRING)])).unwrap();
    breaks(check(&with(Vec::new())), "structs have members");
    breaks(check(&with(vec![with(Vec::new())])), "structs have members");
    breaks(check(&with(vec![node(0)])), "no Unit");
}
