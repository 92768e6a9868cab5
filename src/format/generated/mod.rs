//! Code that `cargo run -p codegen` makes from `proto/` and `fbs/`. Do not edit.
//!
//! The messages serve `wire` and nothing else. Of the FlatBuffers code only the builders are used
//! outside of tests: reading goes through `flat`, which needs no walk over the whole buffer.

// The generators decide what this code looks like: it has no doc comments but those of the
// definitions, items that nobody uses, and accessors that are unsafe inside.
#![allow(
    clippy::all,
    dead_code,
    missing_docs,
    rust_2018_idioms,
    unreachable_pub,
    unused_imports
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::unwrap_used
)]
#![allow(unsafe_code)]

#[rustfmt::skip]
pub(crate) mod reference_messages;
#[rustfmt::skip]
pub(crate) mod reference_schema;
#[rustfmt::skip]
pub(crate) mod spec_messages;
#[rustfmt::skip]
pub(crate) mod spec_schema;
