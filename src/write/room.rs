//! How much a stripe can still take of dictionaries that come with their values.

use super::codes::{EntryType, Used};
use super::plan::FieldPlan;
use crate::column::{Chunk, Values};
use std::sync::Arc;

/// What the dictionary of a field may have come to at most. It is known without the field, which may
/// be behind.
#[derive(Debug)]
pub(super) struct DictionaryRoom {
    entry: EntryType,
    /// Whether the field keeps a dictionary that comes with the values.
    is_kept: bool,
    /// Entries that the keys of the Arrow type can tell apart.
    most_entries: usize,
    /// Entries and bytes that the dictionary had when the field was asked, and at most those given
    /// since.
    used: Used,
    /// What was given last, which brings less when it comes again.
    last: Option<Given>,
    /// The entries whose memory was counted last, also by the stripe before.
    counted: Option<Arc<Chunk<Values>>>,
}

/// Entries, and the positions that have named some of them.
#[derive(Debug)]
struct Given {
    entries: Arc<Chunk<Values>>,
    positions: usize,
}

impl Given {
    /// At most as many of the entries are named.
    fn named(&self) -> usize {
        self.positions.min(self.entries.len)
    }
}

impl DictionaryRoom {
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

    /// The room of the next stripe.
    pub(super) fn next(&self) -> Self {
        Self {
            used: Used::default(),
            last: None,
            counted: self.counted.clone(),
            ..*self
        }
    }

    /// What was given last with `positions` more, if it was these entries.
    fn again(&self, entries: &Chunk<Values>, positions: usize) -> Option<Given> {
        let last = self.last.as_ref()?;
        last.entries.is_same_memory(entries).then(|| Given {
            entries: Arc::clone(&last.entries),
            positions: last.positions.saturating_add(positions),
        })
    }

    /// The most that the dictionary can have with a chunk of so many positions, and what has been
    /// given last then.
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

    pub(super) fn surely_holds(&self, chunk: &Chunk<Values>) -> bool {
        let Values::Dictionary { entries, .. } = &chunk.values else {
            return true;
        };
        if !self.is_kept {
            return true;
        }
        if self.entry.ordered {
            // All entries are kept, in their order, so that no others go with them.
            return self.again(entries, chunk.len).is_some();
        }
        let (used, _) = self.with(entries, chunk.len);
        used.entries <= self.most_entries && used.bytes <= self.entry.most_bytes
    }

    /// Takes note of what the field tells. Of the entries given last it may have but some.
    pub(super) fn correct(&mut self, used: Used) {
        self.used = used;
        self.last = None;
    }

    /// Takes note of a chunk, and gives the bytes of its entries unless they were given last: a batch
    /// keeps all of them in memory, also those that it has no position of.
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
    use super::super::options::WriterOptions;
    use super::super::schema::{field_plans, shard_schema};
    use super::super::stored_columns::StoredColumns;
    use super::*;
    use arrow_buffer::Buffer;
    use arrow_schema::{DataType, Field, Schema};

    /// The room of a column of numbers with keys of 8 bits.
    fn room(is_ordered: bool) -> DictionaryRoom {
        let kind = DataType::Dictionary(DataType::Int8.into(), DataType::Int32.into());
        #[expect(deprecated, reason = "nothing else keeps the order")]
        let column = Field::new_dict("a", kind, true, 0, is_ordered);
        let schema = Arc::new(Schema::new(vec![column]));
        let options = WriterOptions::default();
        let columns = StoredColumns::try_new(&schema, &options).unwrap();
        let stored = shard_schema(&columns, &options).unwrap();
        DictionaryRoom::new(&field_plans(&columns, &stored, &options).unwrap()[0])
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
        let (mut room, shared) = (room(false), numbers(100));
        let mut bytes = Vec::new();
        for len in [3, 40, 10_000, 65_536] {
            let chunk = coded(len, &shared);
            assert!(room.surely_holds(&chunk), "{len}");
            bytes.push(room.take(&chunk));
        }
        assert_eq!(bytes, [100 * (4 + 4), 0, 0, 0]);
        // They are in memory still when the next stripe begins.
        assert_eq!(room.next().take(&coded(3, &shared)), 0);
        assert!(room.next().take(&coded(3, &numbers(100))) > 0);
        // Others may be 28 more, however many they are.
        assert!(room.surely_holds(&coded(28, &numbers(1000))));
        assert!(!room.surely_holds(&coded(29, &numbers(1000))));
        assert!(!room.surely_holds(&coded(1000, &numbers(29))));
        // What the field has told counts, and what was given last may bring others.
        room.correct(Used {
            entries: 28,
            bytes: 0,
        });
        assert!(room.surely_holds(&coded(1000, &shared)));
        assert!(!room.surely_holds(&coded(1000, &numbers(101))));
    }

    #[test]
    fn ordered_entries_go_with_themselves() {
        let (mut room, shared) = (room(true), numbers(100));
        assert!(!room.surely_holds(&coded(1, &shared)));
        room.take(&coded(1, &shared));
        assert!(room.surely_holds(&coded(1000, &shared)));
        assert!(!room.surely_holds(&coded(1, &numbers(100))));
    }
}
