//! Write and read back, also in builds without any feature.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed helper is a failed test"
)]

#[path = "../support/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod attached;
mod roundtrip;
mod sinks;
mod take;
mod writer;
