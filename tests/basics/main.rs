//! Writing and reading back, in builds without any feature too.

#[path = "../support/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod roundtrip;
mod sinks;
mod take;
mod writer;
