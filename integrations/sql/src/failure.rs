//! Failures of statements: their messages and exit codes.

use crate::error_line::{chain, print_error};
use crate::names;
use datafusion::common::{DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;
use std::io;
use std::process::ExitCode;

/// The reason why a statement, or the program, ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is invalid; exit code 2.
    Usage(String),
    /// A statement failed; exit code 1.
    Error(String),
    /// A signal asked the program to end, which is the exit code less 128.
    Interrupted(u8),
    /// The reader of standard output has closed it. The program ends quietly.
    ClosedPipe,
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
    pub(crate) fn report(&self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (message, 2),
            Self::Error(message) => (message, 1),
            Self::Interrupted(signal) => return ExitCode::from(128_u8.saturating_add(*signal)),
            Self::ClosedPipe => return ExitCode::SUCCESS,
        };
        print_error(message);
        ExitCode::from(code)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Error(chain(&error)),
        }
    }
}

impl From<datafusion::arrow::error::ArrowError> for Failure {
    fn from(error: datafusion::arrow::error::ArrowError) -> Self {
        use datafusion::arrow::error::ArrowError;
        match error {
            ArrowError::IoError(_, inner) => inner.into(),
            other => Self::Error(chain(&other)),
        }
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        Self::Error(message(&error))
    }
}

/// Returns the message of an error, with advice for misspelt columns.
fn message(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::SchemaError(inner, _) => {
            if let SchemaError::FieldNotFound {
                field,
                valid_fields,
            } = inner.as_ref()
            {
                let known = valid_fields.iter().map(|column| column.name());
                return names::no_column(field.name(), known);
            }
        }
        DataFusionError::SQL(inner, _) => {
            return match inner.as_ref() {
                ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.clone(),
                ParserError::RecursionLimitExceeded => "the statement is nested too deeply".into(),
            };
        }
        _ => {}
    }
    let text = error.strip_backtrace();
    let text = text
        .strip_prefix("Error during planning: ")
        .unwrap_or(&text);
    text.to_owned()
}
