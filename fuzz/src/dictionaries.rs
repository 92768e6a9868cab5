//! Checks a value dictionary, unchanged or with its checksums repaired: its entries divide its values.
//!
//! Input: u8 whether to mend | buffer

use arrow_shard::buffer::ValueDictionary;
use arrow_shard::encoding::{Context, Scratch};
use arrow_shard::format::{BasicType, checksum};
use bytes::Bytes;

pub fn run(data: &[u8]) {
    let Some((mending, buffer)) = data.split_first() else {
        return;
    };
    let mut buffer = buffer.to_vec();
    match mending % 3 {
        1 => {
            // A field more says that the entries are encoded.
            let end = if buffer.first() == Some(&39) { 43 } else { 42 };
            mend(&mut buffer, 4..end, spec_sections);
        }
        2 => mend(&mut buffer, 0..124, reference_sections),
        _ => {}
    }
    let buffer = Bytes::from(buffer);
    let _ = ValueDictionary::verify_sorted_ids(&buffer);
    let (limits, mut scratch) = (super::limits(), Scratch::default());
    let cx = &mut Context::new(&limits, &mut scratch);
    // The field is one that the header fits.
    let header = if mending % 3 == 2 { 0 } else { 4 };
    let Some(fields) = buffer.get(header..).and_then(|it| it.first_chunk::<14>()) else {
        return;
    };
    let Some(value_type) = BasicType::from_u8(fields[0]) else {
        return;
    };
    let size = u32::from_le_bytes([fields[10], fields[11], fields[12], fields[13]]) as usize;
    let size = Some(size).filter(|size| *size > 0);
    let Ok(dictionary) = ValueDictionary::parse(&buffer, value_type, size, None, cx) else {
        return;
    };
    ValueDictionary::check(&buffer).expect("the checksums of a sound dictionary");
    assert!(dictionary.null_id.is_none_or(|id| id < dictionary.count));
    let is_encoded = buffer.first() == Some(&39);
    assert!(is_encoded || dictionary.values.len() <= buffer.len());
    if let Some(offsets) = &dictionary.offsets {
        assert_eq!(offsets.len(), dictionary.count as usize + 1);
        assert!(offsets[0] == 0 && offsets.is_sorted());
        assert_eq!(offsets.last(), Some(&(dictionary.values.len() as u64)));
    }
}

fn u64_at(buffer: &[u8], at: usize) -> Option<usize> {
    let bytes = buffer.get(at..)?.first_chunk::<8>()?;
    usize::try_from(u64::from_le_bytes(*bytes)).ok()
}

/// Start and size of each section in the header.
type Sections = Vec<Option<(usize, usize)>>;

/// Returns the sections of the spec's form, one after the other after the header.
fn spec_sections(buffer: &[u8]) -> Sections {
    let mut at = Some(48usize);
    [18, 26, 34]
        .map(|field| {
            let size = u64_at(buffer, field)?;
            let start = at?;
            at = start.checked_add(size);
            Some((start, size))
        })
        .to_vec()
}

/// Returns the sections of the reference form, from the ranges in the header.
fn reference_sections(buffer: &[u8]) -> Sections {
    [14, 30, 46]
        .map(|field| {
            let start = u64_at(buffer, field)?;
            Some((start, u64_at(buffer, field + 8)?.checked_sub(start)?))
        })
        .to_vec()
}

fn mend(buffer: &mut [u8], header: std::ops::Range<usize>, sections: fn(&[u8]) -> Sections) {
    let set = |buffer: &mut [u8], bytes: std::ops::Range<usize>, at: usize| {
        let Some(sum) = buffer.get(bytes).map(checksum) else {
            return;
        };
        if let Some(place) = at.checked_add(4).and_then(|end| buffer.get_mut(at..end)) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
    };
    for (start, size) in sections(buffer).into_iter().flatten() {
        let payload = u64_at(buffer, start).and_then(|len| (start + 8).checked_add(len));
        let sum = start.checked_add(size).and_then(|end| end.checked_sub(4));
        if let (Some(end), Some(sum)) = (payload, sum) {
            set(buffer, start + 8..end, sum);
        }
    }
    let at = header.end;
    set(buffer, header, at);
}
