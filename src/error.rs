//! The one error type of the crate: a kind to match on, the place it happened, and what to do.

use arrow_schema::ArrowError;
use std::{fmt, io};

/// A [`std::result::Result`] with the error of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, for programs to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system or a store failed to read or write.
    Io,
    /// The bytes are not an Amudai shard at all.
    NotAShard,
    /// The shard's major format version is newer than this reader.
    UnsupportedVersion,
    /// Bytes of the shard contradict the format or each other.
    Corrupt,
    /// A stored checksum does not match the bytes that it covers.
    Checksum,
    /// The shard is well formed, but uses something this build cannot read or write.
    Unsupported,
    /// Reading on would exceed one of the [`Limits`](crate::Limits).
    LimitExceeded,
    /// An argument of a call makes no sense.
    InvalidArgument,
    /// A batch or a requested schema does not fit the shard's schema.
    SchemaMismatch,
    /// No column has the name or index that was asked for.
    UnknownColumn,
    /// More than one column has the name that was asked for.
    AmbiguousColumn,
    /// A value cannot be stored or returned in the type that was asked for.
    ValueOutOfRange,
    /// A row number lies outside the shard.
    RowOutOfRange,
    /// Offsets of the requested Arrow type would overflow in one batch.
    OffsetOverflow,
    /// The destination exists already.
    AlreadyExists,
    /// Somebody else has changed what was to be replaced.
    Conflict,
    /// The file does not exist.
    NotFound,
    /// A reference points outside the places a shard may refer to.
    ForbiddenUrl,
    /// An earlier write failed, so that nothing more can be written.
    Poisoned,
    /// An Arrow kernel failed.
    Arrow,
}

impl ErrorKind {
    /// Short name of the kind, the first words of an error's text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Io => "I/O error",
            Self::NotAShard => "not a shard",
            Self::UnsupportedVersion => "unsupported version",
            Self::Corrupt => "corrupt",
            Self::Checksum => "checksum mismatch",
            Self::Unsupported => "unsupported",
            Self::LimitExceeded => "limit exceeded",
            Self::InvalidArgument => "invalid argument",
            Self::SchemaMismatch => "schema mismatch",
            Self::UnknownColumn => "unknown column",
            Self::AmbiguousColumn => "ambiguous column",
            Self::ValueOutOfRange => "value out of range",
            Self::RowOutOfRange => "row out of range",
            Self::OffsetOverflow => "offset overflow",
            Self::AlreadyExists => "already exists",
            Self::Conflict => "conflict",
            Self::NotFound => "not found",
            Self::ForbiddenUrl => "forbidden URL",
            Self::Poisoned => "poisoned writer",
            Self::Arrow => "Arrow error",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error: its [`kind`](Error::kind), the [`element`](Error::element) of the shard that it is
/// about (outermost first: file, stripe, field, block), a message, and the error below it.
///
/// ```
/// use arrow_shard::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::Corrupt, "expected 8 bytes, found 3")
///     .within("block 7")
///     .within("field `a`");
/// assert_eq!(error.to_string(), "corrupt: field `a`, block 7: expected 8 bytes, found 3");
/// ```
///
/// What an error displays leaves out the error below it, which is its
/// [`source`](std::error::Error::source): whoever prints a chain of errors says each once. `{:#}`
/// displays all of them in one line.
///
/// ```
/// # use arrow_shard::Error;
/// use std::io;
/// let full = io::Error::new(io::ErrorKind::StorageFull, "3 bytes of 8 were written");
/// let error = Error::from(full).within("file `a`");
/// assert_eq!(error.to_string(), "I/O error: file `a`: no storage space");
/// assert_eq!(format!("{error:#}"), format!("{error}: 3 bytes of 8 were written"));
/// ```
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    /// Outermost place last, because places are added while the error travels up.
    element: Vec<String>,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A new error without a place.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            element: Vec::new(),
            message: message.into(),
            source: None,
        }))
    }

    /// Shorthand for a [`ErrorKind::Corrupt`] error.
    #[cold]
    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Shorthand for a [`ErrorKind::Unsupported`] error.
    #[cold]
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Shorthand for a [`ErrorKind::InvalidArgument`] error.
    #[cold]
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Adds the place that contains the places named so far.
    #[must_use]
    #[cold]
    pub fn within(mut self, element: impl Into<String>) -> Self {
        self.0.element.push(element.into());
        self
    }

    /// Keeps the error that caused this one, which the message is not to repeat.
    #[must_use]
    #[cold]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where it went wrong, outermost place first, joined by `, `; empty if no place is known.
    pub fn element(&self) -> String {
        let places: Vec<&str> = self.0.element.iter().rev().map(String::as_str).collect();
        places.join(", ")
    }

    /// What was expected, what was found, and what to do.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The message, and what the errors below say.
    pub(crate) fn whole_message(&self) -> String {
        let mut text = self.0.message.clone();
        let mut below = std::error::Error::source(self);
        while let Some(error) = below {
            text = format!("{text}: {error}");
            below = error.source();
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.0.kind)?;
        if !self.0.element.is_empty() {
            write!(f, "{}: ", self.element())?;
        }
        match f.alternate() {
            true => f.write_str(&self.whole_message()),
            false => f.write_str(&self.0.message),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

/// An error of this crate that was wrapped comes back as it was.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(wrapped) => return wrapped,
            Err(error) => error,
        };
        let (kind, message) = match error.kind() {
            io::ErrorKind::NotFound => {
                (ErrorKind::NotFound, "there is nothing of this name".into())
            }
            io::ErrorKind::AlreadyExists => (
                ErrorKind::AlreadyExists,
                "something of this name exists".into(),
            ),
            io::ErrorKind::Other => (ErrorKind::Io, "the system or a store failed".into()),
            // The system's own words for the kind: "no storage space", "permission denied".
            named => (ErrorKind::Io, named.to_string()),
        };
        Self::new(kind, message).caused_by(error)
    }
}

