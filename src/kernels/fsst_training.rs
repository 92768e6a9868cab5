//! Learns FSST symbols from texts.
//!
//! Symbols grow from generation to generation: the texts are compressed with the symbols so far, and the symbols of the
//! next generation are the best ones among those that were used and those that followed each other, joined.

use super::fsst::{ESCAPE, MAX_SYMBOL};
use super::fsst_encoder::{FsstEncoder, SHORTEST_HASHED, slot_of};
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;

/// Generations of symbols. The symbols of the best one are kept. From 5 to 8 generations, URLs become 6 % smaller and
/// lines of a log 2 %, and learning takes 1.6 times as long.
const GENERATIONS: usize = 6;

/// Most symbols of a table.
const MOST: usize = ESCAPE as usize;
/// Codes while learning: symbols, and then the bytes without a symbol.
const CODES: usize = 512;
/// Counts that are looked at together.
const STRETCH: usize = 32;
/// The code of byte 0 without a symbol.
const FIRST_BYTE: usize = 256;

/// Bytes that a symbol takes in a table: the symbol and its length.
const TABLE_ENTRY: f64 = 9.0;

/// Uses of a pair of neighbors below which it is not a candidate.
const MIN_PAIRS: u16 = 2;

/// A symbol of 1 to 8 bytes, the first one lowest. Bytes after it are 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Symbol {
    word: u64,
    len: u8,
}

impl Symbol {
    fn of_byte(byte: u8) -> Self {
        Self {
            word: u64::from(byte),
            len: 1,
        }
    }

    /// Returns the symbol followed by another one, if both fit into a symbol.
    fn join(self, next: Self) -> Option<Self> {
        let len = self.len + next.len;
        (usize::from(len) <= MAX_SYMBOL).then(|| Self {
            word: self.word | next.word << (8 * u32::from(self.len)),
            len,
        })
    }

    /// Returns whether encoders find the symbol: longer ones than a byte must not end with a zero.
    fn is_legal(self) -> bool {
        self.len == 1 || self.word >> (8 * (u32::from(self.len) - 1)) != 0
    }

    /// Returns what a use of the symbol counts. A code for a byte avoids an escape, without which a table for other
    /// texts than the learned ones would be worse; of longer symbols, the byte of the code is lost. The numbers are
    /// those that suit sentences, URLs and logs best, out of a few.
    fn gain(self) -> u64 {
        match u64::from(self.len) {
            1 => 6,
            len => 2 * len - 1,
        }
    }
}

/// How often codes were used, and how often two of them followed each other.
struct Counts {
    /// The symbol of each code.
    symbols: Vec<Symbol>,
    uses: Vec<u32>,
    /// `CODES` counts for each first code. Counting stops at the largest number.
    pairs: Vec<u16>,
    /// Bytes of all codes and escaped bytes.
    size: usize,
}

impl Counts {
    fn new() -> Self {
        Self {
            symbols: Vec::with_capacity(CODES),
            uses: vec![0; CODES],
            pairs: vec![0; CODES * CODES],
            size: 0,
        }
    }

    /// Compresses texts and counts the uses of each code and, if `with_pairs`, of each pair of neighbors.
    fn count(
        &mut self,
        encoder: &FsstEncoder,
        table: &[Symbol],
        texts: &[&[u8]],
        with_pairs: bool,
    ) {
        // The table of pairs is 512 KiB. Only rows of codes that the last count used can have others than zeros.
        let rows = self.pairs.chunks_exact_mut(CODES).zip(&self.uses);
        let used = rows.filter(|(_, uses)| **uses > 0);
        used.for_each(|(row, _)| row.fill(0));
        self.symbols.clear();
        self.symbols.extend(table);
        self.symbols.resize(FIRST_BYTE, Symbol::of_byte(0));
        self.symbols.extend((0..=u8::MAX).map(Symbol::of_byte));
        self.uses.fill(0);
        self.size = 0;
        for text in texts {
            let mut last = None;
            encoder.for_each_code(text, |code, byte| {
                let code = match code {
                    ESCAPE => FIRST_BYTE + usize::from(byte),
                    code => usize::from(code),
                };
                self.size += 1 + code / FIRST_BYTE;
                self.uses[code] += 1;
                // A longer symbol may be worse than its first byte, followed by another symbol.
                let first = FIRST_BYTE + usize::from(byte);
                let is_longer = self.symbols[code].len > 1;
                if is_longer {
                    self.uses[first] += 1;
                }
                if with_pairs && let Some(last) = last {
                    let row = &mut self.pairs[last * CODES..(last + 1) * CODES];
                    row[code] = row[code].saturating_add(1);
                    if is_longer {
                        row[first] = row[first].saturating_add(1);
                    }
                }
                last = Some(code);
            });
        }
    }

