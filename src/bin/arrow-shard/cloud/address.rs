//! URLs on the command line, and their validation.

use arrow_shard::{Error, ErrorKind, Result};
use std::path::PathBuf;
use url::Url;

/// The schemes of URLs for the supported stores.
const SCHEMES: [&str; 10] = [
    "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https",
];

/// A URL that contains only a location: no credentials, query or fragment.
pub(crate) struct Address {
    pub(super) url: Url,
    /// The URL as the user wrote it.
    pub(super) text: String,
}

impl Address {
    /// Checks a URL. Errors do not show it, because an invalid URL may contain a secret.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.contains(char::is_control) || text.ends_with(' ') {
            // The parser would drop these characters, and name another object.
            return Err(invalid(
                "expected a URL without line breaks, tabulators and blanks at its end; write `%20` for a \
                 blank",
            ));
        }
        let url = Url::parse(text).map_err(|e| invalid(format!("not a URL: {e}")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid(
                "expected a URL without a user and a password; stores are configured by environment \
                 variables",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(invalid(
                "expected a URL without a query (`?`) and a fragment (`#`); write `%3F` and `%23` in \
                 names, and configure stores by environment variables",
            ));
        }
        let scheme = url.scheme();
        if scheme != "file" && !SCHEMES.contains(&scheme) {
            return Err(invalid(format!(
                "`{scheme}` is no kind of URL that is read and written; there are s3, az, gs, http, https \
                 and file"
            )));
        }
        Ok(Self {
            text: text.to_owned(),
            url,
        })
    }

    /// Returns the path, if the URL names a file of this machine.
    pub(crate) fn local(&self) -> Result<Option<PathBuf>> {
        if self.url.scheme() != "file" {
            return Ok(None);
        }
        let path = self.url.to_file_path();
        path.map(Some)
            .map_err(|()| invalid(format!("{} is no path of this machine", self.text)))
    }
}

pub(super) fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_of_a_url_or_may_be_a_secret_is_refused_and_not_shown() {
        for url in [
            "s3://b/out#secret.amudai.shard",
            "file:///t#secret.shard",
            "s3://b/t.shard#",
            "s3://b/t.shard?secret",
            "https://secret@example.org/t.shard",
            "https://:secret@example.org/t.shard",
            "https://secret:secret@example.org:port/t.shard",
            "s3://b/t\nsecret.shard",
            "s3://b/secret.shard ",
        ] {
            let error = Address::parse(url).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn schemes_are_known() {
        for url in ["memory:///t.shard", "nfs://host/t", "data://x/t"] {
            let error = Address::parse(url).err().unwrap().to_string();
            assert!(error.contains("s3, az, gs"), "{error}");
        }
        for scheme in SCHEMES {
            assert!(Address::parse(&format!("{scheme}://b/a%23b c/t")).is_ok());
        }
    }

    #[cfg(unix)]
    #[test]
    fn escapes_are_part_of_a_local_path() {
        let path = |url: &str| Address::parse(url).unwrap().local().unwrap();
        assert_eq!(path("file:///a%20b/%23.csv"), Some("/a b/#.csv".into()));
        assert_eq!(path("s3://a/b"), None);
        assert!(Address::parse("file://host/a").unwrap().local().is_err());
    }
}
