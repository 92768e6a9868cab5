//! The allocators of workers.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The memory allocator of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allocator {
    /// mimalloc, like the peers' own benches.
    Mimalloc,
    /// The allocator of the operating system, which Rust uses by default.
    System,
}

impl Allocator {
    /// Returns the allocators to measure a table with: mimalloc for all tables, and the system's allocator for two of
    /// them.
    pub(crate) fn of_table(table: &str) -> &'static [Self] {
        match table {
            "lineitem" | "log" => &[Self::Mimalloc, Self::System],
            _ => &[Self::Mimalloc],
        }
    }

    /// Returns the program with this allocator, in the folder of the running one.
    pub(crate) fn program(self) -> Result<PathBuf> {
        let own = std::env::current_exe()?;
        let folder = own.parent().context("a program has a folder")?;
        let name = match self {
            Self::Mimalloc => "peers",
            Self::System => "peers-system",
        };
        Ok(folder
            .join(name)
            .with_extension(std::env::consts::EXE_EXTENSION))
    }
}
