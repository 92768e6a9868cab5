//! Runs of equal values.

use std::ops::Range;

/// The ends of the runs of a page. Runs are expanded only for requested rows, because a few bytes may represent
/// billions of equal values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::interop::cole) struct Runs {
    /// Number of values up to the end of each run; ascending.
    ends: Vec<u32>,
}

impl Runs {
    pub(super) fn with_capacity(runs: usize) -> Self {
        Self {
            ends: Vec::with_capacity(runs),
        }
    }

    /// Returns the number of values.
    pub(super) fn num_values(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Adds a run of `len` values. Returns `None` if the number of values exceeds 32 bits.
    pub(super) fn push(&mut self, len: u64) -> Option<()> {
        let end = u64::from(self.num_values()).checked_add(len)?;
        self.ends.push(u32::try_from(end).ok()?);
        Some(())
    }

    /// Returns the runs with values in a range: the ordinal of each, and the number of its values in the range.
    pub(super) fn within(&self, range: Range<u32>) -> impl Iterator<Item = (usize, u32)> {
        let first = self.ends.partition_point(|&end| end <= range.start);
        let mut start = range.start;
        let runs = self.ends.iter().enumerate().skip(first);
        runs.map_while(move |(run, &end)| {
            let upto = end.min(range.end);
            let len = upto.checked_sub(start).filter(|_| start < range.end)?;
            start = upto;
            Some((run, len))
        })
    }
}

/// Calls `each` with the start and the length of each run of `len` values.
pub(super) fn runs_of<T>(
    len: usize,
    is_same: impl Fn(usize, usize) -> bool,
    mut each: impl FnMut(usize, usize) -> T,
) {
    let mut start = 0;
    for i in 1..=len {
        if i == len || !is_same(start, i) {
            each(start, i - start);
            start = i;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_take_parts_of_runs() {
        let mut runs = Runs::default();
        for len in [3, 0, 2, 4] {
            runs.push(len).unwrap();
        }
        let all: Vec<usize> = [0, 0, 0, 2, 2, 3, 3, 3, 3].into();
        for (from, to) in (0..=9).flat_map(|from| (from..=9).map(move |to| (from, to))) {
            let found = runs.within(from..to);
            let found = found.flat_map(|(run, len)| std::iter::repeat_n(run, len as usize));
            assert_eq!(found.collect::<Vec<_>>(), all[from as usize..to as usize]);
        }
        assert!(runs.push(u64::MAX).is_none());
        assert!(runs.push(u64::from(u32::MAX)).is_none());
    }

    #[test]
    fn runs_cover_all_values() {
        let values = [7, 7, 1, 7, 7, 7];
        let mut found = Vec::new();
        runs_of(
            values.len(),
            |a, b| values[a] == values[b],
            |start, len| found.push((start, len)),
        );
        assert_eq!(found, [(0, 2), (2, 1), (3, 3)]);
        runs_of(0, |_, _| true, |_, _| panic!("no value is in no run"));
    }
}
