//! What was measured, as lines of JSON.

use crate::subject::Subject;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One run of a query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) query: String,
    pub(crate) subject: Subject,
    /// Nanoseconds from the text to the last row.
    pub(crate) total: u64,
    /// Nanoseconds of all partitions in scans, and in filters directly above them.
    pub(crate) scans: u64,
    /// What went wrong, instead of times.
    pub(crate) error: Option<String>,
}

/// The file of a number of threads.
pub(crate) fn path(data: &Path, threads: usize) -> PathBuf {
    data.join(format!("threads-{threads}.jsonl"))
}

pub(crate) fn read(data: &Path, threads: usize) -> Result<Vec<Sample>> {
    let path = path(data, threads);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.collect::<Result<_, _>>()?)
}
