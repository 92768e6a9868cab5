//! Lance files, which the program `arrow-shard-lance` converts. It is separate, because it needs some 250 more crates.

use crate::external;
use crate::failure::Failure;
use std::env;
use std::io::ErrorKind;

const PROGRAM: &str = "arrow-shard-lance";

/// Runs the command line of this process with the program for Lance, which is next to this program or on PATH.
pub(crate) fn convert() -> Result<(), Failure> {
    external::run(PROGRAM, env::args_os().skip(1)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let folder = "integrations/lance (needs protoc)";
            external::not_installed(PROGRAM, "Lance files need", folder)
        }
        _ => Failure::from(error).within(PROGRAM),
    })
}
