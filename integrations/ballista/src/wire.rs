//! The messages that carry parts of plans over shards.
//!
//! ```text
//! 00 "shard"   length   Envelope { version, body: Node }
//! ```
//!
//! No protobuf message begins with a zero byte, so these messages and the messages of other codecs cannot be confused.
//! The version is read before the node, because the fields of the node may change with the version.

use datafusion::common::{DataFusionError, Result, internal_datafusion_err, plan_datafusion_err};
use datafusion_proto::protobuf;
use datafusion_proto_common::protobuf_common;
use prost::Message;
use std::collections::BTreeMap;

/// The first bytes of a message.
const MAGIC: &[u8] = b"\0shard";

/// The version of [`Node`]. A change that an earlier release would misread needs a new version.
pub(crate) const VERSION: u32 = 1;

#[derive(Clone, PartialEq, Message)]
struct Envelope {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(bytes = "vec", tag = "2")]
    body: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(oneof = "Body", tags = "1, 2, 3, 4")]
    body: Option<Body>,
}

/// The parts of plans that messages carry.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Body {
    #[prost(message, tag = "1")]
    Scan(Box<Scan>),
    #[prost(message, tag = "2")]
    Sink(Box<Sink>),
    #[prost(message, tag = "3")]
    Table(Table),
    #[prost(message, tag = "4")]
    Format(Format),
}

/// A `DataSourceExec` that reads shards.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Scan {
    /// The configuration that all file formats share.
    #[prost(message, optional, tag = "1")]
    pub(crate) base: Option<protobuf::FileScanExecConf>,
    #[prost(btree_map = "string, string", tag = "2")]
    pub(crate) options: BTreeMap<String, String>,
    #[prost(message, optional, tag = "3")]
    pub(crate) filter: Option<protobuf::PhysicalExprNode>,
    /// Whether the scan omits rows that do not match the filter.
    #[prost(bool, tag = "4")]
    pub(crate) evaluates: bool,
    /// The order in which stripes are read; empty for the order of the file.
    #[prost(message, repeated, tag = "5")]
    pub(crate) order: Vec<protobuf::PhysicalSortExprNode>,
    /// Whether stripes are read from the last to the first.
    #[prost(bool, tag = "6")]
    pub(crate) reverse: bool,
    #[prost(bool, tag = "7")]
    pub(crate) preserve_order: bool,
    /// The limit in rows; `base` truncates it to 32 bits.
    #[prost(uint64, optional, tag = "8")]
    pub(crate) limit: Option<u64>,
    /// One entry for each file, in the order of the groups.
    #[prost(message, repeated, tag = "9")]
    pub(crate) files: Vec<File>,
}

/// Properties of a file that `base` omits.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct File {
    #[prost(string, optional, tag = "1")]
    pub(crate) e_tag: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(crate) version: Option<String>,
    /// The order of the rows; empty if it is unknown.
    #[prost(message, repeated, tag = "3")]
    pub(crate) ordering: Vec<protobuf::PhysicalSortExprNode>,
    #[prost(uint64, optional, tag = "4")]
    pub(crate) metadata_size_hint: Option<u64>,
}

/// A `DataSinkExec` that writes shards.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sink {
    #[prost(message, optional, tag = "1")]
    pub(crate) base: Option<protobuf::FileSinkConfig>,
    #[prost(string, tag = "2")]
    pub(crate) original_url: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(crate) options: BTreeMap<String, String>,
    /// The required order of the input; empty for any order.
    #[prost(message, repeated, tag = "4")]
    pub(crate) sort_order: Vec<protobuf::PhysicalSortExprNode>,
    /// The sort order that the files declare.
    #[prost(message, repeated, tag = "5")]
    pub(crate) sorting_columns: Vec<SortingColumn>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SortingColumn {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    #[prost(bool, tag = "2")]
    pub(crate) descending: bool,
    #[prost(bool, tag = "3")]
    pub(crate) nulls_first: bool,
}

/// A `ListingTable` of shards. The node that scans it carries its schema.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Table {
    #[prost(message, repeated, tag = "1")]
    pub(crate) paths: Vec<TablePath>,
    #[prost(string, tag = "2")]
    pub(crate) file_extension: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) partition_columns: Vec<protobuf::PartitionColumn>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) sort_orders: Vec<protobuf::SortExprNodeCollection>,
    #[prost(message, optional, tag = "5")]
    pub(crate) constraints: Option<protobuf_common::Constraints>,
    #[prost(btree_map = "string, string", tag = "6")]
    pub(crate) options: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TablePath {
    #[prost(string, tag = "1")]
    pub(crate) url: String,
    #[prost(string, optional, tag = "2")]
    pub(crate) glob: Option<String>,
}

/// The format of a `COPY`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Format {
    /// The options of the format; `None` for the options of the session.
    #[prost(message, optional, tag = "1")]
    pub(crate) options: Option<Options>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Options {
    #[prost(btree_map = "string, string", tag = "1")]
    pub(crate) set: BTreeMap<String, String>,
}

/// Returns whether bytes begin like a message of this module.
pub(crate) fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Appends the message of a node to `out`.
pub(crate) fn encode(body: Body, out: &mut Vec<u8>) -> Result<()> {
    let node = Node { body: Some(body) };
    out.extend_from_slice(MAGIC);
    let envelope = Envelope {
        version: VERSION,
        body: node.encode_to_vec(),
    };
    envelope
        .encode_length_delimited(out)
        .map_err(|error| internal_datafusion_err!("a plan over shards does not fit: {error}"))
}

/// Reads the node of a message; bytes after the message are an error.
pub(crate) fn decode(bytes: &[u8]) -> Result<Body> {
    let mut rest = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| damaged("it does not begin as one"))?;
    let envelope = Envelope::decode_length_delimited(&mut rest).map_err(damaged)?;
    if !rest.is_empty() {
        return Err(damaged(format!("{} bytes follow it", rest.len())));
    }
    if envelope.version != VERSION {
        return Err(plan_datafusion_err!(
            "a plan over shards has version {}, and this process reads version {VERSION}: clients, scheduler and \
             executors must be of one release of arrow-shard-ballista",
            envelope.version
        ));
    }
    let node = Node::decode(envelope.body.as_slice()).map_err(damaged)?;
    node.body.ok_or_else(|| damaged("it is empty"))
}

/// Returns the error for bytes that are not a valid plan over shards.
pub(crate) fn damaged(why: impl std::fmt::Display) -> DataFusionError {
    plan_datafusion_err!("damaged plan over shards: {why}")
}
