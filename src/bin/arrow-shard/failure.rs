//! Failures of commands: their messages and exit codes.

use crate::error_line::{chain, print_error};
use arrow_schema::ArrowError;
use arrow_shard::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

/// Advice about an output that exists, for commands with the option `--force`.
pub(crate) const REPLACE: &str = "replace it with --force, or choose another name";

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is invalid; exit code 2.
    Usage(String),
    /// The command failed; exit code 1.
    Error(String),
    /// The error has been printed already; exit code 1.
    Reported,
}

impl Failure {
    /// Returns a failure with this message.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Error(message.into())
    }

    /// Puts a place before the message.
    pub(crate) fn within(self, place: impl std::fmt::Display) -> Self {
        match self {
            Self::Usage(message) => Self::Usage(format!("{place}: {message}")),
            Self::Error(message) => Self::Error(format!("{place}: {message}")),
            Self::Reported => Self::Reported,
        }
    }

    /// Puts the name of a file before the message, unless the message has it.
    pub(crate) fn of_file(self, file: &Path) -> Self {
        let name = file.display().to_string();
        match &self {
            Self::Usage(message) | Self::Error(message) if !names(message, &name) => {
                self.within(name)
            }
            _ => self,
        }
    }

    /// Puts the name of one of several files before the message, also if the message of a usage error has it at another
    /// place: the options may fit the others.
    pub(crate) fn of_one_of_many(self, file: &Path) -> Self {
        let name = file.display().to_string();
        match &self {
            Self::Usage(message) if !message.starts_with(&name) => self.within(name),
            _ => self.of_file(file),
        }
    }

    /// Prints the failure in one line, and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (message, 2),
            Self::Error(message) => (message, 1),
            Self::Reported => return ExitCode::from(1),
        };
        print_error(&message);
        ExitCode::from(code)
    }
}

/// Whether a message has the name of a file, not as a part of a longer one.
fn names(message: &str, file: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || "/\\._-".contains(c);
    message.match_indices(file).any(|(at, _)| {
        let before = message[..at].chars().next_back();
        let after = message[at + file.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

impl From<arrow_shard::Error> for Failure {
    fn from(error: arrow_shard::Error) -> Self {
        match error.kind() {
            // Only options name columns that may not exist.
            ErrorKind::UnknownColumn => Self::Usage(chain(&error)),
            _ => Self::Error(chain(&error)),
        }
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => Self::Error(chain(&*inner)),
            other => Self::Error(chain(&other)),
        }
    }
}

macro_rules! from {
    ($($ty:ty),*) => {
        $(impl From<$ty> for Failure {
            fn from(error: $ty) -> Self {
                Self::Error(chain(&error))
            }
        })*
    };
}

from!(
    std::io::Error,
    parquet::errors::ParquetError,
    serde_json::Error
);
