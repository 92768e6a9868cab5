//! The records that are left out.

use crate::common::Format;
use crate::files;
use std::collections::{BTreeMap, BTreeSet};

/// Lines of files.
pub(crate) struct Skipped(BTreeMap<String, BTreeSet<u32>>);

impl Skipped {
    /// Reads `skipped.txt`. A line without indentation names a file. The lines below say which lines of it are skipped, such as
    /// `12 15-20`, and after a colon why. Where the reason begins with `unpublished`, a file that it reads is
    /// not in the crate, so that it cannot run over Parquet either.
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
