//! Decides whether a stripe field gets a value dictionary: tries it window by window, and gives up once it no longer
//! saves anything.

use super::codes::{Codes, EntryType, NULL};
use super::encoded_entries::{MAX_BYTES, MAX_ENCODED, StoredEntries};
use super::entry_growth::EntryGrowth;
use super::finished_leaf::FinishedLeaf;
use super::interner::Interner;
use super::number_blocks::NumberWindow;
use super::recent_bytes::RecentBytes;
use crate::encoding::{NumberKind, Word};
use crate::error::Result;
use crate::format::WINDOW_ROWS;
use crate::write::choose::candidate::Candidate;
use crate::write::choose::settings::Settings;
use crate::write::choose::{self, Choice, Weighed};
use arrow_buffer::ArrowNativeType;
use std::fmt::Display;

/// Values between checks whether a window can still pay.
const STRIDE: usize = 1024;
/// Slots of the cache of recent numbers, which avoids lookups in the table of entries.
const SEEN: usize = 1024;
/// Slots of the cache of recent byte strings, which avoids lookups in the table of entries.
const SEEN_BYTES: usize = 256;
/// Most windows in a row, while the dictionary pays, that reuse the last estimate of the alternative.
const UNWEIGHED: u32 = 7;
/// An odd number with random-looking bits: the highest bits of its product with a key are a hash.
const SCATTER: u64 = 0x9E37_79B9_7F4A_7C15;
/// A dictionary of numbers may cost at most this share of an alternative that unpacks numbers, because gathering them
/// is expensive compared to unpacking. Where it is compared to another dictionary, or to a slower encoding, it may cost
/// as much.
const MAX_NUMBER_COST: f64 = 0.8;
/// The cost that a dictionary may have in a full first window, relative to the alternative.
const FIRST_WINDOW: f64 = 1.2;
/// A dictionary of numbers is tried only if the first window has at least this many numbers.
const MIN_NUMBERS: usize = 4096;
/// Bytes of a dictionary in addition to its entries: header, padding, entry in the descriptor.
const OVERHEAD: f64 = 256.0;
/// Positions that a stripe is expected to have: the default of a writer. If it has fewer, the dictionary is judged
/// again at its end.
const EXPECTED: usize = 1 << 20;
/// Fewest positions from which the number of entries in the stripe is predicted.
const MIN_PREDICTED: usize = WINDOW_ROWS / 4;
/// Fewest entries that are encoded to measure their size, and most.
const MIN_ENCODED: usize = 512;
const TRIED_ENTRIES: usize = 4096;
/// Values per entry from which encoded entries count as small as they are.
const SHARED: f64 = 8.0;
/// The predicted cost that a dictionary may have, relative to the alternative, before a window ends.
const UNFINISHED: f64 = 1.5;

/// The trial of a value dictionary, window by window. It is off for fields that get none, and once it is given up.
#[derive(Debug)]
pub(super) struct DictionaryTrial(Option<TrialWindows>);

/// The answer to the offer of a window.
pub(super) enum Offer<P> {
    /// The dictionary has taken the window.
    Taken,
    /// The window is to be encoded with this plan, after the earlier windows if the dictionary has just been given up.
    Declined(Choice<P>, Option<Codes>),
}

impl DictionaryTrial {
    /// Begins a trial with entries of this type, or none.
    pub(super) fn new(entry: Option<EntryType>) -> Self {
        Self(entry.map(TrialWindows::new))
    }

    /// Offers a window to the dictionary. `add` adds it, compared to its cost without the dictionary, and returns
    /// whether the dictionary still pays. `choose` returns the best encoding without it.
    ///
    /// # Errors
    /// Returns the errors of `add` and `choose`.
    pub(super) fn offer<P>(
        &mut self,
        settings: &Settings,
        add: impl Fn(&mut TrialWindows, Alternative) -> Result<bool>,
        choose: impl FnOnce() -> Result<Choice<P>>,
    ) -> Result<Offer<P>> {
        if let Some(windows) = &mut self.0
            && let Some(known) = windows.known_alternative(settings)
            && add(windows, known)?
        {
            return Ok(Offer::Taken);
        }
        let choice = choose()?;
        if let Some(windows) = &mut self.0 {
            let alternative = windows.alternative_of(choice.cost, choice.nanoseconds, settings);
            windows.weighed = Some((alternative, 0));
            if add(windows, alternative)? {
                return Ok(Offer::Taken);
            }
        }
        let earlier = self.0.take().map(|windows| windows.codes);
        Ok(Offer::Declined(choice, earlier))
    }

