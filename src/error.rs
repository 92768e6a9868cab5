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
    /// The bytes are not an Amudai shard at all, or there is a folder or a device in place of a file.
    NotAShard,
    /// The shard's major format version is newer than this reader.
    UnsupportedVersion,
    /// Bytes of the shard contradict the format or each other.
    Corrupt,
    /// A stored checksum does not match the bytes that it covers.
    Checksum,
    /// A file that the shard refers to is whole, but is not the one that the shard was written with.
    WrongFile,
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
    /// Another file or object has taken the place of the one that was opened. Opening the shard again
    /// helps, repeating the read does not.
    Replaced,
    /// The file does not exist.
    NotFound,
    /// A reference points outside the places a shard may refer to.
    ForbiddenUrl,
    /// An earlier write failed, so that nothing more can be written.
    Poisoned,
    /// An Arrow kernel failed.
    Arrow,
    /// Code of the caller failed, such as a function in a filter. Its error is the
    /// [`source`](std::error::Error::source).
    External,
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
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    /// Outermost place last, because places are added while the error travels up.
    element: Vec<String>,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// Whether a reader failed, so that nothing is known of the bytes.
    is_of_reader: bool,
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
            is_of_reader: false,
        }))
    }

    /// The error of code of the caller. An error of this crate that it passes on comes back as it was.
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

    /// Adds the place that contains the places named so far. A place that was named last is not named
    /// again.
    #[must_use]
    #[cold]
    pub fn within(mut self, element: impl Into<String>) -> Self {
        let element = element.into();
        if self.0.element.last() != Some(&element) {
            self.0.element.push(element);
        }
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

    /// Notes that a reader failed: the error says nothing about the shard.
    #[must_use]
    #[cold]
    pub(crate) fn of_reader(mut self) -> Self {
        self.0.is_of_reader = true;
        self
    }

    /// Whether a reader failed, so that nothing is known of the bytes.
    pub(crate) fn is_of_reader(&self) -> bool {
        self.0.is_of_reader
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

    /// The message, and what the errors below say. Errors of others often repeat the one below them, which
    /// is then left out.
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

/// Shows the text of the error and of those below it in one line, like `{:#}`: this is what Rust prints
/// of an error that `main` returns.
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
            _ if is_out_of_descriptors(&error) => (
                ErrorKind::Io,
                "the process has no file descriptor left; raise its limit (`ulimit -n`), or close \
                 files"
                    .into(),
            ),
            io::ErrorKind::Other => (ErrorKind::Io, "the system or a store failed".into()),
            // The system's own words for the kind: "no storage space", "permission denied".
            named => (ErrorKind::Io, named.to_string()),
        };
        Self::new(kind, message).caused_by(error)
    }
}

/// Whether the process, or the system, has no file descriptor left.
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

/// The message of an error that says no more than its source.
const ARROW_FAILED: &str = "a kernel of Arrow failed";

/// The message of an error that code outside of Arrow and this crate has wrapped.
const EXTERNAL_FAILED: &str = "code outside of this crate failed";

/// An error of this crate that was wrapped comes back as it was.
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
