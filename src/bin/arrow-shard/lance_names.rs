//! Names of Lance files, and the conversions that they allow. The program `arrow-shard-lance` compiles this file, too.

use crate::file_format::{FileFormat, is_standard};
use std::path::Path;

/// Whether a path names a Lance file or the folder of a Lance dataset.
pub(crate) fn is_lance(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("lance"))
}

/// Checks the names of a conversion from or to Lance. A name that shows no format may be a shard.
///
/// # Errors
/// Returns the message of a usage error if not exactly one of the files is Lance, or the other one is not a shard.
pub(crate) fn check_conversion(input: &Path, output: &Path) -> Result<(), String> {
    let other = match (is_lance(input), is_lance(output)) {
        (true, false) => output,
        (false, true) => input,
        _ => {
            return Err(format!(
                "one of `{}` and `{}` must be Lance, with a name that ends in .lance, and the other one a shard",
                input.display(),
                output.display()
            ));
        }
    };
    let kind = if is_standard(other) {
        "standard input or output".to_owned()
    } else {
        match FileFormat::by_name(other) {
            None | Some(FileFormat::Shard) => return Ok(()),
            Some(format) => format.to_string(),
        }
    };
    Err(format!(
        "Lance is converted to and from shards only, and `{}` is {kind}; convert twice, with a shard in between",
        other.display()
    ))
}
