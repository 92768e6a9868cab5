//! Predicts whether a stripe can take more values of dictionaries that arrive with the rows.

use crate::column::{Chunk, Values};
use crate::write::field::codes::{EntryType, Used};
use crate::write::field::plan::FieldPlan;
use std::sync::Arc;

/// An upper bound for the size of a field's dictionary. It is known without waiting for the field's encoder, which may
/// lag behind.
#[derive(Debug)]
pub(super) struct DictionaryHeadroom {
    entry: EntryType,
    /// Whether the field keeps the dictionary of the incoming values.
    is_kept: bool,
    /// Most entries that the keys of the Arrow type can address.
    most_entries: usize,
    /// Size of the dictionary when the field last reported it, plus an upper bound for the chunks since.
    used: Used,
    /// The entries added last. If they come again, only positions beyond the earlier ones can add entries.
    last: Option<Given>,
    /// The entries counted last as memory, possibly for the previous stripe.
    counted: Option<Arc<Chunk<Values>>>,
}

/// Entries, and the number of positions that refer to them.
#[derive(Debug)]
struct Given {
    entries: Arc<Chunk<Values>>,
    positions: usize,
}

impl Given {
    /// Returns an upper bound for the number of entries in use.
    fn named(&self) -> usize {
        self.positions.min(self.entries.len)
    }
}

impl DictionaryHeadroom {
    pub(super) fn new(plan: &FieldPlan) -> Self {
        Self {
            entry: plan.entry_type(),
            is_kept: plan.keeps_dictionary,
            most_entries: plan.max_entries,
            used: Used::default(),
            last: None,
            counted: None,
        }
    }

    /// Returns the headroom of the next stripe.
    pub(super) fn next(&self) -> Self {
        Self {
            used: Used::default(),
            last: None,
            counted: self.counted.clone(),
            ..*self
        }
    }

    /// Returns the last entries with `positions` added, if `entries` are the same.
    fn again(&self, entries: &Chunk<Values>, positions: usize) -> Option<Given> {
        let last = self.last.as_ref()?;
        last.entries.is_same_memory(entries).then(|| Given {
            entries: Arc::clone(&last.entries),
            positions: last.positions.saturating_add(positions),
        })
    }

    /// Returns the upper bound for the dictionary after a chunk with `positions` positions, and the new last entries.
    fn with(&self, entries: &Arc<Chunk<Values>>, positions: usize) -> (Used, Given) {
        let (before, bytes, given) = match self.again(entries, positions) {
            Some(given) => (self.last.as_ref().map_or(0, Given::named), 0, given),
            None => {
                let bytes = self.entry.size(entries.len, entries.values.leaf_bytes());
                let entries = Arc::clone(entries);
                (0, bytes, Given { entries, positions })
            }
        };
        let more = given.named() - before;
        let used = Used {
            entries: self.used.entries.saturating_add(more),
            bytes: self.used.bytes.saturating_add(bytes),
        };
        (used, given)
    }

    /// Returns whether the dictionary certainly has room for a chunk. If not, only the field's encoder can decide.
    pub(super) fn surely_holds(&self, chunk: &Chunk<Values>) -> bool {
        let Values::Dictionary { entries, .. } = &chunk.values else {
            return true;
        };
        if !self.is_kept {
            return true;
        }
        if self.entry.ordered {
            // All entries are kept, in order, so entries of another dictionary cannot be added.
            return self.again(entries, chunk.len).is_some();
        }
        let (used, _) = self.with(entries, chunk.len);
        used.entries <= self.most_entries && used.bytes <= self.entry.most_bytes
    }

    /// Replaces the bound by the field's report. The field may have kept only some of the last entries.
    pub(super) fn correct(&mut self, used: Used) {
        self.used = used;
        self.last = None;
    }

    /// Adds a chunk to the bound. Returns the bytes of its entries, or 0 if the previous chunk had the same: a batch
    /// keeps all its entries in memory, including unused ones.
    pub(super) fn take(&mut self, chunk: &Chunk<Values>) -> usize {
        let Values::Dictionary { entries, .. } = &chunk.values else {
            return 0;
        };
        let (used, given) = self.with(entries, chunk.len);
        (self.used, self.last) = (used, Some(given));
        match self.counted.replace(Arc::clone(entries)) {
            Some(counted) if counted.is_same_memory(entries) => 0,
            _ => self.entry.size(entries.len, entries.values.leaf_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::schema::plans_of_column;
    use arrow_buffer::Buffer;
    use arrow_schema::{DataType, Field};

    /// Returns the headroom of a column of numbers with 8-bit keys.
    fn headroom(is_ordered: bool) -> DictionaryHeadroom {
        let kind = DataType::Dictionary(DataType::Int8.into(), DataType::Int32.into());
        #[expect(deprecated, reason = "nothing else keeps the order")]
        let column = Field::new_dict("a", kind, true, 0, is_ordered);
        DictionaryHeadroom::new(&plans_of_column(column)[0])
    }

    fn numbers(count: usize) -> Arc<Chunk<Values>> {
        Arc::new(Chunk {
            len: count,
            nulls: None,
            values: Values::Fixed {
                width: 4,
                data: Buffer::from(vec![0u8; 4 * count]),
            },
        })
    }

    fn coded(len: usize, entries: &Arc<Chunk<Values>>) -> Chunk<Values> {
        Chunk {
            len,
            nulls: None,
            values: Values::Dictionary {
                codes: vec![0; len].into(),
                entries: Arc::clone(entries),
            },
        }
    }

    #[test]
    fn entries_that_come_again_take_no_more_room() {
        let (mut headroom, shared) = (headroom(false), numbers(100));
        let mut bytes = Vec::new();
        for len in [3, 40, 10_000, 65_536] {
            let chunk = coded(len, &shared);
            assert!(headroom.surely_holds(&chunk), "{len}");
            bytes.push(headroom.take(&chunk));
        }
        assert_eq!(bytes, [100 * (4 + 4), 0, 0, 0]);
        // They are still in memory when the next stripe begins.
        assert_eq!(headroom.next().take(&coded(3, &shared)), 0);
        assert!(headroom.next().take(&coded(3, &numbers(100))) > 0);
        // Other entries may add at most 28, however many they are.
        assert!(headroom.surely_holds(&coded(28, &numbers(1000))));
        assert!(!headroom.surely_holds(&coded(29, &numbers(1000))));
        assert!(!headroom.surely_holds(&coded(1000, &numbers(29))));
        // The report counts. The entries that came last may add new ones again.
        headroom.correct(Used {
            entries: 28,
            bytes: 0,
        });
        assert!(headroom.surely_holds(&coded(1000, &shared)));
        assert!(!headroom.surely_holds(&coded(1000, &numbers(101))));
    }

    #[test]
    fn ordered_entries_go_with_themselves() {
        let (mut headroom, shared) = (headroom(true), numbers(100));
        assert!(!headroom.surely_holds(&coded(1, &shared)));
        headroom.take(&coded(1, &shared));
        assert!(headroom.surely_holds(&coded(1000, &shared)));
        assert!(!headroom.surely_holds(&coded(1, &numbers(100))));
    }
}
