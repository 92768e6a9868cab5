//! The kernels, which contain the library's `unsafe` loops, with their tests. Miri takes minutes to compile the whole
//! library, but the kernels need few of its dependencies. For other compilers, this crate is empty.

#![cfg_attr(
    miri,
    allow(dead_code, unused_imports, reason = "the library uses what is here")
)]
#![cfg_attr(miri, warn(unsafe_code))]

#[cfg(miri)]
#[path = "../../src/error.rs"]
mod error;
#[cfg(miri)]
#[path = "../../src/kernels/mod.rs"]
mod kernels;

#[cfg(miri)]
pub use error::{Error, ErrorKind, Result};
