//! Tests of shards on clusters: messages, one process, many processes, and another engine.
//!
//! All tests are one program, because each program links DataFusion and Ballista.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed helper is a failed test"
)]

mod cluster;
mod codec;
mod damage;
mod distributed;
mod dynamic_filters;
mod lost_executor;
#[path = "../../../../tests/support/moto.rs"]
mod moto;
mod process;
mod standalone;
mod tables;
