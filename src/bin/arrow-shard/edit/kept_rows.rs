//! Finds the rows with the key of another row, in little memory.

use super::keys::Key;
use crate::failure::Failure;
use crate::temporary;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};

/// Number of keys in memory at once, which take about 140 MB.
const KEYS: usize = 2_000_000;
/// Largest number of temporary files.
const MAX_FILES: usize = 128;
/// Bytes of a row in a temporary file: the key, and the number of the row.
const ROW_BYTES: usize = 24;

/// The rows that stay, by key. Once there are many keys, rows with another key wait in temporary files: all rows with
/// the same key in the same file.
pub(super) struct KeptRows {
    keeps_last: bool,
    /// Number of rows that have not been met.
    remaining: u64,
    /// Number of keys that may be in memory.
    capacity: usize,
    known: HashMap<Key, u64>,
    files: Vec<BufWriter<File>>,
}

impl KeptRows {
    /// Returns an empty set for a shard of this many rows. The first row with a key stays, or the last one.
    pub(super) fn new(rows: u64, keeps_last: bool) -> Self {
        Self {
            keeps_last,
            remaining: rows,
            capacity: KEYS,
            known: HashMap::new(),
            files: Vec::new(),
        }
    }

    /// Adds the next row. Returns the number of a row that another one replaces.
    pub(super) fn meet(&mut self, row: u64, key: Key) -> Result<Option<u64>, Failure> {
        self.remaining = self.remaining.saturating_sub(1);
        let is_full = self.known.len() >= self.capacity;
        if !is_full || self.known.contains_key(&key) {
            return Ok(self.replaced(row, key));
        }
        let failed = |e: std::io::Error| Failure::from(e).within(temporary::place());
        if self.files.is_empty() {
            let remaining = usize::try_from(self.remaining).unwrap_or(usize::MAX);
            let count = remaining / self.capacity + 1;
            let files = (0..count.min(MAX_FILES)).map(|_| tempfile::tempfile());
            let files = files.map(|file| file.map(BufWriter::new));
            self.files = files.collect::<Result<_, _>>().map_err(failed)?;
        }
        let file = (key % self.files.len().max(1) as u128) as usize;
        if let Some(file) = self.files.get_mut(file) {
            file.write_all(&key.to_le_bytes()).map_err(failed)?;
            file.write_all(&row.to_le_bytes()).map_err(failed)?;
        }
        Ok(None)
    }

    fn replaced(&mut self, row: u64, key: Key) -> Option<u64> {
        let kept = self.known.entry(key).or_insert(row);
        if *kept == row {
            None
        } else if self.keeps_last {
            Some(std::mem::replace(kept, row))
        } else {
            Some(row)
        }
    }

    /// Passes the remaining rows that others replace to `replaced`.
    pub(super) fn finish(
        mut self,
        mut replaced: impl FnMut(u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for file in std::mem::take(&mut self.files) {
            self.known.clear();
            let failed = |e: std::io::Error| Failure::from(e).within(temporary::place());
            let mut file = file.into_inner().map_err(|e| failed(e.into_error()))?;
            let rows = file.stream_position().map_err(failed)? / ROW_BYTES as u64;
            file.rewind().map_err(failed)?;
            let mut file = BufReader::with_capacity(1 << 16, file);
            for _ in 0..rows {
                let (mut key, mut row) = ([0; 16], [0; 8]);
                file.read_exact(&mut key).map_err(failed)?;
                file.read_exact(&mut row).map_err(failed)?;
                let (key, row) = (Key::from_le_bytes(key), u64::from_le_bytes(row));
                if let Some(row) = self.replaced(row, key) {
                    replaced(row)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_row_of_each_key_stays(
            keys in prop::collection::vec(0..60_u64, 0..300),
            capacity in 1..80_usize,
            keeps_last: bool,
        ) {
            let mut kept = KeptRows::new(keys.len() as u64, keeps_last);
            kept.capacity = capacity;
            let mut replaced = Vec::new();
            for (row, key) in (0..).zip(&keys) {
                let key = xxhash_rust::xxh3::xxh3_128(&key.to_le_bytes());
                replaced.extend(kept.meet(row, key).unwrap());
            }
            kept.finish(|row| {
                replaced.push(row);
                Ok(())
            }).unwrap();
            replaced.sort_unstable();
            let is_kept = |row: &usize| {
                let others = if keeps_last { &keys[row + 1..] } else { &keys[..*row] };
                !others.contains(&keys[*row])
            };
            let want: Vec<u64> = (0..keys.len()).filter(|row| !is_kept(row)).map(|row| row as u64).collect();
            prop_assert_eq!(replaced, want);
        }
    }
}
