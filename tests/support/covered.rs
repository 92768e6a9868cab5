//! Finds the bytes that the checksums of a shard cover, to repair checksums after damage.

use arrow_shard::buffer::{BlockMap, ChecksumTable, CoveredPart};
use arrow_shard::format::{
    BufferKind, DataEncoding, DataRef, DataRefArray, EncodedBuffer, Message, StripeFieldDescriptor,
    StripeList, Wire, checksum,
};
use arrow_shard::{Limits, Shard};
use std::ops::Range;

/// A range of a file, and the place of its checksum.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Covered {
    pub(crate) name: String,
    pub(crate) file: usize,
    pub(crate) bytes: Range<usize>,
    /// File and position.
    checksum: (usize, usize),
    /// The place where the field's descriptor repeats the checksum.
    repeated: Option<(usize, usize)>,
}

impl Covered {
    /// Repairs the checksum of `region`, and the checksums that cover it.
    pub(crate) fn mend(regions: &[Self], region: &Self, files: &mut [(String, Vec<u8>)]) {
        let mut region = region;
        loop {
            let sum = checksum(&files[region.file].1[region.bytes.clone()]);
            let places = [Some(region.checksum), region.repeated];
            for (file, at) in places.into_iter().flatten() {
                files[file].1[at..at + 4].copy_from_slice(&sum.to_le_bytes());
            }
            let (file, at) = region.repeated.unwrap_or(region.checksum);
            let outer = regions
                .iter()
                .find(|r| r.file == file && r.bytes.contains(&at));
            match outer {
                Some(outer) => region = outer,
                None => return,
            }
        }
    }
}

/// Returns all regions with a checksum in the files of a sound shard.
pub(crate) fn covered(files: &[(String, Vec<u8>)]) -> Vec<Covered> {
    let directory = files
        .iter()
        .position(|(name, _)| name.ends_with(".amudai.shard"))
        .unwrap();
    let shard = Shard::from_bytes(files[directory].1.clone().into()).unwrap();
    let mut walk = Walk {
        files,
        directory,
        wire: shard.wire(),
        found: Vec::new(),
    };
    let end = files[directory].1.len() - 16;
    let len = u32::from_le_bytes(files[directory].1[end + 4..end + 8].try_into().unwrap());
    let start = end - usize::try_from(len).unwrap();
    walk.push("directory", directory, start..end, (directory, end));
    let root = shard.directory();
    let whole = [
        (&root.schema_ref, "schema"),
        (&root.properties_ref, "shard properties"),
        (&root.url_list_ref, "URL list"),
    ];
    for (reference, name) in whole {
        if let Some(reference) = reference {
            walk.frame(name, reference);
        }
    }
    let list: DataRefArray =
        walk.message("shard field list", root.field_list_ref.as_ref().unwrap());
    for mut reference in (0..list.len()).filter_map(|i| list.get(i)) {
        reference.url.clear();
        walk.frame("shard field", &reference);
    }
    let StripeList(stripes) = walk.message("stripe list", root.stripe_list_ref.as_ref().unwrap());
    for stripe in stripes {
        if let Some(properties) = &stripe.properties_ref {
            walk.frame("stripe properties", properties);
        }
        let list: DataRefArray =
            walk.message("field list", stripe.field_list_ref.as_ref().unwrap());
        for reference in (0..list.len()).filter_map(|i| list.get(i)) {
            let field: StripeFieldDescriptor = walk.message("stripe field", &reference);
            let descriptor = walk.found.last().unwrap().clone();
            walk.buffers(&field, &descriptor);
        }
    }
    for (i, region) in walk.found.iter().enumerate() {
        let (file, at) = region.checksum;
        let stored = u32::from_le_bytes(files[file].1[at..at + 4].try_into().unwrap());
        assert_eq!(
            checksum(&files[region.file].1[region.bytes.clone()]),
            stored,
            "{region:?}"
        );
        if let Some((file, at)) = region.repeated {
            assert_eq!(
                files[file].1[at..at + 4],
                stored.to_le_bytes(),
                "{region:?}"
            );
        }
        let same = walk.found[..i].iter().find(|r| {
            r.file == region.file
                && r.bytes.start < region.bytes.end
                && region.bytes.start < r.bytes.end
        });
        assert!(same.is_none(), "{region:?} overlaps {same:?}");
    }
    walk.found
}

struct Walk<'a> {
    files: &'a [(String, Vec<u8>)],
    directory: usize,
    wire: Wire,
    found: Vec<Covered>,
}