    /// Returns the candidate encodings of a window: the given ones, and a dictionary of this window alone if it may
    /// have one. `add` adds the window to the dictionary.
    ///
    /// # Errors
    /// Returns the errors of `add`.
    pub(super) fn candidates<P: Display>(
        &self,
        weighed: Vec<Weighed<P>>,
        settings: &Settings,
        add: impl FnOnce(&mut TrialWindows, Alternative) -> Result<bool>,
    ) -> Result<Vec<Candidate>> {
        let least = weighed.iter().min_by(|a, b| a.cost.total_cmp(&b.cost));
        let nanoseconds = least.map_or(0.0, |least| least.nanoseconds);
        let mut candidates: Vec<Candidate> = weighed.into_iter().map(Candidate::from).collect();
        if let Some(windows) = &self.0 {
            let mut windows = TrialWindows::new(windows.entry);
            let any = windows.alternative_of(f64::INFINITY, nanoseconds, settings);
            if add(&mut windows, any)? {
                candidates.push(windows.weighed(any.share, settings).into());
            }
        }
        Ok(candidates)
    }

    /// Gives up a dictionary that does not pay with the entries and positions that the stripe has. Returns the codes of
    /// its windows, which are then encoded without it.
    pub(super) fn give_up_unpaid(&mut self, settings: &Settings) -> Option<Codes> {
        let windows = self.0.take_if(|windows| !windows.has_paid(settings))?;
        Some(windows.codes)
    }

    /// Returns the memory size in bytes.
    pub(super) fn memory_size(&self) -> usize {
        let codes = self.0.as_ref().map(|windows| &windows.codes);
        codes.map_or(0, Codes::memory_size)
    }

    /// Returns the encoded codes and their dictionary, or `None` if no window is kept for a dictionary.
    pub(super) fn finish(self, settings: Settings) -> Result<Option<FinishedLeaf>> {
        let Some(windows) = self.0.filter(|windows| !windows.codes.codes().is_empty()) else {
            return Ok(None);
        };
        let (buffers, entries) = windows.codes.finish(windows.entry, settings)?;
        Ok(Some(FinishedLeaf::with_entries(buffers, entries)))
    }
}

/// The best encoding of a window without a dictionary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alternative {
    /// Its cost per value.
    per_value: f64,
    /// The share of it that a dictionary may cost.
    share: f64,
}

/// The codes of the windows so far, as long as the dictionary pays.
#[derive(Debug)]
pub(super) struct TrialWindows {
    codes: Codes,
    entry: EntryType,
    /// Estimated cost of the windows so far without a dictionary.
    alternative: f64,
    /// The cost that a dictionary may have for them.
    budget: f64,
    /// Cost of the codes of the windows so far.
    of_codes: f64,
    /// Cost per code at the last estimate, and the number of windows since.
    code_weighed: Option<(f64, u32)>,
    growth: EntryGrowth,
    /// The share of their bytes that the entries take encoded, and the number of entries when it was measured.
    encoded: (f64, usize),
    /// The last estimate without a dictionary, and the number of windows since.
    weighed: Option<(Alternative, u32)>,
}

impl TrialWindows {
    fn new(entry: EntryType) -> Self {
        Self {
            codes: Codes::default(),
            entry,
            alternative: 0.0,
            budget: 0.0,
            of_codes: 0.0,
            code_weighed: None,
            growth: EntryGrowth::default(),
            encoded: (1.0, 0),
            weighed: None,
        }
    }

