//! Changes to finished shards: new directories over buffers that stay in place.
//!
//! A directory lists the buffers of a shard, and buffers never change. Merging shards, renaming columns and deleting
//! rows therefore only write a directory, which takes milliseconds for shards of any size. Readers that have the old
//! shard open continue to read it, and its files are not touched.
//!
//! ```text
//! before                          after: a.delete_rows([7]), a.append(b)
//!
//! a.shard ──► stripe, stripe      a.shard ──► stripe, stripe, deleted rows ──┐
//! b.shard ──► stripe              b.shard ──► stripe                         │ refers to
//!                                     ▲────────────────────────────────────────┘
//! ```
//!
//! [`ShardEditor`] collects the changes and [commits](ShardEditor::commit) them together. The result is a shard of
//! several files, which must be kept together; `pack` combines them into one file again.

#![cfg_attr(
    target_family = "wasm",
    allow(
        dead_code,
        reason = "shards in memory need less than those in folders and stores"
    )
)]

mod added;
mod arrow;
mod beside;
mod columns;
mod commit;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
mod compact;
mod constant;
mod deletes;
mod editor;
mod file_count;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
mod held;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
mod limited;
#[cfg(not(target_family = "wasm"))]
mod local;
#[cfg(not(target_family = "wasm"))]
mod local_path;
mod node;
#[cfg(feature = "object_store")]
mod object;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
mod overlap;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
mod pack;
mod place;
mod progress;
mod row_set;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
mod set;
mod sinks;
mod source;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
mod vacuum;
mod wires;

pub use commit::EditSummary;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub use compact::CompactOptions;
#[cfg(not(target_family = "wasm"))]
pub use compact::{compact, compact_to, compaction};
#[cfg(feature = "object_store")]
pub use compact::{compact_object, compact_object_to, compaction_object};
pub use editor::ShardEditor;
pub use file_count::FileCount;
#[cfg(feature = "object_store")]
pub use held::held_shard_objects;
#[cfg(not(target_family = "wasm"))]
pub use held::held_shards;
#[cfg(not(target_family = "wasm"))]
pub use local::{list_shards, merge};
#[cfg(feature = "object_store")]
pub use object::list_shard_objects;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub use overlap::LeftOut;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub use pack::PackOptions;
#[cfg(not(target_family = "wasm"))]
pub use pack::pack;
#[cfg(feature = "object_store")]
pub use pack::pack_object;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub use place::SHARD_FILE_SUFFIX;
pub use progress::EditProgress;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub use set::ShardSet;
#[cfg(not(target_family = "wasm"))]
pub use set::held_by_others;
#[cfg(feature = "object_store")]
pub use set::objects_held_by_others;
#[cfg(any(not(target_family = "wasm"), feature = "object_store"))]
pub use vacuum::VacuumOptions;
#[cfg(not(target_family = "wasm"))]
pub use vacuum::{UnusedFile, vacuum};
#[cfg(feature = "object_store")]
pub use vacuum::{UnusedObject, vacuum_objects};
