//! Stripes, and the files that they are written to.

mod dictionary_headroom;
pub(in crate::write) mod directory;
mod lane;
pub(in crate::write) mod outbox;
mod packed_group;
pub(in crate::write) mod positioned_sink;
pub(in crate::write) mod stripe;
pub(in crate::write) mod stripe_files;
pub(in crate::write) mod workers;
