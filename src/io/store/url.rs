//! Locations by their URLs.

use super::{Location, Store};
use crate::error::{Error, Result};
use object_store::ObjectStoreScheme;
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use url::Url;

/// The schemes of URLs for the supported stores.
const SCHEMES: [&str; 10] = [
    "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https",
];

/// How long URLs get the same client.
const LIFE: Duration = Duration::from_secs(60);

/// Prefixes of the environment variables that configure stores, as in `from_env` of each store.
const VARIABLES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

impl Location {
    /// Returns the location of a URL: `s3://bucket/days/1.amudai.shard`, `gs:`, `az:`, `https:` and so on, or `file:`.
    /// Enable the feature of the store in the crate `object_store`: `aws`, `azure`, `gcp` or `http`. Environment
    /// variables of the stores' own tools, such as `AWS_ACCESS_KEY_ID`, configure it. `http:` allows unencrypted
    /// connections.
    ///
    /// Two URLs with the same scheme and bucket lead to the same store, but each call creates a new client: for many
    /// URLs, use [`UrlStores`].
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for any other text, and for URLs with
    /// credentials, a query or a fragment. The error does not show an invalid URL, which may contain a secret.
    pub fn from_url(url: &str) -> Result<Self> {
        UrlStores::default().at(url)
    }
}

/// Finds the stores of URLs. URLs of one bucket, container or server share a client and its connections. Connections
/// belong to the asynchronous runtime that opened them, so use one value for each runtime.
///
/// ```no_run
/// use arrow_shard::io::UrlStores;
/// use arrow_shard::ops::ShardSet;
/// # async fn of_a_year() -> arrow_shard::Result<()> {
/// let stores = UrlStores::default();
/// let days = (1..=365).map(|day| stores.at(&format!("s3://logs/{day}.amudai.shard")));
/// let table = ShardSet::open_async(days.collect::<arrow_shard::Result<Vec<_>>>()?).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct UrlStores {
    /// The stores by identity, each with the hash of the variables that configure it, and the time when it was made.
    known: Mutex<HashMap<String, (u64, Instant, Store)>>,
}

/// Shows which stores are known, and none of their configuration.
impl fmt::Debug for UrlStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(known.keys()).finish()
    }
}

impl UrlStores {
    /// Returns the location of a URL, as [`Location::from_url`] does. If an environment variable that configures stores
    /// has changed, or the client is a minute old, a new one replaces it: credentials and proxies can change elsewhere.
    ///
    /// # Errors
    /// Returns the errors of [`Location::from_url`].
    pub fn at(&self, url: &str) -> Result<Location> {
        let parsed = parse(url)?;
        match local(&parsed, url)? {
            Some(path) => Ok(Store::local().at(path)),
            None => self.object(&parsed, url),
        }
    }

    /// Returns the location of an object.
    fn object(&self, url: &Url, text: &str) -> Result<Location> {
        let no_store = |e: object_store::Error| {
            Error::invalid(format!("{text} leads to no store")).caused_by(e)
        };
        let (_, path) = ObjectStoreScheme::parse(url).map_err(|e| no_store(e.into()))?;
        // The part of the URL before the path in the store: in some URLs, it includes a bucket. An encoded slash
        // divides parts of the path, too.
        let whole = url.path().replace("%2F", "/").replace("%2f", "/");
        let names: Vec<&str> = whole.split('/').filter(|n| !n.is_empty()).collect();
        let before = names.len().saturating_sub(path.parts().count());
        let root = [url.scheme(), "://", url.authority(), "/"].concat();
        let id = root + &names.get(..before).unwrap_or_default().join("/");

        let mut variables: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| VARIABLES.iter().any(|prefix| name.starts_with(prefix)))
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
        variables.sort_unstable();
        let mut hasher = DefaultHasher::new();
        variables.hash(&mut hasher);
        let hash = hasher.finish();

        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((same, made, store)) = known.get(&id)
            && *same == hash
            && made.elapsed() < LIFE
        {
            return Ok(store.at(path.to_string()));
        }
        // A URL with `http` is an explicit request for an unencrypted connection.
        let plain = (url.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
        let options = variables.into_iter().chain(plain);
        let (store, path) = object_store::parse_url_opts(url, options).map_err(no_store)?;
        let store = Store::object(store.into()).with_id(&id);
        let location = store.at(path.to_string());
        known.insert(id, (hash, Instant::now(), store));
        Ok(location)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::sync::Arc;

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
    fn urls_of_one_bucket_share_a_client() {
        let stores = UrlStores::default();
        let store = |url: &str| stores.at(url).unwrap().object().unwrap();
        let (a, path) = store("s3://bucket/a%20b/1.shard");
        let (b, _) = store("s3://bucket/2.shard");
        let (other, _) = store("s3://other/2.shard");
        assert_eq!(path.as_ref(), "a b/1.shard");
        assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &other));
        // The bucket is the first part of the path here.
        let (a, path) = store("https://s3.eu-west-1.amazonaws.com/bucket/a/1.shard");
        let (b, _) = store("https://s3.eu-west-1.amazonaws.com/bucket/2.shard");
        let (other, _) = store("https://s3.eu-west-1.amazonaws.com/other/2.shard");
        assert_eq!(path.as_ref(), "a/1.shard");
        assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &other));
        let (b, path) = store("https://s3.eu-west-1.amazonaws.com/bucket/x%2F1.shard");
        let (other, _) = store("https://s3.eu-west-1.amazonaws.com/third/x%2f1.shard");
        assert_eq!(path.as_ref(), "x/1.shard");
        assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &other));
        assert_eq!(
            stores.at("file:///a/b").unwrap().path(),
            Some("/a/b".into())
        );
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
