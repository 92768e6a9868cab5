//! Stripes, and the files that they are written to.

mod dictionary_headroom;
pub(in crate::write) mod directory;
mod lane;
pub(in crate::write) mod outbox;
pub(in crate::write) mod output;
mod packed_group;
pub(in crate::write) mod stripe;
pub(in crate::write) mod stripe_files;
pub(in crate::write) mod workers;
