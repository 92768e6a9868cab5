//! Failures of commands: their messages and exit codes.

use crate::error_line::{chain, print_error};
use arrow_schema::ArrowError;
use std::process::ExitCode;

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
            Self::Error(message) => Self::Error(format!("{place}: {message}")),
            other => other,
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

impl From<arrow_shard::Error> for Failure {
    fn from(error: arrow_shard::Error) -> Self {
        Self::Error(chain(&error))
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