    /// Returns the best symbols for the next generation.
    fn best(&self, with_pairs: bool) -> Vec<Symbol> {
        let mut gains: HashMap<Symbol, u64> = HashMap::new();
        let mut add = |symbol: Symbol, count: u32| {
            if symbol.is_legal() {
                *gains.entry(symbol).or_default() += symbol.gain() * u64::from(count);
            }
        };
        let used = self.uses.iter().enumerate().filter(|(_, uses)| **uses > 0);
        for (code, &uses) in used {
            let symbol = self.symbols[code];
            add(symbol, uses);
            if !with_pairs || usize::from(symbol.len) == MAX_SYMBOL {
                continue;
            }
            let row = &self.pairs[code * CODES..(code + 1) * CODES];
            let stretches = row.chunks_exact(STRETCH).enumerate();
            // Few codes follow one, so most stretches of counts are zeros.
            let used = stretches.filter(|(_, counts)| counts.iter().fold(0, |a, b| a | b) != 0);
            for (stretch, counts) in used {
                for (next, &pairs) in (stretch * STRETCH..).zip(counts) {
                    if pairs >= MIN_PAIRS
                        && let Some(joined) = symbol.join(self.symbols[next])
                    {
                        add(joined, pairs.into());
                    }
                }
            }
        }
        let mut candidates: Vec<(Symbol, u64)> = gains.into_iter().collect();
        // Ties are broken by the symbol, so that learning is deterministic.
        candidates.sort_unstable_by_key(|(symbol, gain)| Reverse((*gain, symbol.len, symbol.word)));
        let mut slots = HashSet::new();
        let has_slot = |symbol: &Symbol| {
            usize::from(symbol.len) < SHORTEST_HASHED || slots.insert(slot_of(symbol.word))
        };
        let symbols = candidates.into_iter().map(|(symbol, _)| symbol);
        symbols.filter(has_slot).take(MOST).collect()
    }

    /// Returns the symbols of the table that save more than they take in it. The texts of a table have `scale` times
    /// the bytes of these.
    fn worth_storing(&self, table: &[Symbol], scale: f32) -> Vec<Symbol> {
        let saves = |(symbol, uses): &(&Symbol, &u32)| {
            // Without a symbol, a byte takes two, and a longer symbol a byte for each of its own.
            let saved = f64::from(symbol.len.max(2) - 1) * f64::from(**uses);
            saved * f64::from(scale) > TABLE_ENTRY
        };
        let all = table.iter().zip(&self.uses);
        all.filter(saves).map(|(symbol, _)| *symbol).collect()
    }
}

fn encoder_of(table: &[Symbol]) -> FsstEncoder {
    let words = table.iter().map(|symbol| symbol.word.to_le_bytes());
    let lengths = table.iter().map(|symbol| symbol.len);
    FsstEncoder::new(words.collect(), lengths.collect())
}

/// Learns up to 255 symbols from a sample of texts. The texts that a table serves have `scale` times the bytes of the
/// sample; symbols that take more space in the table than they save there are left out.
pub(crate) fn learn_symbols(sample: &[&[u8]], scale: f32) -> FsstEncoder {
    let mut counts = Counts::new();
    let mut table = Vec::new();
    let mut best = (usize::MAX, Vec::new());
    for generation in 0..=GENERATIONS {
        // The last generations only select from the symbols of the one before.
        let with_pairs = generation + 2 < GENERATIONS;
        counts.count(&encoder_of(&table), &table, sample, with_pairs);
        if counts.size < best.0 {
            best = (counts.size, counts.worth_storing(&table, scale));
        }
        table = counts.best(with_pairs);
    }
    encoder_of(&best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_stretches_become_symbols() {
        // Miri takes half an hour for all of them.
        let count = if cfg!(miri) { 30 } else { 500 };
        let texts: Vec<String> = (0..count)
            .map(|i| format!("https://example.org/{}", i * 7919 % 1000))
            .collect();
        let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let encoder = learn_symbols(&texts, 1e3);
        let bytes = texts.concat();
        // 20 bytes of every text are the same, and three digits follow. A few texts do not teach all of that.
        let most = if cfg!(miri) { 12 } else { 6 };
        assert!(encoder.compressed_len(&bytes) < most * texts.len());
        let again = learn_symbols(&texts, 1e3);
        assert_eq!(encoder.symbols(), again.symbols());
        assert_eq!(encoder.lengths(), again.lengths());
    }

    #[test]
    fn symbols_that_do_not_pay_are_left_out_of_small_tables() {
        let text = b"the quick brown fox".as_slice();
        assert!(learn_symbols(&[text], 1.0).symbols().is_empty());
        let texts = [text; 40];
        let few = learn_symbols(&texts, 1.0).symbols().len();
        assert!((1..20).contains(&few), "{few}");
        assert!(learn_symbols(&[], 1.0).symbols().is_empty());
        assert!(learn_symbols(&[b"".as_slice()], 1e3).symbols().is_empty());
    }
}
