//! The allocators that workers have.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Who gives a program its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allocator {
    /// mimalloc, as the benches of the peers themselves have it.
    Mimalloc,
    /// That of the operating system, which a program has that chooses none.
    System,
}

impl Allocator {
    /// The allocators under which questions about a table are asked: all questions under mimalloc,
    /// and those about two tables under the other as well.
    pub(crate) fn of_table(table: &str) -> &'static [Self] {
        match table {
            "lineitem" | "log" => &[Self::Mimalloc, Self::System],
            _ => &[Self::Mimalloc],
        }
    }

    /// The program that has this allocator, beside the one that runs.
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