    /// Returns the last estimate without a dictionary, if the dictionary pays and the estimate is recent. The encoding
    /// of codes is still chosen window by window, so little is lost if the values change.
    fn known_alternative(&mut self, settings: &Settings) -> Option<Alternative> {
        let pays = self.pays(settings);
        let (known, since) = self.weighed.as_mut()?;
        let is_known = *since < UNWEIGHED && pays;
        *since += 1;
        is_known.then_some(*known)
    }

    /// Adds a window of numbers, see [`add`](Self::add).
    pub(super) fn add_numbers<W: Word>(
        &mut self,
        window: NumberWindow<'_, W>,
        alternative: Alternative,
        settings: &Settings,
    ) -> Result<bool> {
        // Most numbers occurred shortly before.
        let mut seen = [(W::ZERO, NULL); SEEN];
        let code = |entries: &mut Interner, i: usize| {
            let is_missing = window.present.is_some_and(|present| !present.value(i));
            if i < window.leading || is_missing {
                return Ok(NULL);
            }
            let value = window.values[i];
            let hash = value.to_u64().wrapping_mul(SCATTER) >> (64 - SEEN.ilog2());
            let (number, code) = &mut seen[hash.as_usize()];
            if *number != value || *code == NULL {
                (*number, *code) = (value, entries.intern(value.to_le().as_ref())?);
            }
            Ok(*code)
        };
        let len = window.values.len();
        self.add(len, code, alternative, settings)
    }

