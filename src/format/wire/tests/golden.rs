//! Files of the reference: every message decodes, and encodes to the same bytes.

use super::super::{Message, Wire};
use crate::format::*;
use crate::io::ByteRange;
use crate::limits::Limits;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn directory_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            directory_files(&path, found);
        } else if path.to_string_lossy().ends_with(".amudai.shard") {
            found.push(path);
        }
    }
}

/// Returns directory files of the reference, or none if this checkout lacks them.
fn shards() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/golden");
    let mut found = Vec::new();
    for folder in ["shards", "encodings"] {
        let folder = golden.join(folder);
        if folder.is_dir() {
            directory_files(&folder, &mut found);
        } else {
            eprintln!("skipped: there are no golden files in {}", folder.display());
        }
    }
    found.sort();
    found
}

struct Shard {
    path: PathBuf,
    bytes: Vec<u8>,
    checked: BTreeMap<&'static str, usize>,
}

impl Shard {
    fn payload(&self, range: ByteRange) -> &[u8] {
        let range = range.within_size(self.bytes.len() as u64).unwrap();
        open(&self.bytes[range.to_usize().unwrap()]).unwrap()
    }

    /// Decodes a message, and compares its encoding with the stored bytes.
    fn message<M: Message>(&mut self, name: &'static str, data_ref: &DataRef) -> M {
        let place = format!("{name} at {} of {}", data_ref.range, self.path.display());
        let payload = self.payload(data_ref.range);
        let message = M::decode(payload, Wire::Reference, &Limits::default())
            .unwrap_or_else(|e| panic!("{place}: {e}"));
        assert_eq!(message.encode(Wire::Reference).unwrap(), payload, "{place}");
        *self.checked.entry(name).or_default() += 1;
        message
    }

    fn check(&mut self) {
        let size = self.bytes.len() as u64;
        assert_eq!(
            FormatVersion::parse(&self.bytes[..8], "header").unwrap(),
            FormatVersion::CURRENT
        );
        let range = DirectoryTail::locate(&self.bytes, size, &Limits::default()).unwrap();
        let wire = ShardDirectory::detect_wire(self.payload(range)).unwrap();
        assert_eq!(wire, Wire::Reference);
        let directory: ShardDirectory = self.message("ShardDirectory", &DataRef::this(range));

        let schema_ref = directory.schema_ref.unwrap();
        let payload = self.payload(schema_ref.range).to_vec();
        let nodes = check_schema(&payload);
        *self.checked.entry("Schema").or_default() += 1;

        if let Some(r) = &directory.properties_ref {
            let _: ShardProperties = self.message("ShardProperties", r);
        }
        let _: UrlList = self.message("UrlList", &directory.url_list_ref.unwrap());
        let fields: DataRefArray = self.message("DataRefArray", &directory.field_list_ref.unwrap());
        assert_eq!(fields.len(), nodes);
        for i in 0..fields.len() {
            if let Some(r) = fields.get(i) {
                let _: FieldDescriptor = self.message("FieldDescriptor", &r);
            }
        }
        let stripes: StripeList = self.message("StripeList", &directory.stripe_list_ref.unwrap());
        assert_eq!(stripes.0.len() as u64, directory.stripe_count);
        for stripe in &stripes.0 {
            if let Some(r) = &stripe.properties_ref {
                let _: StripeProperties = self.message("StripeProperties", r);
            }
            let fields: DataRefArray =
                self.message("DataRefArray", stripe.field_list_ref.as_ref().unwrap());
            for i in 0..fields.len() {
                if let Some(r) = fields.get(i) {
                    let _: StripeFieldDescriptor = self.message("StripeFieldDescriptor", &r);
                }
            }
        }
    }
}

/// Reads a schema, compares its encoding with the stored bytes, and returns the number of its nodes.
fn check_schema(payload: &[u8]) -> usize {
    let limits = Limits::default();
    let reader = SchemaReader::try_new(payload.to_vec().into(), &limits).unwrap();
    assert_eq!(reader.wire(), Wire::Reference);
    let mut schema = Schema {
        fields: (0..reader.len())
            .map(|i| reader.field(i).unwrap())
            .collect(),
    };
    for (i, field) in schema.fields.iter().enumerate() {
        assert_eq!(reader.name(i).unwrap(), field.data_type.name);
        assert_eq!(reader.find(&field.data_type.name).unwrap(), [i]);
    }
    for wire in [Wire::Spec, Wire::Reference] {
        let encoded = schema.encode(wire).unwrap();
        let again = SchemaReader::try_new(encoded.into(), &limits).unwrap();
        assert_eq!(again.wire(), wire);
        assert_eq!(again.node_count().unwrap(), reader.node_count().unwrap());
        for (i, field) in schema.fields.iter().enumerate() {
            assert_eq!(&again.field(i).unwrap(), field);
        }
    }
    let before = schema.clone();
    let count = schema.assign_ids();
    assert_eq!(schema, before, "ids of the reference are depth first");
    assert_eq!(count, reader.node_count().unwrap());
    count as usize
}

#[test]
fn every_message_of_the_reference_comes_back_to_the_byte() {
    let mut totals = BTreeMap::new();
    for path in shards() {
        let bytes = std::fs::read(&path).unwrap();
        let mut shard = Shard {
            path,
            bytes,
            checked: BTreeMap::new(),
        };
        shard.check();
        for (name, n) in shard.checked {
            *totals.entry(name).or_insert(0) += n;
        }
    }
    if let Some(descriptors) = totals.get("StripeFieldDescriptor") {
        assert!(*descriptors > 2000, "{totals:?}");
    }
}
