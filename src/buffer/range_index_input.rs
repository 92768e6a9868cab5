//! Spec: docs/format.md, "Range indexes": writing an index.

use super::BUFFER_ALIGNMENT;
use super::range_index::{RANGE_INDEX_HEADER, VERSIONS};
use crate::encoding::{NumberKind, Word, envelope, number};
use crate::error::Result;
use crate::format::{BasicType, INDEX_BLOCK};

/// Chooses encodings for the entries of an index.
pub trait EntryPlans {
    /// Returns the plan for entries.
    fn plan<W: Word>(&self, entries: &[W], kind: NumberKind) -> number::Plan;
}

/// The entries of a range index to write.
#[derive(Debug, Clone, Copy)]
pub struct RangeIndexInput<'a> {
    /// Type of the field.
    pub basic_type: BasicType,
    /// Whether integers of the field are signed.
    pub signed: bool,
    /// Whether minimums and maximums are stored as numbers, which only this crate reads.
    pub as_numbers: bool,
    /// Number of positions of the field.
    pub positions: u64,
    /// Smallest value of every block, little-endian.
    pub minimums: &'a [u8],
    /// Largest value of every block, little-endian.
    pub maximums: &'a [u8],
    /// Number of values in every block that are null or NaN.
    pub invalid: &'a [u16],
}

impl RangeIndexInput<'_> {
    /// Returns the bytes of the index.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a part exceeds 4 GiB.
    pub fn encode(&self, plans: &impl EntryPlans) -> Result<Vec<u8>> {
        let invalid: Vec<u8> = if self.invalid.iter().all(|&count| count == 0) {
            Vec::new()
        } else {
            self.invalid.iter().flat_map(|n| n.to_le_bytes()).collect()
        };
        let width = self.minimums.len() / self.invalid.len().max(1);
        let (kind, width) = match self.basic_type {
            _ if !self.as_numbers => (NumberKind::Unsigned, 1),
            BasicType::Float32 | BasicType::Float64 => (NumberKind::Float, width),
            BasicType::DateTime => (NumberKind::Unsigned, width),
            _ if self.signed => (NumberKind::Signed, width),
            _ => (NumberKind::Unsigned, width),
        };
        let mut out = Vec::new();
        out.extend_from_slice(&VERSIONS[usize::from(self.as_numbers)].to_le_bytes());
        out.extend_from_slice(&[self.basic_type as u8, 1]);
        out.extend_from_slice(&self.positions.to_le_bytes());
        out.resize(RANGE_INDEX_HEADER, 0);
        out[36..38].copy_from_slice(&INDEX_BLOCK.to_le_bytes()[..2]);
        let parts = [
            (12, self.minimums, width),
            (20, self.maximums, width),
            (28, &invalid, 1),
        ];
        for (at, bytes, width) in parts {
            let start = out.len();
            match width {
                _ if bytes.is_empty() => {}
                2 => write_part::<u16>(bytes, kind, plans, &mut out)?,
                4 => write_part::<u32>(bytes, kind, plans, &mut out)?,
                8 => write_part::<u64>(bytes, kind, plans, &mut out)?,
                _ => write_part::<u8>(bytes, NumberKind::Unsigned, plans, &mut out)?,
            }
            let size = (out.len() - start) as u64;
            out[at..at + 8].copy_from_slice(&size.to_le_bytes());
        }
        out.resize(out.len().next_multiple_of(BUFFER_ALIGNMENT), 0);
        Ok(out)
    }
}

/// Appends one block with entries of `W`, given as little-endian bytes.
fn write_part<W: Word>(
    bytes: &[u8],
    kind: NumberKind,
    plans: &impl EntryPlans,
    out: &mut Vec<u8>,
) -> Result<()> {
    let entries: Vec<W> = W::chunks(bytes).iter().map(|it| W::from_le(*it)).collect();
    let plan = plans.plan(&entries, kind);
    envelope::write(&[], true, out, |out| {
        number::encode(&entries, kind, &plan, out)
    })
}
