//! Predicts the number of entries in the dictionary of a stripe.

/// Number of entries after some numbers of positions.
#[derive(Debug, Default)]
pub(super) struct EntryGrowth {
    /// Positions, ascending, and the entries of the values up to them.
    points: Vec<(usize, usize)>,
}

impl EntryGrowth {
    /// Records that the first `positions` values have this many entries.
    pub(super) fn note(&mut self, positions: usize, entries: usize) {
        self.points.push((positions, entries));
    }

    /// Drops what is known of the positions after the first `positions` ones.
    pub(super) fn truncate(&mut self, positions: usize) {
        let known = self.points.partition_point(|point| point.0 <= positions);
        self.points.truncate(known);
    }

    /// Returns the entries of the last recorded point at or before a position.
    fn at(&self, positions: usize) -> f64 {
        let after = self.points.partition_point(|point| point.0 <= positions);
        let point = after.checked_sub(1).and_then(|i| self.points.get(i));
        point.map_or(1.0, |point| point.1.max(1) as f64)
    }

    /// Returns the number of entries that `positions` values are expected to have.
    ///
    /// Each doubling of the positions adds a share `q` of the entries. If all values are equally likely, `q` is squared
    /// with every doubling; if there is no end of rare values, it stays. The last two doublings show which of the two
    /// it is, or what between them.
    pub(super) fn expected(&self, positions: usize) -> f64 {
        let Some(&(now, entries)) = self.points.last() else {
            return 0.0;
        };
        let share = |from: f64, to: f64| (to / from - 1.0).clamp(1e-9, 1.0 - 1e-9);
        let (quarter, half, all) = (self.at(now / 4), self.at(now / 2), entries as f64);
        if all <= half {
            return all;
        }
        let (before, last) = (share(quarter, half), share(half, all));
        let power = (last.ln() / before.ln()).clamp(1.0, 2.0);
        let (mut entries, mut q) = (all, last);
        let mut doublings = (positions as f64 / now as f64).log2();
        while doublings > 0.0 {
            q = q.powf(power);
            entries *= (1.0 + q).powf(doublings.min(1.0));
            doublings -= 1.0;
        }
        entries.min(positions as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Compares the prediction from 65,536 values with the number of entries of a million.
    fn predicted(value: impl Fn(u64) -> u64) -> (f64, f64) {
        let (mut growth, mut seen) = (EntryGrowth::default(), HashSet::new());
        let mut predicted = 0.0;
        for i in 0..1 << 20 {
            if i % 1024 == 0 && i <= 65_536 {
                growth.note(usize::try_from(i).unwrap(), seen.len());
                predicted = growth.expected(1 << 20);
            }
            seen.insert(value(i));
        }
        (predicted, seen.len() as f64)
    }

    #[test]
    fn entries_of_a_stripe_are_predicted_from_its_first_window() {
        let noise = |i: u64| crate::format::checksum(&i.to_le_bytes());
        let within = |(predicted, found): (f64, f64), factor: f64| {
            assert!(
                predicted < found * factor && found < predicted * factor,
                "{predicted} instead of {found}"
            );
        };
        for entries in [1, 60, 20_000, 100_000] {
            within(predicted(|i| u64::from(noise(i)) % entries), 1.3);
        }
        // All values differ, or each comes 20 times in a row.
        within(predicted(|i| i), 1.05);
        within(predicted(|i| i / 20), 1.05);
        // Rare values without end.
        let rare = |i| {
            let noise = u64::from(noise(i) >> 1).max(1);
            (1 << 62) / (noise * noise)
        };
        within(predicted(rare), 2.0);
    }

    #[test]
    fn dropped_positions_are_forgotten() {
        let mut growth = EntryGrowth::default();
        growth.note(1024, 10);
        growth.note(2048, 900);
        growth.truncate(1024);
        growth.note(2048, 10);
        growth.note(4096, 10);
        assert_eq!(growth.expected(1 << 20), 10.0);
        assert_eq!(EntryGrowth::default().expected(9), 0.0);
    }
}
