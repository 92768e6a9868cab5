//! Locations by their URLs.

use super::{Location, Store};
use crate::error::{Error, Result};
use std::path::PathBuf;
use url::Url;

/// The schemes of URLs for the supported stores.
const SCHEMES: [&str; 10] = [
    "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https",
];

/// Prefixes of the environment variables that configure stores, as in `from_env` of each store.
const VARIABLES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

impl Location {
    /// Returns the location of a URL: `s3://bucket/days/1.amudai.shard`, `gs:`, `az:`, `https:` and so on, or `file:`.
    /// Enable the feature of the store in the crate `object_store`: `aws`, `azure`, `gcp` or `http`. Environment
    /// variables of the stores' own tools, such as `AWS_ACCESS_KEY_ID`, configure it. `http:` allows unencrypted
    /// connections.
    ///
    /// Two URLs with the same scheme and bucket lead to the same store.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for any other text, and for URLs with
    /// credentials, a query or a fragment. The error does not show an invalid URL, which may contain a secret.
    pub fn from_url(url: &str) -> Result<Self> {
        let parsed = parse(url)?;
        match local(&parsed, url)? {
            Some(path) => Ok(Store::local().at(path)),
            None => object(&parsed, url),
        }
    }
}

fn parse(text: &str) -> Result<Url> {
    if text.contains(char::is_control) || text.ends_with(' ') {
        // The parser would drop these characters, and name another object.
        return Err(Error::invalid(
            "expected a URL without line breaks, tabulators and blanks at its end; write `%20` for a blank",
        ));
    }
    let url = Url::parse(text).map_err(|e| Error::invalid(format!("not a URL: {e}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::invalid(
            "expected a URL without a user and a password; stores are configured by environment variables",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(Error::invalid(
            "expected a URL without a query (`?`) and a fragment (`#`); write `%3F` and `%23` in names, and \
             configure stores by environment variables",
        ));
    }
    let scheme = url.scheme();
    if scheme != "file" && !SCHEMES.contains(&scheme) {
        return Err(Error::invalid(format!(
            "`{scheme}` is no kind of URL that is read and written; there are s3, az, gs, http, https and file"
        )));
    }
    Ok(url)
}

/// Returns the path, if the URL names a file of this machine.
fn local(url: &Url, text: &str) -> Result<Option<PathBuf>> {
    if url.scheme() != "file" {
        return Ok(None);
    }
    let path = url.to_file_path();
    path.map(Some)
        .map_err(|()| Error::invalid(format!("{text} is no path of this machine")))
}

/// Returns the location of an object.
fn object(url: &Url, text: &str) -> Result<Location> {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        let is_known = VARIABLES.iter().any(|prefix| name.starts_with(prefix));
        is_known.then_some((name.to_ascii_lowercase(), value.into_string().ok()?))
    });
    // A URL with `http` is an explicit request for an unencrypted connection.
    let plain = (url.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
    let (store, path) = object_store::parse_url_opts(url, variables.chain(plain))
        .map_err(|e| Error::invalid(format!("{text} leads to no store")).caused_by(e))?;
    // The part of the URL before the path in the store: in some URLs, it includes a bucket.
    let names: Vec<&str> = url.path().split('/').filter(|n| !n.is_empty()).collect();
    let before = names.len().saturating_sub(path.parts().count());
    let root = [url.scheme(), "://", url.authority(), "/"].concat();
    let id = root + &names.get(..before).unwrap_or_default().join("/");
    let store = Store::object(store.into()).with_id(&id);
    Ok(store.at(path.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

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
            let error = Location::from_url(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn schemes_are_known() {
        for url in ["memory:///t.shard", "nfs://host/t", "data://x/t"] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains("s3, az, gs"), "{error}");
        }
        for scheme in SCHEMES {
            assert!(parse(&format!("{scheme}://b/a%23b c/t")).is_ok());
        }
    }

    #[cfg(unix)]
    #[test]
    fn escapes_are_part_of_a_local_path() {
        let path = |url: &str| local(&parse(url).unwrap(), url).unwrap();
        assert_eq!(path("file:///a%20b/%23.csv"), Some("/a b/#.csv".into()));
        assert_eq!(path("s3://a/b"), None);
        let host = "file://host/a";
        assert!(local(&parse(host).unwrap(), host).is_err());
    }
}