    /// Adds a window of `len` byte strings, `None` for nulls, see [`add`](Self::add).
    pub(super) fn add_bytes<'a>(
        &mut self,
        len: usize,
        value: impl Fn(usize) -> Option<&'a [u8]>,
        alternative: Alternative,
        settings: &Settings,
    ) -> Result<bool> {
        let mut seen = [RecentBytes::NONE; SEEN_BYTES];
        let code = |entries: &mut Interner, i: usize| {
            let Some(value) = value(i) else {
                return Ok(NULL);
            };
            let (ends, len) = (RecentBytes::ends(value), value.len());
            let key = ends.0.rotate_left(32) ^ ends.1 ^ len as u64;
            let hash = key.wrapping_mul(SCATTER) >> (64 - SEEN_BYTES.ilog2());
            let last = &mut seen[hash.as_usize()];
            let alike = last.ends == ends && last.len == len && last.code != NULL;
            if !(alike && (len <= 16 || entries.entry(last.code) == value)) {
                let code = entries.intern(value)?;
                *last = RecentBytes { ends, len, code };
            }
            Ok(last.code)
        };
        self.add(len, code, alternative, settings)
    }

    /// Adds a window of `len` values. `code` returns the code of a value, [`NULL`] at null positions. Returns whether
    /// the dictionary still pays; if not, the window is not added, and the caller stores the values without a
    /// dictionary.
    ///
    /// # Errors
    /// Returns the errors of `code`.
    fn add(
        &mut self,
        len: usize,
        mut code: impl FnMut(&mut Interner, usize) -> Result<u32>,
        alternative: Alternative,
        settings: &Settings,
    ) -> Result<bool> {
        let before = self.codes.codes().len();
        let entries_before = self.codes.entries().len();
        let is_number = self.entry.kind.is_some();
        if is_number && before == 0 && len < MIN_NUMBERS {
            return Ok(false);
        }
        // Later windows will share the entries of the first, so it may cost more.
        let sharing = if before == 0 && len == WINDOW_ROWS && !predicts(settings) {
            FIRST_WINDOW
        } else {
            1.0
        };
        let total = self.alternative + alternative.per_value * len as f64;
        let whole = self.budget + alternative.per_value * alternative.share * len as f64;
        let budget = whole * sharing;
        for start in (0..len).step_by(STRIDE) {
            for i in start..len.min(start + STRIDE) {
                let code = code(self.codes.entries_mut(), i)?;
                self.codes.push(code);
            }
            self.growth
                .note(self.codes.codes().len(), self.codes.entries().len());
            // If nearly every value so far is new, most later ones will be new too.
            let taken = start + STRIDE;
            let hopeless = (is_number || predicts(settings))
                && taken == MIN_NUMBERS
                && self.codes.entries().len() - entries_before > MIN_NUMBERS * 7 / 8;
            let too_large = self.codes.used(self.entry).bytes > self.entry.most_bytes;
            let too_costly = if predicts(settings) {
                // The growth of the entries shows in many values.
                let is_judged = taken >= MIN_PREDICTED && taken.is_power_of_two();
                if is_judged {
                    self.encode_entries(settings)?;
                }
                is_judged
                    && self.predicted(self.of_codes, before + len, settings)
                        > UNFINISHED * budget / (before + len) as f64
            } else {
                self.cost(before + len, settings) + self.of_codes > budget
            };
            if hopeless || too_large || too_costly {
                self.truncate(before);
                return Ok(false);
            }
        }
        let of_codes = self.of_codes + self.cost_of_codes(before, settings);
        let positions = before + len;
        if predicts(settings) && positions >= MIN_PREDICTED {
            // Windows of long texts have fewer values than the trials above wait for.
            self.encode_entries(settings)?;
        }
        let is_too_much = if predicts(settings) && positions >= MIN_PREDICTED {
            self.predicted(of_codes, positions, settings) > budget / positions as f64
        } else {
            self.cost(positions, settings) + of_codes > budget
        };
        if is_too_much {
            self.truncate(before);
            return Ok(false);
        }
        (self.alternative, self.budget) = (total, whole);
        self.of_codes = of_codes;
        Ok(true)
    }

    /// Measures how small the entries become, if there are many more than when it was last measured.
    fn encode_entries(&mut self, settings: &Settings) -> Result<()> {
        let entries = self.codes.entries();
        if entries.len() < (2 * self.encoded.1).max(MIN_ENCODED) {
            return Ok(());
        }
        let (mut values, mut offsets) = (Vec::new(), vec![0]);
        for entry in entries.iter().take(TRIED_ENTRIES) {
            if values.len() + entry.len() > MAX_BYTES {
                break;
            }
            values.extend_from_slice(entry);
            offsets.push(values.len() as u64);
        }
        let share = StoredEntries::new(self.entry, &values, &offsets).share(settings)?;
        self.encoded = (share, entries.len());
        Ok(())
    }

    /// Returns the size of a dictionary of `entries` entries like those so far, for `positions` values.
    fn entries_size(&self, entries: f64, positions: usize) -> f64 {
        let now = self.codes.entries().len().max(1) as f64;
        let stored = self.codes.used(self.entry).bytes as f64 * entries / now;
        // A reader of one row reads all entries, so that most values must share theirs with others.
        let codes = self.codes.codes().len().max(1);
        let present = (codes - self.codes.nulls()) as f64 / codes as f64;
        let is_shared = entries * SHARED <= present * positions as f64;
        let bytes = self.codes.entries().byte_len() as f64 * entries / now;
        let is_shared = is_shared && entries <= MAX_ENCODED as f64 && bytes <= MAX_BYTES as f64;
        if is_shared {
            stored * self.encoded.0
        } else {
            stored
        }
    }

    /// Drops all positions from `len` on; entries stay.
    fn truncate(&mut self, len: usize) {
        self.codes.truncate(len);
        self.growth.truncate(len);
    }

    /// Returns whether the dictionary is expected to pay in a whole stripe.
    fn pays(&self, settings: &Settings) -> bool {
        let positions = self.codes.codes().len();
        if predicts(settings) && positions >= MIN_PREDICTED {
            let predicted = self.predicted(self.of_codes, positions, settings);
            return predicted * (positions as f64) < self.alternative;
        }
        self.cost(positions, settings) + self.of_codes < self.alternative
    }

    /// Returns whether the dictionary pays for the positions so far.
    fn has_paid(&self, settings: &Settings) -> bool {
        let cost = self.cost(self.codes.codes().len(), settings) + self.of_codes;
        !predicts(settings) || cost <= self.budget
    }

    /// Returns the expected cost per value of a whole stripe, with the entries that it will have. The first `positions`
    /// values have codes that cost `of_codes`.
    fn predicted(&self, of_codes: f64, positions: usize, settings: &Settings) -> f64 {
        let now = self.codes.entries().len().max(1);
        let entries = self
            .growth
            .expected(EXPECTED.max(positions))
            .max(now as f64);
        let n = EXPECTED.max(positions) as f64;
        let used = self.entries_size(entries, EXPECTED.max(positions));
        let time = self.gather_time(settings);
        // Codes of more entries have more bits; entries that come late are rare, and entropy coding hardly sees them.
        let mut wider = (entries.log2() / (now as f64).log2().max(1.0)).max(1.0);
        if choose::tries(settings.profile) {
            wider = wider.sqrt();
        }
        (OVERHEAD + used) / n + time + of_codes * wider / positions.max(1) as f64
    }

    /// Returns the cost of the entries so far and of looking up the codes of `positions` values, in the unit of
    /// [`choose`].
    fn cost(&self, positions: usize, settings: &Settings) -> f64 {
        let entries = self.codes.entries().len() as f64;
        OVERHEAD
            + self.entries_size(entries, positions)
            + self.gather_time(settings) * positions as f64
    }

    /// Returns the cost of looking up a code; infinite if it takes too long.
    fn gather_time(&self, settings: &Settings) -> f64 {
        let entries = self.codes.entries();
        let average = entries.byte_len() as f64 / entries.len().max(1) as f64;
        let gather = self.gather_cost();
        let place = self.entry.kind.map_or(choose::PLACING, |_| 0.0);
        if gather > choose::most_nanoseconds(settings.profile, average, place) {
            return f64::INFINITY;
        }
        settings.profile.bytes_per_nanosecond() * gather
    }

    /// Returns the cost of the codes from position `start` on.
    fn cost_of_codes(&mut self, start: usize, settings: &Settings) -> f64 {
        let codes = &self.codes.codes()[start..];
        // Blocks of a few codes are packed with little loss, and are not worth the time.
        let are_weighed = predicts(settings) && codes.len() >= MIN_PREDICTED;
        if choose::tries(settings.profile) || are_weighed {
            if are_weighed
                && let Some((cost, since)) = &mut self.code_weighed
                && *since < UNWEIGHED
            {
                *since += 1;
                return *cost * codes.len() as f64;
            }
            let mut last = 0;
            let fill = |&code: &u32| {
                last = if code == NULL { last } else { code };
                last
            };
            let filled: Vec<u32> = codes.iter().map(fill).collect();
            let choice = choose::numbers(&filled, NumberKind::Unsigned, settings);
            let cost = choice.cost * codes.len() as f64;
            self.code_weighed = Some((choice.cost, 0));
            return cost;
        }
        let entries = self.codes.entries().len();
        let bits = usize::BITS - entries.saturating_sub(1).leading_zeros();
        codes.len() as f64 * f64::from(bits) / 8.0
    }

    /// Returns the estimates for the windows so far. `share` is the share of the alternative that they may cost.
    fn weighed(&self, share: f64, settings: &Settings) -> Weighed<String> {
        let n = self.codes.codes().len();
        let nanoseconds = self.gather_cost();
        let per_value = if predicts(settings) && n >= MIN_PREDICTED {
            self.predicted(self.of_codes, n, settings)
        } else {
            (self.cost(n, settings) + self.of_codes) / n.max(1) as f64
        };
        Weighed {
            plan: format!("value dictionary of {}", self.codes.entries().len()),
            bytes: per_value - nanoseconds * settings.profile.bytes_per_nanosecond(),
            nanoseconds,
            cost: per_value / share,
        }
    }

    /// Returns the nanoseconds to look up a code.
    fn gather_cost(&self) -> f64 {
        let entries = self.codes.entries();
        match self.entry.kind {
            Some(_) => 0.4,
            None => 1.5 + 0.03 * entries.byte_len() as f64 / entries.len().max(1) as f64,
        }
    }

    /// Returns an alternative with this cost and decoding time per value.
    fn alternative_of(&self, cost: f64, nanoseconds: f64, settings: &Settings) -> Alternative {
        let unpacks = !predicts(settings) || nanoseconds < self.gather_cost();
        Alternative {
            per_value: cost,
            share: if unpacks && self.entry.kind.is_some() {
                MAX_NUMBER_COST
            } else {
                1.0
            },
        }
    }
}

