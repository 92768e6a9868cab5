//! Commands that answer questions about files.

pub(crate) mod count;
pub(crate) mod diff;
mod facts;
pub(crate) mod info;
mod reservoir;
pub(crate) mod sample;
pub(crate) mod stats;
pub(crate) mod tail;
