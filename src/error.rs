//! The error type of the crate: a kind to match on, a place, and a message.

use arrow_schema::ArrowError;
use std::{fmt, io};

/// A [`std::result::Result`] with the error of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, for programs to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system or a store failed to read or write.
    Io,
    /// The file is not an Amudai shard, or the path is a folder or a device.
    NotAShard,
    /// The shard's major format version is newer than this reader.
    UnsupportedVersion,
    /// Bytes of the shard contradict the format or each other.
    Corrupt,
    /// A stored checksum does not match the bytes that it covers.
    Checksum,
    /// A file that the shard refers to is intact, but is not the file that the shard was written with.
    WrongFile,
    /// The shard is well formed, but uses a feature that this build cannot read or write, or the store lacks an
    /// operation.
    Unsupported,
    /// A read would exceed one of the [`Limits`](crate::Limits), or a write would make what the default limits of
    /// readers refuse.
    LimitExceeded,
    /// An argument of a call is invalid.
    InvalidArgument,
    /// The types of a batch, of a requested schema, of a literal in a filter, or of columns in several shards or files
    /// do not fit.
    SchemaMismatch,
    /// No column has the requested name or index.
    UnknownColumn,
    /// More than one column has the requested name.
    AmbiguousColumn,
    /// A value cannot be stored or returned in the requested type.
    ValueOutOfRange,
    /// No row has this number, or it is deleted and deleted rows were not requested.
    RowOutOfRange,
    /// The offsets, dictionary keys or run ends of the requested Arrow type are too narrow for one batch.
    OffsetOverflow,
    /// The destination exists already.
    AlreadyExists,
    /// Another writer has changed the file or object that was to be replaced.
    Conflict,
    /// Another file or object has replaced the one that was opened: open the shard again, because repeating the read
    /// does not help. If it is a Parquet file of an attached shard, restore it or attach it again.
    Replaced,
    /// The file does not exist.
    NotFound,
    /// A reference or a name points outside of the folder of the shard or the store.
    ForbiddenUrl,
    /// An earlier write failed, so nothing more can be written.
    Poisoned,
    /// The caller's progress callback stopped the operation.
    Stopped,
    /// An Arrow kernel failed.
    Arrow,
    /// Code of the caller failed, such as a function in a filter. The error of that code is the
    /// [`source`](std::error::Error::source).
    External,
}

