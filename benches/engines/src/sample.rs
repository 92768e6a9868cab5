//! Stores measurements as lines of JSON.

use crate::subject::Subject;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One run of a query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) query: String,
    pub(crate) subject: Subject,
    /// Nanoseconds from the text of the query to its last row.
    pub(crate) total: u64,
    /// Nanoseconds in scans, and in filters directly above them, over all partitions.
    pub(crate) scans: u64,
    /// The error, instead of times.
    pub(crate) error: Option<String>,
}

/// Returns the path of the measurements with a number of threads.
pub(crate) fn path(data: &Path, threads: usize) -> PathBuf {
    data.join(format!("threads-{threads}.jsonl"))
}

pub(crate) fn read(data: &Path, threads: usize) -> Result<Vec<Sample>> {
    let path = path(data, threads);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.collect::<Result<_, _>>()?)
}
