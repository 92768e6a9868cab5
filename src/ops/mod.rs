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
//!
//! With the feature `parquet`, `attach` makes a shard over Parquet files: its directory refers to their column chunks,
//! and their rows are not copied. `docs/guide/parquet-lake.md` describes such shards.
//!
//! A shard is at a [`Location`](crate::io::Location): the path of a local file, or a file of a
//! [`Store`](crate::io::Store). Each function has a blocking form for local files and memory, and an `_async` form for
//! any store.

mod added_column;
mod arrow;
#[cfg(feature = "parquet")]
mod attach;
mod column_file;
mod commit;
mod compact;
mod constant;
mod contained_shards;
mod deletes;
mod edited_columns;
mod editor;
mod editor_store;
mod field_adapter;
mod files;
mod members;
mod merge;
mod needed_files;
mod opening_options;
mod overlap;
mod pack;
mod progress;
mod put;
mod row_set;
mod set;
mod set_options;
mod source;
mod unify;
mod united_node;
mod vacuum;
mod widening;
mod wires;

pub use crate::arrow::widened_type;
pub use crate::io::{FileCount, SHARD_FILE_SUFFIX};
#[cfg(feature = "parquet")]
pub use attach::{
    AttachOptions, attach, attach_async, attach_with, attach_with_async, list_parquet_files,
    list_parquet_files_async,
};
pub use commit::EditSummary;
pub use compact::{
    CompactOptions, compact, compact_async, compact_to, compact_to_async, plan_compaction,
    plan_compaction_async,
};
pub use contained_shards::{held_by_others, held_by_others_async, held_shards, held_shards_async};
pub use deletes::DeleteOptions;
pub use editor::ShardEditor;
pub use files::{list_files, list_files_async};
pub use members::{list_shards, list_shards_async};
pub use merge::{MergeOptions, merge, merge_async, merge_with, merge_with_async};
pub use overlap::{LeftOut, Overlap};
pub use pack::{PackOptions, pack, pack_async};
pub use set::{ShardColumn, ShardSet};
pub use set_options::ShardSetOptions;
pub use unify::Unify;
pub use vacuum::{
    UnusedFile, VacuumOptions, VacuumReport, vacuum, vacuum_async, vacuum_report,
    vacuum_report_async,
};
