//! Spec: Chapter 6, "DataRef"; docs/format.md, "URLs and safety".
//!
//! References between the files of a shard. They are relative to the folder of the directory file:
//!
//! ```text
//! ""                          the artifact that holds the reference
//! "9f9c71b5.amudai.stripe"    a file in the folder
//! "index/part%200.shard"      a file in a folder inside, percent-encoded
//! "file:///data/s/x.stripe"   absolute: only if it lies in the folder, here /data/s
//! ```

use crate::error::{Error, ErrorKind, Result};
use std::fmt::{self, Write};
use std::str::FromStr;

#[cfg(test)]
mod tests;

/// The target of a reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Reference {
    /// The artifact that contains the reference.
    This,
    /// Another artifact of the shard, or the same artifact by its name.
    Relative(RelativeUrl),
}

/// The path of an artifact below the folder of its shard. It has one or more names. A name is not empty, `.` or `..`,
/// and contains no slash, backslash or NUL. The path does not begin with a drive or a scheme. Different spellings of
/// the same path are equal.
///
/// [`Display`](fmt::Display) writes the percent-encoded URL, and [`FromStr`] parses it.
///
/// ```
/// use arrow_shard::io::RelativeUrl;
/// let url: RelativeUrl = "parts/a%20b.stripe".parse()?;
/// assert_eq!(url.path(), "parts/a b.stripe");
/// assert_eq!(url.to_string(), "parts/a%20b.stripe");
/// assert!("../a.stripe".parse::<RelativeUrl>().is_err());
/// # Ok::<(), arrow_shard::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelativeUrl {
    /// The decoded path. `/` separates the names.
    path: String,
}

impl RelativeUrl {
    /// Returns the URL of the file `name`, taken literally, in the folder of the shard.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](ErrorKind::InvalidArgument) if a shard cannot refer to such a name.
    pub fn from_file_name(name: &str) -> Result<Self> {
        Self::from_names([name])
    }

    /// Returns the URL of a file below the folder of the shard. `names` are the names on its path, taken literally.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](ErrorKind::InvalidArgument) if a shard cannot refer to such names.
    pub(crate) fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut path = String::new();
        for name in names {
            check_segment(name).map_err(|why| unfit(name, why))?;
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
        }
        let checked = if path.is_empty() {
            check_segment(&path)
        } else {
            check_start(&path)
        };
        checked.map_err(|why| unfit(&path, why))?;
        Ok(Self { path })
    }

    /// Returns the decoded path, with names separated by `/`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the decoded names, starting from the folder of the shard.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/')
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        // URL parsers drop or convert these characters, so another reader might see another path.
        if text.bytes().any(|b| b.is_ascii_control() || b == b'\\') {
            return Err("it holds a control character or a backslash");
        }
        if text.starts_with(' ') || text.ends_with(' ') {
            return Err("it starts or ends with a space");
        }
        if text.contains(['?', '#']) {
            return Err("it has a query or a fragment");
        }
        let segments = text
            .split('/')
            .map(|segment| {
                let segment = decode(segment)?;
                check_segment(&segment)?;
                Ok(segment)
            })
            .collect::<Result<Vec<_>, &'static str>>()?;
        let path = segments.join("/");
        check_start(&path)?;
        Ok(Self { path })
    }
}

impl FromStr for RelativeUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text).map_err(|why| forbidden(text, why))
    }
}

impl fmt::Display for RelativeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        encode(&self.path, f)
    }
}

/// Writes a path with percent-encoding.
pub(super) fn encode(path: &str, out: &mut impl Write) -> fmt::Result {
    for byte in path.bytes() {
        // Characters that every URL parser leaves unchanged in a path (RFC 3986 `pchar`, and the separator).
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=@:/".contains(&byte) {
            out.write_char(char::from(byte))?;
        } else {
            write!(out, "%{byte:02X}")?;
        }
    }
    Ok(())
}

/// Whether a reference is an absolute URL, with a scheme and a host.
pub(crate) fn is_absolute(reference: &str) -> bool {
    Absolute::parse(reference).is_some()
}

/// Resolves `reference`, the URL of a `DataRef`. `base` is the folder of the shard's directory file as an absolute URL
/// or an absolute path, if it is known.
///
/// # Errors
/// Returns [`ForbiddenUrl`](ErrorKind::ForbiddenUrl) if the reference leads out of that folder, or might.
pub(crate) fn resolve(reference: &str, base: Option<&str>) -> Result<Reference> {
    if reference.is_empty() {
        return Ok(Reference::This);
    }
    let relative = match Absolute::parse(reference) {
        None => RelativeUrl::parse(reference),
        Some(url) => match base.map(Absolute::container) {
            Some(Some(base)) => url.below(&base),
            _ => Err("it is absolute, and where the shard lies is not known"),
        },
    };
    match relative {
        Ok(url) => Ok(Reference::Relative(url)),
        Err(why) => Err(forbidden(reference, why)),
    }
}

