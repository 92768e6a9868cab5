//! Reports on a shard: statistics for planners, its structure, and whether it is sound.

mod ahead;
pub(in crate::read) mod inspect;
pub(in crate::read) mod nodes;
mod statistics;
#[cfg(any(test, feature = "experimental"))]
mod stored;
pub(in crate::read) mod verify;