impl ErrorKind {
    /// Returns a short name of the kind, with which the text of an error begins.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Io => "I/O error",
            Self::NotAShard => "not a shard",
            Self::UnsupportedVersion => "unsupported version",
            Self::Corrupt => "corrupt",
            Self::Checksum => "checksum mismatch",
            Self::WrongFile => "wrong file",
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
            Self::Replaced => "replaced",
            Self::NotFound => "not found",
            Self::ForbiddenUrl => "forbidden URL",
            Self::Poisoned => "poisoned writer",
            Self::Stopped => "stopped",
            Self::Arrow => "Arrow error",
            Self::External => "external error",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error of this crate. It has a [`kind`](Error::kind), an [`element`](Error::element) (the place in the shard,
/// outermost first: file, stripe, field, block), a message, and the error that caused it.
///
/// ```
/// use arrow_shard::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::Corrupt, "expected 8 bytes, found 3")
///     .within("block 7")
///     .within("field `a`");
/// assert_eq!(error.to_string(), "corrupt: field `a`, block 7: expected 8 bytes, found 3");
/// ```
///
/// The displayed text leaves out the cause, which is the [`source`](std::error::Error::source), so that a program that
/// prints a chain of errors shows each error once. `{:#}` displays the whole chain in one line.
///
/// ```
/// # use arrow_shard::Error;
/// use std::io;
/// let full = io::Error::new(io::ErrorKind::StorageFull, "3 bytes of 8 were written");
/// let error = Error::from(full).within("file `a`");
/// assert_eq!(error.to_string(), "I/O error: file `a`: no storage space");
/// assert_eq!(format!("{error:#}"), format!("{error}: 3 bytes of 8 were written"));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    /// The outermost place is last, because places are added while the error propagates.
    element: Vec<String>,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// Whether the reader failed, which says nothing about the bytes of the shard.
    is_of_reader: bool,
}

impl Error {
    /// Returns an error without a place.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            element: Vec::new(),
            message: message.into(),
            source: None,
            is_of_reader: false,
        }))
    }

    /// Returns the error for failed code of the caller. If that code passed on an error of this crate, returns that
    /// error unchanged.
    #[cold]
    pub(crate) fn of_caller(message: &str, error: ArrowError) -> Self {
        match Self::from(error) {
            Self(inner) if matches!(inner.kind, ErrorKind::Arrow | ErrorKind::External) => {
                Self(Box::new(Inner {
                    kind: ErrorKind::External,
                    message: message.to_owned(),
                    ..*inner
                }))
            }
            other => other,
        }
    }

    /// Returns an [`ErrorKind::Corrupt`] error.
    #[cold]
    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Returns an [`ErrorKind::Unsupported`] error.
    #[cold]
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Returns an [`ErrorKind::InvalidArgument`] error.
    #[cold]
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Adds a place that contains the present places. If the same place was added last, it is not repeated.
    #[must_use]
    #[cold]
    pub fn within(mut self, element: impl Into<String>) -> Self {
        let element = element.into();
        if self.0.element.last() != Some(&element) {
            self.0.element.push(element);
        }
        self
    }

    /// Sets the error that caused this one. The message should not repeat it.
    #[must_use]
    #[cold]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Marks the error as a failure of the reader, which says nothing about the bytes of the shard.
    #[must_use]
    #[cold]
    pub(crate) fn of_reader(mut self) -> Self {
        self.0.is_of_reader = true;
        self
    }

    /// Whether the reader failed, which says nothing about the bytes of the shard.
    pub(crate) fn is_of_reader(&self) -> bool {
        self.0.is_of_reader
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the place of the error, outermost part first, joined by `, `. It is empty if no place is known.
    pub fn element(&self) -> String {
        let places: Vec<&str> = self.0.element.iter().rev().map(String::as_str).collect();
        places.join(", ")
    }

    /// Returns the message: the expected and the found value, and how to proceed.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the message, followed by the messages of the causes. A cause is left out if the text already contains
    /// it, because errors of other crates often repeat their cause.
    pub(crate) fn whole_message(&self) -> String {
        let mut text = self.0.message.clone();
        let mut below = std::error::Error::source(self);
        while let Some(error) = below {
            let message = error.to_string();
            if !text.contains(&message) {
                text = format!("{text}: {message}");
            }
            below = error.source();
        }
        text
    }
}

/// Shows the whole chain of errors in one line, like `{:#}`, because Rust prints the `Debug` text of an error that
/// `main` returns.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.0.kind)?;
        if !self.0.element.is_empty() {
            write!(f, "{}: ", self.element())?;
        }
        if f.alternate() {
            f.write_str(&self.whole_message())
        } else {
            f.write_str(&self.0.message)
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

/// Converts an I/O error. If it wraps an error of this crate, that error is returned unchanged.
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
            _ if is_out_of_descriptors(&error) => (
                ErrorKind::Io,
                "the process has no file descriptor left; raise its limit (`ulimit -n`), or close \
                 files"
                    .into(),
            ),
            io::ErrorKind::Other => (ErrorKind::Io, "the system or a store failed".into()),
            // The operating system's description of the kind: "no storage space", "permission denied".
            named => (ErrorKind::Io, named.to_string()),
        };
        Self::new(kind, message).caused_by(error)
    }
}

/// Whether the process or the system has no file descriptor left.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    #[cfg(unix)]
    const ERRORS: [i32; 2] = {
        use rustix::io::Errno;
        [Errno::MFILE.raw_os_error(), Errno::NFILE.raw_os_error()]
    };
    // ERROR_TOO_MANY_OPEN_FILES
    #[cfg(not(unix))]
    const ERRORS: [i32; 1] = [4];
    error.raw_os_error().is_some_and(|e| ERRORS.contains(&e))
}

