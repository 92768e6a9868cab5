//! Decodes pyarrow's pickled form of an expression: an IPC file with a batch of one row, which holds the literals and
//! options, and metadata that list the nodes of the tree, beginning with the outermost call.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::root_as_footer;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::io::Cursor;

/// A node of an expression.
#[derive(Debug)]
pub(super) enum Node {
    /// A column, or a member of a struct: the path of names.
    Field(Vec<String>),
    /// An array of one value.
    Literal(ArrayRef),
    Call(Call),
}

/// A call of a function.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Vec<Node>,
    /// A struct of one row.
    pub(super) options: Option<ArrayRef>,
}

impl Node {
    /// Returns the top-level columns that the node refers to.
    pub(super) fn columns(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.add_columns(&mut names);
        names
    }

    fn add_columns(&self, names: &mut Vec<String>) {
        match self {
            Self::Field(path) => {
                if let Some(name) = path.first().filter(|name| !names.contains(name)) {
                    names.push(name.clone());
                }
            }
            Self::Literal(_) => {}
            Self::Call(call) => call
                .arguments
                .iter()
                .for_each(|node| node.add_columns(names)),
        }
    }
}

/// Returns the tree of an expression; `None` if pyarrow does not pickle it, or in an unknown form.
pub(super) fn decode(expression: &Bound<'_, PyAny>) -> Option<Node> {
    let reduced = expression.call_method0("__reduce__").ok()?;
    let (_, arguments): (Bound<'_, PyAny>, Bound<'_, PyTuple>) = reduced.extract().ok()?;
    let buffer = arguments.get_item(0).ok()?;
    let bytes: Vec<u8> = buffer.call_method0("to_pybytes").ok()?.extract().ok()?;
    let mut tokens = tokens(&bytes)?.into_iter();
    let mut reader = FileReader::try_new(Cursor::new(bytes), None).ok()?;
    let batch = reader.next()?.ok()?;
    let node = node(&mut tokens, &batch, 0)?;
    tokens.next().is_none().then_some(node)
}

/// The kind of a piece of the tree, and its value.
type Token = (String, String);

/// Returns the metadata of the file's schema, in their order, because some keys repeat.
fn tokens(file: &[u8]) -> Option<Vec<Token>> {
    const MAGIC: &[u8] = b"ARROW1";
    let rest = file.strip_suffix(MAGIC)?;
    let (rest, len) = rest.split_last_chunk::<4>()?;
    let len = usize::try_from(i32::from_le_bytes(*len)).ok()?;
    let footer = rest.get(rest.len().checked_sub(len)?..)?;
    let pairs = root_as_footer(footer).ok()?.schema()?.custom_metadata()?;
    let token = |key: Option<&str>, value: Option<&str>| Some((key?.to_owned(), value?.to_owned()));
    pairs
        .iter()
        .map(|pair| token(pair.key(), pair.value()))
        .collect()
}

/// Most levels of a tree, because the recursion over them takes stack space.
const MAX_DEPTH: usize = 256;

/// Decodes the node that begins at the next token.
fn node(tokens: &mut std::vec::IntoIter<Token>, batch: &RecordBatch, depth: usize) -> Option<Node> {
    if depth > MAX_DEPTH {
        return None;
    }
    let (kind, value) = tokens.next()?;
    match kind.as_str() {
        "field_ref" => Some(Node::Field(vec![value])),
        "nested_field_ref" => {
            let count: usize = value.parse().ok()?;
            let name = |_| tokens.next().filter(|(kind, _)| kind == "field_ref");
            let names: Option<Vec<Token>> = (0..count).map(name).collect();
            Some(Node::Field(
                names?.into_iter().map(|(_, name)| name).collect(),
            ))
        }
        "literal" => Some(Node::Literal(column(batch, &value)?)),
        "call" => {
            let (mut arguments, mut options) = (Vec::new(), None);
            loop {
                match tokens.as_slice().first()? {
                    (kind, _) if kind == "end" => {
                        tokens.next();
                        break;
                    }
                    (kind, value) if kind == "options" => {
                        options = Some(column(batch, value)?);
                        tokens.next();
                    }
                    _ => arguments.push(node(tokens, batch, depth + 1)?),
                }
            }
            Some(Node::Call(Call {
                name: value,
                arguments,
                options,
            }))
        }
        _ => None,
    }
}

/// Returns the value in a column of the batch.
fn column(batch: &RecordBatch, index: &str) -> Option<ArrayRef> {
    let column = batch.columns().get(index.parse::<usize>().ok()?)?;
    (column.len() == 1).then(|| column.clone())
}
