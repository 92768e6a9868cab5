//! Failures of commands: their messages and exit codes.

use crate::text;
use arrow_schema::ArrowError;
use std::error::Error;
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
        let words = message
            .split([' ', '\n', '\t', '\r'])
            .filter(|word| !word.is_empty());
        let line: Vec<_> = words.map(text::shown).collect();
        eprintln!("error: {}", line.join(" "));
        ExitCode::from(code)
    }
}

/// Returns the messages of an error and its causes, each once.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(error) = below {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        below = error.source();
    }
    text
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