/// The message for an Arrow error, which is the source and has the details.
const ARROW_FAILED: &str = "a kernel of Arrow failed";

/// The message for an error of other code, which is the source and has the details.
const EXTERNAL_FAILED: &str = "code outside of this crate failed";

/// Converts an Arrow error. If it wraps an error of this crate, that error is returned unchanged.
impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        let error = match error {
            ArrowError::ExternalError(wrapped) => match wrapped.downcast::<Self>() {
                Ok(wrapped) => return *wrapped,
                Err(other) => {
                    return Self::new(ErrorKind::External, EXTERNAL_FAILED).caused_by(other);
                }
            },
            ArrowError::IoError(_, error) => return error.into(),
            other => other,
        };
        Self::new(ErrorKind::Arrow, ARROW_FAILED).caused_by(error)
    }
}

/// Wraps the error. [`Error::from`] unwraps it, with its kind.
impl From<Error> for ArrowError {
    fn from(error: Error) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

/// Adds places to the errors of a [`Result`]. The text of the place is made only if there is an error.
pub(crate) trait Within<T> {
    /// Adds the place `element()` to the error, if there is one.
    fn within(self, element: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Within<T> for Result<T> {
    fn within(self, element: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| e.within(element()))
    }
}

/// Converts a number in a file to a length in memory. Fails if it exceeds the address space of the host.
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

    /// Returns the text of a chain of errors, with each error once.
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
            Error::of_caller(
                "a function failed",
                ArrowError::ComputeError("told by others".into()),
            ),
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
    fn an_error_is_debugged_as_it_is_displayed() {
        let io = io::Error::other("told by the system");
        let error = Error::from(io).within("file `a`");
        assert_eq!(format!("{error:?}"), format!("{error:#}"));
        assert!(format!("{error:?}").ends_with("told by the system"));
    }

    #[test]
    fn errors_of_callers_are_theirs() {
        let theirs = || Box::new(fmt::Error) as Box<dyn std::error::Error + Send + Sync>;
        let error = Error::from(ArrowError::ExternalError(theirs()));
        assert_eq!(error.kind(), ErrorKind::External);
        let source = std::error::Error::source(&error);
        assert!(source.is_some_and(|source| source.is::<fmt::Error>()));
        let error = Error::of_caller("it failed", ArrowError::ExternalError(theirs()));
        assert_eq!(error.to_string(), "external error: it failed");
        let source = std::error::Error::source(&error);
        assert!(source.is_some_and(|source| source.is::<fmt::Error>()));
        let error = Error::of_caller("it failed", ArrowError::DivideByZero);
        assert_eq!(error.kind(), ErrorKind::External);
        let ours = Error::corrupt("bad").within("block 1");
        let error = Error::of_caller("it failed", ours.into());
        assert_eq!(error.to_string(), "corrupt: block 1: bad");
    }

    #[cfg(unix)]
    #[test]
    fn a_process_without_descriptors_is_told_what_to_do() {
        for errno in [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE] {
            let error = Error::from(io::Error::from_raw_os_error(errno.raw_os_error()));
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains("ulimit"), "{error}");
        }
    }

    #[test]
    fn a_cause_that_repeats_another_is_shown_once() {
        #[derive(Debug)]
        struct Outer(fmt::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "the store failed: {}", self.0)
            }
        }
        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let error = Error::new(ErrorKind::Io, "no answer").caused_by(Outer(fmt::Error));
        let shown = format!("I/O error: no answer: the store failed: {}", fmt::Error);
        assert_eq!(format!("{error:#}"), shown);
    }

    #[test]
    fn io_errors_keep_their_cause() {
        let e = Error::from(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(e.kind(), ErrorKind::NotFound);
        assert!(std::error::Error::source(&e).is_some());
    }
}
