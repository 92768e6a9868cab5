//! Checks and estimates of a batch, before its rows are shredded.

pub(in crate::write) mod growth;
pub(in crate::write) mod order;
pub(in crate::write) mod types;
