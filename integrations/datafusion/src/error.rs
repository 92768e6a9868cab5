//! Converts errors of the library to errors of DataFusion.

use datafusion_common::DataFusionError;
use std::fmt;

/// Converts an error of the library to an error of DataFusion, which keeps it as its source.
pub(crate) fn external(error: arrow_shard::Error) -> DataFusionError {
    DataFusionError::External(Box::new(Failure(error)))
}

/// An error of the library that displays its sources, because DataFusion displays only the outermost error.
#[derive(Debug)]
struct Failure(arrow_shard::Error);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Adds the place to an error.
pub(crate) trait Context<T> {
    /// Adds a place, such as the name of the file, to the message of an error.
    fn context(self, place: impl std::fmt::Display) -> Result<T, DataFusionError>;
}

impl<T> Context<T> for Result<T, arrow_shard::Error> {
    fn context(self, place: impl std::fmt::Display) -> Result<T, DataFusionError> {
        self.map_err(|error| external(error).context(place.to_string()))
    }
}

impl<T> Context<T> for Result<T, DataFusionError> {
    fn context(self, place: impl std::fmt::Display) -> Result<T, DataFusionError> {
        self.map_err(|error| error.context(place.to_string()))
    }
}
