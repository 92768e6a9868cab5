//! The records that are skipped.

use crate::common::Format;
use crate::files;
use std::collections::{BTreeMap, BTreeSet};

/// The lines of skipped records, for each file.
pub(crate) struct Skipped(BTreeMap<String, BTreeSet<u32>>);

impl Skipped {
    /// Reads `skipped.txt`. A line without indentation names a file. The indented lines below list its skipped lines,
    /// such as `12 15-20`, with a reason after a colon. If the reason begins with `unpublished`, the record reads a
    /// file that is not in the crate, so it cannot run over Parquet either.
    pub(crate) fn read(format: Format) -> Self {
        let text = std::fs::read_to_string(files::own().join("skipped.txt")).unwrap();
        let mut skipped = BTreeMap::<String, BTreeSet<u32>>::new();
        let mut file = String::new();
        for line in text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
        {
            let Some(entry) = line.strip_prefix("  ") else {
                file = line.to_owned();
                continue;
            };
            let (lines, reason) = entry.split_once(": ").unwrap();
            if format == Format::Parquet && !reason.starts_with("unpublished") {
                continue;
            }
            let of_file = skipped.entry(file.clone()).or_default();
            for range in lines.split_whitespace() {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                of_file.extend(first.parse::<u32>().unwrap()..=last.parse().unwrap());
            }
        }
        Self(skipped)
    }

    pub(crate) fn has(&self, file: &str, line: u32) -> bool {
        self.0.get(file).is_some_and(|lines| lines.contains(&line))
    }
}
