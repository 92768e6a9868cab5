//! Names of files that this crate generates: stripe files and temporary files.

use crate::error::{Error, Result};
use std::hash::{BuildHasher, Hasher};

/// The suffix of the names of stripe files.
pub const STRIPE_FILE_SUFFIX: &str = ".amudai.stripe";

/// The prefix and suffix of the name of a temporary file.
pub(super) const TEMPORARY_PREFIX: &str = ".arrow-shard.";
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";

/// Number of hexadecimal digits in the name of a stripe file.
const STRIPE_DIGITS: usize = 16;

/// Returns a new name for a file with rows that shards of its folder will refer to. Lists of a folder's shards skip
/// such a file, [`vacuum`](crate::ops::vacuum()) removes it if no shard refers to it, and no commit replaces it. A
/// shard that is written to a [sink](super::SinkFactory) of this name, and then appended to another, needs no second
/// name.
///
/// ```
/// let name = arrow_shard::io::random_stripe_file_name();
/// assert!(name.ends_with(".amudai.stripe"));
/// ```
pub fn random_stripe_file_name() -> String {
    let random = std::collections::hash_map::RandomState::new().build_hasher();
    stripe_file_name(random.finish())
}

fn stripe_file_name(random: u64) -> String {
    format!("{random:0STRIPE_DIGITS$x}{STRIPE_FILE_SUFFIX}")
}

/// Whether [`random_stripe_file_name`] generates such names. Earlier versions omitted leading zeros.
pub(crate) fn is_own_stripe_file(name: &str) -> bool {
    name.strip_suffix(STRIPE_FILE_SUFFIX).is_some_and(|digits| {
        let mut bytes = digits.bytes();
        (1..=STRIPE_DIGITS).contains(&digits.len())
            && bytes.all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Whether this is the name of a temporary file of a sink.
pub(crate) fn is_temporary(name: &str) -> bool {
    writer_of(name).is_some()
}

/// Returns the writer's name in the name of a temporary file.
pub(super) fn writer_of(name: &str) -> Option<&str> {
    let writer = name
        .strip_prefix(TEMPORARY_PREFIX)?
        .strip_suffix(TEMPORARY_SUFFIX)?;
    Some(writer.split_once('-').map_or(writer, |(writer, _)| writer))
}

/// Fails if the name of an output is reserved: vacuums and writers remove files with such names.
///
/// # Errors
/// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
pub(crate) fn check_output_name(name: &str) -> Result<()> {
    if name.ends_with(STRIPE_FILE_SUFFIX) {
        return Err(Error::invalid(format!(
            "names that end in `{STRIPE_FILE_SUFFIX}` are reserved for the data files of shards; choose another \
             name"
        )));
    }
    if is_temporary(name) {
        return Err(Error::invalid(format!(
            "names like `{TEMPORARY_PREFIX}*{TEMPORARY_SUFFIX}` are reserved for temporary files; choose \
             another name"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::RelativeUrl;

    #[test]
    fn stripe_files_have_the_usual_name() {
        assert_eq!(stripe_file_name(0x9f9c), "0000000000009f9c.amudai.stripe");
        let name = stripe_file_name(u64::MAX);
        let url = RelativeUrl::from_file_name(&name).unwrap();
        assert_eq!(url.to_string(), name, "needs no encoding");
        for own in [&*name, "0.amudai.stripe", "9f9c.amudai.stripe"] {
            assert!(is_own_stripe_file(own), "{own}");
        }
        for other in [
            "mine.amudai.stripe",
            "9F9C.amudai.stripe",
            "0123456789abcdef0.amudai.stripe",
            ".amudai.stripe",
            "9f9c.amudai.shard",
            "+f.amudai.stripe",
        ] {
            assert!(!is_own_stripe_file(other), "{other}");
        }
    }

    #[test]
    fn outputs_take_no_names_of_files_that_are_removed() {
        for name in ["a.amudai.shard", "a.stripe", ".arrow-shard.tmp", "a.tmp"] {
            check_output_name(name).unwrap();
        }
        for name in ["a.amudai.stripe", ".amudai.stripe", ".arrow-shard.x.tmp"] {
            let error = check_output_name(name).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument, "{error}");
        }
    }
}
