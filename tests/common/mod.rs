//! Helpers of the integration tests: random schemas and data, and comparison of data.
#![allow(
    dead_code,
    reason = "each test is a crate of its own and uses a part of this"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a generator that fails is a failed test"
)]

pub(crate) mod arrays;
pub(crate) mod equal;
pub(crate) mod native;
pub(crate) mod schemas;
mod values;
