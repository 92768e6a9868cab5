//! Random choice among a number of items that is not known before.

use fastrand::Rng;

/// Chooses a number of items, each with the same probability: algorithm L by Kim-Hung Li, "Reservoir-sampling
/// algorithms of time complexity O(n(1 + log(N/n)))", 1994. The choice depends on the seed and on the number of items.
/// It does not depend on the portions in which they are offered.
#[derive(Debug)]
pub(super) struct Reservoir {
    /// Number of items to choose.
    size: u64,
    /// Number of items that have been offered.
    offered: u64,
    /// Ordinal of the next item to accept.
    next: u64,
    /// The greatest of the random keys that the chosen items would have.
    weight: f64,
    random: Rng,
}

impl Reservoir {
    /// Returns a reservoir for `size` items.
    pub(super) fn new(size: u64, random: Rng) -> Self {
        Self {
            size,
            offered: 0,
            next: if size == 0 { u64::MAX } else { 0 },
            weight: 1.0,
            random,
        }
    }

    /// Offers the next `count` items. Calls `accept` for each accepted one, with its position among them and its slot:
    /// an item that is accepted later for the same slot replaces it. Slots are filled in order.
    pub(super) fn offer(&mut self, count: u64, mut accept: impl FnMut(u64, u64)) {
        let end = self.offered.saturating_add(count);
        while self.next < end {
            let slot = if self.next < self.size {
                self.next
            } else {
                self.random.u64(..self.size)
            };
            accept(self.next - self.offered, slot);
            self.advance();
        }
        self.offered = end;
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.next < self.size {
            return;
        }
        // Above 0, and at most 1.
        let mut uniform = || 1.0 - self.random.f64();
        self.weight *= (uniform().ln() / self.size as f64).exp();
        let gap = (uniform().ln() / (-self.weight).ln_1p()).floor();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a gap beyond the range becomes the greatest number"
        )]
        let gap = gap as u64;
        self.next = self.next.saturating_add(gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chosen items, offered in portions of this size.
    fn chosen(size: u64, items: u64, portion: u64, seed: u64) -> Vec<u64> {
        let mut reservoir = Reservoir::new(size, Rng::with_seed(seed));
        let (mut slots, mut first) = (Vec::new(), 0);
        while first < items {
            let count = portion.min(items - first);
            reservoir.offer(count, |position, slot| {
                let slot = usize::try_from(slot).unwrap();
                if slot == slots.len() {
                    slots.push(first + position);
                } else {
                    slots[slot] = first + position;
                }
            });
            first += count;
        }
        slots.sort_unstable();
        slots
    }

    #[test]
    fn every_item_is_chosen_equally_often() {
        const ROUNDS: u64 = 20_000;
        let mut times = [0_u64; 50];
        for seed in 0..ROUNDS {
            for item in chosen(5, 50, 50, seed) {
                times[usize::try_from(item).unwrap()] += 1;
            }
        }
        // The standard deviation is sqrt(20,000 * 0.1 * 0.9), or 42.
        for (item, times) in times.iter().enumerate() {
            assert!(times.abs_diff(ROUNDS / 10) < 210, "{item}: {times}");
        }
    }

    #[test]
    fn the_choice_depends_on_the_seed_and_not_on_the_portions() {
        let whole = chosen(7, 1000, 1000, 3);
        assert_eq!(whole.len(), 7);
        for portion in [1, 10, 999] {
            assert_eq!(chosen(7, 1000, portion, 3), whole);
        }
        assert_ne!(chosen(7, 1000, 1000, 4), whole);
        assert_eq!(chosen(10, 4, 3, 1), [0, 1, 2, 3]);
        assert!(chosen(0, 100, 10, 1).is_empty());
    }
}
