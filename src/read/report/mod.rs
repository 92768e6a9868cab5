//! Reports on a shard: statistics for planners, its structure, and whether it is sound.

mod concurrent_parts;
pub(in crate::read) mod inspect;
pub(in crate::read) mod nodes;
mod statistics;
#[cfg(any(test, feature = "experimental"))]
mod stored_metadata;
pub(in crate::read) mod verify;