/// The parts of an absolute URL, `scheme://authority/path`. The path is still encoded.
struct Absolute<'a> {
    scheme: String,
    authority: &'a str,
    path: &'a str,
}

impl<'a> Absolute<'a> {
    /// Returns `None` if `text` does not begin with `scheme://`.
    fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        if !is_scheme(scheme) {
            return None;
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let scheme = scheme.to_ascii_lowercase();
        let local = scheme == "file" && authority.eq_ignore_ascii_case("localhost");
        Some(Self {
            scheme,
            authority: if local { "" } else { authority },
            path,
        })
    }

    /// Returns the scheme, authority and decoded names of a folder, or `None` if `base` is neither an absolute URL nor
    /// an absolute path.
    fn container(base: &'a str) -> Option<(String, String, Vec<String>)> {
        let folder = |path: &str, decode: fn(&str) -> Result<String, &'static str>| {
            path.split('/')
                .filter(|name| !name.is_empty())
                .map(|name| decode(name).ok())
                .collect::<Option<Vec<_>>>()
        };
        if let Some(url) = Self::parse(base) {
            let names = folder(url.path, decode)?;
            return Some((url.scheme, url.authority.to_owned(), names));
        }
        // `\\?\` marks a path as literal on Windows, where both slashes separate.
        let path = base.strip_prefix(r"\\?\").unwrap_or(base);
        let windows = has_drive(path);
        if !windows && !path.starts_with('/') {
            return None;
        }
        let path = if windows {
            path.replace('\\', "/")
        } else {
            path.to_owned()
        };
        let names = folder(&path, |name| Ok(name.to_owned()))?;
        Some(("file".to_owned(), String::new(), names))
    }

    /// Returns the path of this URL relative to a container.
    fn below(
        &self,
        (scheme, authority, names): &(String, String, Vec<String>),
    ) -> Result<RelativeUrl, &'static str> {
        const OUTSIDE: &str = "it is absolute and leads out of the shard's folder";
        if self.authority.contains('@') {
            return Err("it holds a user name or a password");
        }
        if self.scheme != *scheme || !self.authority.eq_ignore_ascii_case(authority) {
            return Err(OUTSIDE);
        }
        let mut rest = self.path.strip_prefix('/').ok_or(OUTSIDE)?;
        for name in names {
            let (first, other) = rest.split_once('/').ok_or(OUTSIDE)?;
            if decode(first)? != *name {
                return Err(OUTSIDE);
            }
            rest = other;
        }
        RelativeUrl::parse(rest)
    }
}

fn unfit(name: &str, why: &str) -> Error {
    Error::invalid(format!(
        "no shard can refer to a file named `{}`: {why}",
        name.escape_debug()
    ))
}

fn forbidden(reference: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::ForbiddenUrl,
        format!(
            "the reference `{}` is refused: {why}",
            reference.escape_debug()
        ),
    )
}

/// Checks a decoded name.
fn check_segment(segment: &str) -> Result<(), &'static str> {
    match segment {
        "" => Err("it has an empty segment, or starts or ends with a slash"),
        "." | ".." => Err("it navigates with `.` or `..`"),
        _ if segment.contains(['/', '\\']) => Err("it holds a slash or backslash inside a name"),
        _ if segment.contains('\0') => Err("it holds a NUL"),
        _ if has_drive(segment) => Err("it names a drive"),
        _ => Ok(()),
    }
}

/// Checks the beginning of a decoded path.
fn check_start(path: &str) -> Result<(), &'static str> {
    match path.split_once(':') {
        Some((scheme, _)) if is_scheme(scheme) => Err("it has a scheme"),
        _ => Ok(()),
    }
}

/// Returns whether a text begins with a scheme and `://`. A single letter is no scheme, but a drive of Windows.
///
/// ```
/// use arrow_shard::io::is_url;
/// assert!(is_url("s3://bucket/t.amudai.shard") && !is_url("folder/t.amudai.shard"));
/// ```
pub fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.len() > 1 && is_scheme(scheme))
}

/// `ALPHA *(ALNUM / "+" / "-" / ".")`
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

fn has_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Percent-decodes one segment.
pub(super) fn decode(segment: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| char::from(b?).to_digit(16);
        let value = digit(rest.next())
            .zip(digit(rest.next()))
            .and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(value.ok_or("a `%` is not followed by two hexadecimal digits")?);
    }
    String::from_utf8(bytes).map_err(|_| "its percent-encoding is no UTF-8")
}