impl Walk<'_> {
    fn push(&mut self, name: &str, file: usize, bytes: Range<usize>, checksum: (usize, usize)) {
        self.push_repeated(name, file, bytes, checksum, None);
    }

    fn push_repeated(
        &mut self,
        name: &str,
        file: usize,
        bytes: Range<usize>,
        checksum: (usize, usize),
        repeated: Option<(usize, usize)>,
    ) {
        let covered = Covered {
            name: name.to_owned(),
            file,
            bytes,
            checksum,
            repeated,
        };
        // Encodings of a field may share buffers.
        if !self.found.contains(&covered) {
            self.found.push(covered);
        }
    }

    /// Returns the file and the range of a reference.
    fn resolve(&self, reference: &DataRef) -> (usize, Range<usize>) {
        let file = match reference.url.as_str() {
            "" => self.directory,
            url => self.files.iter().position(|(name, _)| name == url).unwrap(),
        };
        (file, reference.range.to_usize().unwrap())
    }

    fn frame(&mut self, name: &str, reference: &DataRef) {
        let (file, range) = self.resolve(reference);
        self.push(
            name,
            file,
            range.start + 4..range.end - 4,
            (file, range.end - 4),
        );
    }

    fn message<M: Message>(&mut self, name: &str, reference: &DataRef) -> M {
        self.frame(name, reference);
        let frame = self.found.last().unwrap();
        let payload = &self.files[frame.file].1[frame.bytes.clone()];
        M::decode(payload, self.wire, &Limits::default()).unwrap()
    }

    fn buffers(&mut self, field: &StripeFieldDescriptor, descriptor: &Covered) {
        let table = ChecksumTable::from_properties(&field.field.custom_properties).unwrap();
        for (ordinal, encoding) in field.encodings.iter().enumerate() {
            match encoding {
                DataEncoding::Native(native) => {
                    for (i, buffer) in native.buffers.iter().enumerate() {
                        let key = (ordinal, i);
                        self.buffer(buffer, &table, key, descriptor);
                    }
                }
                DataEncoding::Unknown => {}
                DataEncoding::Parquet(files) => {
                    let chunks = files.iter().flat_map(|file| &file.column_chunks);
                    for map in chunks.filter_map(|chunk| chunk.data_page_map.as_ref()) {
                        let (file, range) = self.resolve(map);
                        self.in_descriptor("page map", file, range, descriptor);
                    }
                }
            }
        }
    }

    fn buffer(
        &mut self,
        buffer: &EncodedBuffer,
        table: &ChecksumTable,
        key: (usize, usize),
        descriptor: &Covered,
    ) {
        // The bytes of a packed group's members belong to their struct.
        let Some(reference) = &buffer.buffer else {
            return;
        };
        let (file, range) = self.resolve(reference);
        if range.is_empty() {
            return;
        }
        let repeated = self.repeated(key, descriptor);
        if buffer.kind == BufferKind::ValueDictionary {
            if self.wire == Wire::Spec {
                self.dictionary(file, range, repeated);
            }
            return;
        }
        let name = format!("{:?}", buffer.kind);
        let part = match &buffer.block_map {
            None => CoveredPart::Raw,
            Some(map) => {
                let map = map.range.to_usize().unwrap();
                if buffer.block_checksums {
                    let start = range.start;
                    self.blocks(&format!("{name} block"), file, start, map.clone(), repeated);
                }
                let has_entry = table.find(key.0, key.1, CoveredPart::BlockMap, map.len() as u64);
                if has_entry.unwrap().is_some() {
                    self.in_descriptor(&format!("{name} block map"), file, map, descriptor);
                }
                return;
            }
        };
        if table
            .find(key.0, key.1, part, range.len() as u64)
            .unwrap()
            .is_some()
        {
            self.in_descriptor(&format!("raw {name}"), file, range, descriptor);
        }
    }

    /// Returns the place where a descriptor repeats the checksums of a buffer, if it does.
    fn repeated(
        &self,
        (encoding, buffer): (usize, usize),
        field: &Covered,
    ) -> Option<(usize, usize)> {
        let [encoding, buffer] = [encoding, buffer].map(|n| u16::try_from(n).unwrap());
        let head = [encoding, buffer, 4, 0, 1, 0]
            .map(u16::to_le_bytes)
            .concat();
        let payload = &self.files[field.file].1[field.bytes.clone()];
        let at = payload
            .windows(head.len())
            .position(|bytes| bytes == head)?;
        Some((field.file, field.bytes.start + at + head.len() + 4))
    }

    fn blocks(
        &mut self,
        name: &str,
        file: usize,
        start: usize,
        map: Range<usize>,
        repeated: Option<(usize, usize)>,
    ) {
        let bytes = &self.files[file].1[map.clone()];
        let parsed = BlockMap::parse(bytes, (map.start - start) as u64).unwrap();
        for ordinal in 0..parsed.len() {
            let block = parsed.block(ordinal).unwrap().bytes;
            let [from, to] =
                [block.start, block.end].map(|at| start + usize::try_from(at).unwrap());
            let repeated = repeated.map(|(file, at)| (file, at + 4 * ordinal));
            self.push_repeated(name, file, from..to - 4, (file, to - 4), repeated);
        }
    }

    /// Adds the bytes of one chunk, with its checksum in the field's descriptor.
    fn in_descriptor(
        &mut self,
        name: &str,
        file: usize,
        bytes: Range<usize>,
        descriptor: &Covered,
    ) {
        let sum = checksum(&self.files[file].1[bytes.clone()]).to_le_bytes();
        let payload = &self.files[descriptor.file].1[descriptor.bytes.clone()];
        let places: Vec<usize> = (0..payload.len().saturating_sub(3))
            .filter(|&i| payload[i..i + 4] == sum)
            .collect();
        // Equal bytes have equal checksums. Either place works for one of them; the other one then reports the damage
        // as an error.
        let at = *places.first().unwrap();
        self.push(
            name,
            file,
            bytes,
            (descriptor.file, descriptor.bytes.start + at),
        );
    }

    /// Adds the header and sections of a value dictionary.
    fn dictionary(&mut self, file: usize, range: Range<usize>, repeated: Option<(usize, usize)>) {
        let mut repeated = repeated;
        let mut next = || {
            let place = repeated?;
            repeated = Some((place.0, place.1 + 4));
            Some(place)
        };
        let bytes = self.files[file].1[range.clone()].to_vec();
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let start = range.start;
        self.push_repeated(
            "dictionary header",
            file,
            start + 4..start + 42,
            (file, start + 42),
            next(),
        );
        let mut at = 48;
        for size in [18, 26, 34].map(|at| usize::try_from(u64_at(at)).unwrap()) {
            if size > 0 {
                let len = usize::try_from(u64_at(at)).unwrap();
                let payload = start + at + 8..start + at + 8 + len;
                self.push_repeated(
                    "dictionary section",
                    file,
                    payload,
                    (file, start + at + size - 4),
                    next(),
                );
            }
            at += size;
        }
    }
}