/// The message of an error that says no more than its source.
const ARROW_FAILED: &str = "a kernel of Arrow failed";

/// An error of this crate that was wrapped comes back as it was.
impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        let error = match error {
            ArrowError::ExternalError(wrapped) => match wrapped.downcast::<Self>() {
                Ok(wrapped) => return *wrapped,
                Err(other) => return Self::new(ErrorKind::Arrow, ARROW_FAILED).caused_by(other),
            },
            ArrowError::IoError(_, error) => return error.into(),
            other => other,
        };
        Self::new(ErrorKind::Arrow, ARROW_FAILED).caused_by(error)
    }
}

/// The error is wrapped as it is: [`Error::from`] gives it back, with its kind.
impl From<Error> for ArrowError {
    fn from(error: Error) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

/// Adds places to the errors of a [`Result`], paying for the text only when there is one.
pub(crate) trait Within<T> {
    /// Adds the place made by `element` to the error, if there is one.
    fn within(self, element: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Within<T> for Result<T> {
    fn within(self, element: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| e.within(element()))
    }
}

/// A number of a file as a length in memory; fails on hosts whose addresses are narrower.
pub(crate) fn to_usize(value: u64) -> Result<usize> {
    usize::try_from(value).map_err(|_| {
        Error::new(
            ErrorKind::LimitExceeded,
            format!("{value} exceeds the address space of this host"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_listed_outermost_first() {
        let e = Error::corrupt("bad").within("block 1").within("stripe 2");
        assert_eq!(e.element(), "stripe 2, block 1");
        assert_eq!(e.to_string(), "corrupt: stripe 2, block 1: bad");
    }

    /// What any chain of errors prints: each of them, once.
    fn chain(error: &(dyn std::error::Error + 'static)) -> String {
        match error.source() {
            Some(below) => format!("{error}: {}", chain(below)),
            None => error.to_string(),
        }
    }

    #[test]
    fn no_error_repeats_the_one_below_it() {
        let system = |kind| io::Error::new(kind, "told by the system");
        let arrow = || ArrowError::ComputeError("told by Arrow".to_owned());
        let errors = [
            Error::from(system(io::ErrorKind::NotFound)),
            Error::from(system(io::ErrorKind::AlreadyExists)),
            Error::from(system(io::ErrorKind::StorageFull)),
            Error::from(arrow()),
            Error::from(ArrowError::ExternalError("told by others".into())),
            Error::from(ArrowError::IoError(
                "told by Arrow".to_owned(),
                system(io::ErrorKind::TimedOut),
            )),
            Error::corrupt("bad").within("block 1").caused_by(arrow()),
        ];
        for error in errors {
            assert!(!error.to_string().contains("told by"), "{error}");
            assert_eq!(chain(&error).matches("told by").count(), 1, "{error:?}");
            assert_eq!(format!("{error:#}"), chain(&error));
        }
    }

    #[test]
    fn errors_pass_through_those_of_arrow_and_of_the_system_unchanged() {
        let sent = || Error::new(ErrorKind::LimitExceeded, "too many").within("block 1");
        let through_arrow = Error::from(ArrowError::from(sent()));
        let through_io = Error::from(io::Error::other(sent()));
        let through_both =
            Error::from(ArrowError::IoError(String::new(), io::Error::other(sent())));
        for error in [through_arrow, through_io, through_both] {
            assert_eq!(error.kind(), ErrorKind::LimitExceeded);
            assert_eq!(error.to_string(), sent().to_string());
            assert!(std::error::Error::source(&error).is_none());
        }
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let missing = Error::from(ArrowError::IoError(String::new(), missing));
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn io_errors_keep_their_cause() {
        let e = Error::from(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(e.kind(), ErrorKind::NotFound);
        assert!(std::error::Error::source(&e).is_some());
    }
}
