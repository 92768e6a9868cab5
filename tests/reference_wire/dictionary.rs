//! Checks value dictionaries with the header of the reference.

use super::bytes::{
    Check, at, checksum, is_zero, part, rule, size_at, u8_at, u32_at, u64_at, words,
};
use super::schema::Node;

const HEADER: usize = 128;

/// Checks a dictionary of `size` entries, including the null entry. Returns the bytes of each entry, and the number of
/// the null entry.
pub(crate) fn check(buffer: &[u8], node: &Node, size: u64) -> Result<Entries, String> {
    rule(
        buffer.len() >= HEADER,
        "a dictionary begins with a header of 128 bytes",
        || format!("{} bytes", buffer.len()),
    )?;
    rule(
        u32_at(buffer, HEADER - 4)? == checksum(&buffer[..HEADER - 4]),
        "the header ends with its checksum",
        || "another one".to_owned(),
    )?;
    rule(
        is_zero(&buffer[62..HEADER - 4]),
        "bytes 62 to 124 of the header are zero",
        || "others".to_owned(),
    )?;
    rule(
        u8_at(buffer, 0)? == node.basic_type,
        "value_type matches the field",
        || format!("{} of {}", buffer[0], node.basic_type),
    )?;
    let count = size_at(buffer, 1)?;
    rule(
        count as u64 == size,
        "dictionary_size counts the entries",
        || format!("{size} of {count}"),
    )?;
    let (flag, null_id) = (u8_at(buffer, 5)?, size_at(buffer, 6)?);
    let null = match flag {
        0 => {
            rule(null_id == 0, "null_id is 0 without a null entry", || {
                format!("{null_id}")
            })?;
            None
        }
        _ => {
            rule(
                flag == 1 && null_id < count,
                "the null entry is an entry",
                || format!("flag {flag}, id {null_id} of {count}"),
            )?;
            Some(null_id)
        }
    };
    let fixed = size_at(buffer, 10)?;
    rule(
        fixed as u64 == node.fixed_size,
        "fixed_value_size matches the schema",
        || format!("{fixed} of {}", node.fixed_size),
    )?;
    let sections = sections_follow_each_other(buffer)?;
    let values = sections[0].ok_or("no values section")?;
    let ends = match sections[1] {
        Some(offsets) => words(offsets, 8),
        None => (0..=count as u64).map(|i| i * fixed as u64).collect(),
    };
    rule(
        sections[1].is_some() == (fixed == 0),
        "variable sizes have offsets",
        || format!("size {fixed}"),
    )?;
    let divides = ends.len() == count + 1
        && ends.is_sorted()
        && ends.first() == Some(&0)
        && ends.last() == Some(&(values.len() as u64));
    rule(
        divides,
        "offsets divide the values into the entries",
        || format!("{ends:?}"),
    )?;
    let entry = |pair: &[u64]| part(values, pair[0], pair[1]).map(<[u8]>::to_vec);
    let entries = ends.windows(2).map(entry).collect::<Result<Vec<_>, _>>()?;
    if let Some(null) = null {
        rule(
            is_zero(&entries[null]),
            "the null entry is empty, or zeros",
            || format!("{:?}", entries[null]),
        )?;
        let empty = fixed > 0 || entries[null].is_empty();
        rule(empty, "the null entry is empty, or zeros", || {
            "bytes".to_owned()
        })?;
    }
    let entries = Entries { entries, null };
    entries.are_sorted_by(sections[2])?;
    Ok(entries)
}

/// Returns the three sections, which must follow the header and each other, each with its checksum.
fn sections_follow_each_other(buffer: &[u8]) -> Result<[Option<&[u8]>; 3], String> {
    let mut sections = [None; 3];
    let mut end = HEADER as u64;
    for (i, section) in sections.iter_mut().enumerate() {
        let (start, stop) = (u64_at(buffer, 14 + 16 * i)?, u64_at(buffer, 22 + 16 * i)?);
        rule(start == end, "sections follow each other", || {
            format!("section {i} at {start}, not {end}")
        })?;
        end = stop;
        if stop > start {
            *section = Some(at(payload(part(buffer, start, stop)?), || {
                format!("section {i}")
            })?);
        }
    }
    let padded = buffer.len() as u64 == end.next_multiple_of(64);
    let rest = part(buffer, end, buffer.len() as u64)?;
    rule(
        padded && is_zero(rest),
        "a dictionary is padded with zeros to 64",
        || format!("{end} of {} bytes", buffer.len()),
    )?;
    Ok(sections)
}

fn payload(section: &[u8]) -> Result<&[u8], String> {
    let len = usize::try_from(u64_at(section, 0)?).unwrap();
    rule(
        section.len() == (8 + len + 64 + 4).next_multiple_of(16),
        "a section is its payload, 64 bytes, and padding to a multiple of 16",
        || format!("{len} in {} bytes", section.len()),
    )?;
    let payload = &section[8..8 + len];
    let end = section.len() - 4;
    rule(is_zero(&section[8 + len..end]), "padding is zero", || {
        "behind the payload".to_owned()
    })?;
    rule(
        u32_at(section, end)? == checksum(payload),
        "a section ends with the checksum of its payload",
        || "another one".to_owned(),
    )?;
    Ok(payload)
}

/// The entries of a dictionary.
#[derive(Debug)]
pub(crate) struct Entries {
    pub(crate) entries: Vec<Vec<u8>>,
    pub(crate) null: Option<usize>,
}

impl Entries {
    fn values(&self) -> impl Iterator<Item = (usize, &Vec<u8>)> {
        let entries = self.entries.iter().enumerate();
        entries.filter(|(id, _)| Some(*id) != self.null)
    }

    fn are_sorted_by(&self, ids: Option<&[u8]>) -> Check {
        let Some(ids) = ids else { return Ok(()) };
        let mut expected: Vec<(&Vec<u8>, usize)> =
            self.values().map(|(id, value)| (value, id)).collect();
        expected.sort();
        let expected: Vec<u64> = expected.iter().map(|(_, id)| *id as u64).collect();
        rule(
            words(ids, 4) == expected,
            "sorted ids are in the order of the values, without null",
            || format!("{expected:?}"),
        )
    }
}
