//! Stores measurements as lines of JSON, and the machine.

use crate::subject::Subject;
use anyhow::{Context, Result};
use peers::{Load, Machine};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
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
    /// Work of other programs during all runs of the query; earlier versions did not measure it.
    pub(crate) load: Option<Load>,
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

fn machine(data: &Path) -> PathBuf {
    data.join("machine.json")
}

/// Stores this machine as the machine of the measurements.
pub(crate) fn write_machine(data: &Path) -> Result<()> {
    let here = Machine::here(|program| program.arg("--spin").arg("--data").arg(data))?;
    Ok(std::fs::write(
        machine(data),
        serde_json::to_string(&here)?,
    )?)
}

/// Returns the machine of the measurements; `None` for measurements of earlier versions.
pub(crate) fn read_machine(data: &Path) -> Result<Option<Machine>> {
    let path = machine(data);
    match std::fs::read(&path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{path, read, read_machine};

    #[test]
    fn measurements_of_earlier_versions_have_no_load() {
        let folder = std::env::temp_dir().join(format!("engines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let line = r#"{"query":"q1","subject":"Shard","total":2,"scans":1,"error":null}"#;
        std::fs::write(path(&folder, 1), line).unwrap();
        let samples = read(&folder, 1);
        let machine = read_machine(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        let samples = samples.unwrap();
        assert_eq!(samples.len(), 1);
        assert_eq!(samples[0].load, None);
        assert_eq!(machine.unwrap(), None);
    }
}