/// Returns whether the entries of the stripe are predicted, and codes are weighed as the numbers that they are. Shards
/// for the reference implementation keep their bytes.
fn predicts(settings: &Settings) -> bool {
    settings.capabilities.every_nesting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::schema::plans_of_column;
    use arrow_schema::{DataType, Field};
    use std::sync::Arc;

    #[test]
    fn a_dictionary_that_readers_would_not_take_is_given_up() {
        let mut plans = plans_of_column(Field::new("a", DataType::Utf8, true));
        let plan = Arc::make_mut(&mut plans[0]);
        // An offset and a sorted id take 12 bytes.
        plan.most_dictionary_bytes = 3 * (1 + 12);
        let mut windows = TrialWindows::new(plan.tried_entry().unwrap());
        let mut add = |texts: &[&str]| {
            let value = |i: usize| Some(texts[i % texts.len()].as_bytes());
            let any = windows.alternative_of(f64::INFINITY, 0.0, &plan.settings);
            let added = windows.add_bytes(3000, value, any, &plan.settings);
            added.unwrap()
        };
        assert!(add(&["a", "b"]));
        assert!(add(&["c", "b"]));
        assert!(!add(&["a", "d"]));
    }

    #[test]
    fn later_entries_are_predicted_and_an_unpaid_dictionary_is_given_up() {
        let plans = plans_of_column(Field::new("a", DataType::Utf8, true));
        let plan = &plans[0];
        let noise = |i: usize| {
            let hash = crate::format::checksum(&i.to_le_bytes());
            usize::try_from(hash).unwrap()
        };
        // No encoding makes such texts much smaller.
        let letter = |i: usize| char::from(b'!' + u8::try_from(noise(i) % 90).unwrap());
        let texts: Vec<String> = (0..20_000)
            .map(|i| (30 * i..30 * (i + 1)).map(letter).collect())
            .collect();
        let text = |i: usize| {
            let is_empty = noise(2 * i) % 100 < 85;
            Some(
                if is_empty {
                    ""
                } else {
                    &texts[noise(2 * i + 1) % texts.len()]
                }
                .as_bytes(),
            )
        };
        // Without a dictionary, the values cost 4 bytes each: less than with the entries of a window, and more than
        // with the entries of a stripe.
        let costly = |per_value| Alternative {
            per_value,
            share: 1.0,
        };
        let mut trial = DictionaryTrial::new(plan.tried_entry());
        let windows = trial.0.as_mut().unwrap();
        for window in 0..2 {
            let value = |i: usize| text(window * WINDOW_ROWS + i);
            assert!(
                windows
                    .add_bytes(WINDOW_ROWS, value, costly(4.0), &plan.settings)
                    .unwrap()
            );
        }
        assert!(windows.pays(&plan.settings));
        let codes = trial.give_up_unpaid(&plan.settings).unwrap();
        assert_eq!(codes.codes().len(), 2 * WINDOW_ROWS);
        assert!(trial.0.is_none());
        // Different texts are given up in the first window.
        let mut windows = TrialWindows::new(plan.tried_entry().unwrap());
        let all: Vec<String> = (0..WINDOW_ROWS).map(|i| format!("{i:020}")).collect();
        let value = |i: usize| Some(all[i].as_bytes());
        assert!(
            !windows
                .add_bytes(WINDOW_ROWS, value, costly(10.0), &plan.settings)
                .unwrap()
        );
        assert!(windows.codes.entries().len() <= MIN_NUMBERS);
    }
}
