//! Tests of other formats, with the public API.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed helper is a failed test"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/logged.rs"]
mod logged;

mod cole;
mod cole_damaged;
mod cole_golden;
