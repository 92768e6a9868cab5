//! The type of a leaf in Parquet files, and the Arrow types in which its values can be read.

use super::text::bytes_of;
use crate::error::{Error, Result};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::parser::parse_message_type;
use parquet::schema::printer::print_schema;
use parquet::schema::types::{ColumnDescPtr, SchemaDescPtr, SchemaDescriptor, Type, TypePtr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Name of the leaf in the message, whatever the column is called.
const LEAF: &str = "v";
/// Name of the groups around it.
const GROUP: &str = "g";
const MESSAGE: &str = "m";
/// Most groups around a leaf. The crate `parquet` parses them recursively, and more could exhaust the stack.
pub(super) const MAX_GROUPS: usize = 128;

/// The type of a leaf, and of the groups around it that can be null.
#[derive(Debug, Clone)]
pub(super) struct ParquetLeaf {
    metadata: Arc<ParquetMetaData>,
}

impl ParquetLeaf {
    /// Parses a message with one leaf.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the text is not such a message.
    pub(super) fn parse(message: &str) -> Result<Self> {
        if message.matches('{').count() > MAX_GROUPS {
            return Err(Error::corrupt(format!(
                "more than {MAX_GROUPS} groups in the Parquet schema of a column"
            )));
        }
        let parsed = guarded(|| parse_message_type(message))?;
        let schema = guarded(|| Ok(Arc::new(SchemaDescriptor::new(Arc::new(parsed)))))?;
        match schema.columns() {
            [_] => Ok(Self::new(schema)),
            leaves => Err(Error::corrupt(format!(
                "expected one leaf in the Parquet schema, found {}",
                leaves.len()
            ))),
        }
    }

    fn new(schema: SchemaDescPtr) -> Self {
        let file = FileMetaData::new(1, 0, None, None, schema, None);
        Self {
            metadata: Arc::new(ParquetMetaData::new(file, Vec::new())),
        }
    }

    pub(super) fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.metadata
    }

    fn schema(&self) -> &SchemaDescriptor {
        self.metadata.file_metadata().schema_descr()
    }

    /// Returns the column of the leaf.
    pub(super) fn column(&self) -> ColumnDescPtr {
        self.schema().column(0)
    }

    /// Returns whether the values are items of lists.
    pub(super) fn is_repeated(&self) -> bool {
        self.column().max_rep_level() > 0
    }

    /// Returns the definition level from which on a value is an item of the innermost list, or 0 outside of lists.
    /// Lower levels are of lists without items.
    pub(super) fn item_level(&self) -> u32 {
        let (mut level, mut items) = (0, 0);
        let mut node = self.schema().root_schema().get_fields().first();
        while let Some(found) = node {
            match found.get_basic_info().repetition() {
                Repetition::REQUIRED => {}
                Repetition::OPTIONAL => level += 1,
                Repetition::REPEATED => {
                    level += 1;
                    items = level;
                }
            }
            node = found
                .is_group()
                .then(|| found.get_fields().first())
                .flatten();
        }
        items
    }

    /// Returns the bytes of a value of fixed length, as the schema tells them; otherwise 0.
    pub(super) fn width(&self) -> usize {
        let column = self.column();
        match column.physical_type() {
            PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                usize::try_from(column.type_length()).unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Whether the values are declared as UTF-8.
    pub(super) fn is_text(&self) -> bool {
        self.column().converted_type() == ConvertedType::UTF8
    }

    /// Returns the type in which the values are read: the wanted one, or bytes if the values are declared as bytes and
    /// wanted as text.
    pub(super) fn read_type(&self, wanted: &ArrowType) -> ArrowType {
        match self.column().converted_type() {
            // Arrow has no type of its own for JSON.
            ConvertedType::UTF8 | ConvertedType::JSON => wanted.clone(),
            _ => bytes_of(wanted),
        }
    }

    /// Returns how to read the leaf as an Arrow type. If the crate `parquet` cannot, it is read as its own type.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the leaf has no Arrow type.
    pub(super) fn levels(&self, wanted: &ArrowType) -> Result<FieldLevels> {
        let hint: Fields = self
            .schema()
            .root_schema()
            .get_fields()
            .iter()
            .map(|field| hint(field, wanted))
            .collect();
        guarded(|| parquet_to_arrow_field_levels(self.schema(), ProjectionMask::all(), Some(&hint)))
    }
}

/// Returns the field of a node as Arrow sees it if the leaf has the wanted type.
fn hint(node: &TypePtr, wanted: &ArrowType) -> FieldRef {
    let own_type = if node.is_primitive() {
        wanted.clone()
    } else {
        ArrowType::Struct(
            node.get_fields()
                .iter()
                .map(|child| hint(child, wanted))
                .collect(),
        )
    };
    // A repeated node that is not annotated is a list of its values, none of them null.
    let (data_type, is_nullable) = match node.get_basic_info().repetition() {
        Repetition::REQUIRED => (own_type, false),
        Repetition::OPTIONAL => (own_type, true),
        Repetition::REPEATED => {
            let item = Field::new(node.name(), own_type, false);
            (ArrowType::List(Arc::new(item)), false)
        }
    };
    Arc::new(Field::new(node.name(), data_type, is_nullable))
}

/// Returns the message of a leaf of a file: its type, and a group for every group around it, given from the outermost,
/// that can be null or is repeated. Others have no levels.
///
/// # Errors
/// [`Unsupported`](crate::ErrorKind::Unsupported) for types that have no text.
pub(crate) fn message_of(groups: &[Repetition], column: &ColumnDescPtr) -> Result<String> {
    let leaf = column.self_type();
    let builder = Type::primitive_type_builder(LEAF, column.physical_type())
        .with_repetition(leaf.get_basic_info().repetition())
        .with_converted_type(column.converted_type())
        .with_logical_type(column.logical_type_ref().cloned())
        .with_length(column.type_length())
        .with_precision(column.type_precision())
        .with_scale(column.type_scale());
    let mut node = builder.build().map_err(invalid)?;
    for &repetition in groups.iter().rev() {
        if repetition == Repetition::REQUIRED {
            continue;
        }
        node = Type::group_type_builder(GROUP)
            .with_repetition(repetition)
            .with_fields(vec![Arc::new(node)])
            .build()
            .map_err(invalid)?;
    }
    let message = Type::group_type_builder(MESSAGE).with_fields(vec![Arc::new(node)]);
    let mut text = Vec::new();
    print_schema(&mut text, &message.build().map_err(invalid)?);
    let text = String::from_utf8(text).map_err(|_| Error::unsupported("a type without a text"))?;
    // Not every type comes back from its text.
    let parsed = ParquetLeaf::parse(&text)?.column();
    let is_same = parsed.physical_type() == column.physical_type()
        && parsed.max_def_level() == column.max_def_level()
        && parsed.max_rep_level() == column.max_rep_level()
        && parsed.type_length() == column.type_length()
        && parsed.converted_type() == column.converted_type()
        // Files of old writers have only the converted type, and the text has both.
        && (column.logical_type_ref().is_none()
            || parsed.logical_type_ref() == column.logical_type_ref());
    if !is_same {
        return Err(Error::unsupported(format!(
            "the Parquet type {:?}",
            column.self_type()
        )));
    }
    Ok(text)
}

/// Returns the ordinal of every leaf among the elements of a schema, the root included, and the repetition of the
/// groups around it, from the outermost.
pub(crate) fn places_of_leaves(root: &Type) -> Vec<(u32, Vec<Repetition>)> {
    fn visit(
        node: &Type,
        groups: &[Repetition],
        next: &mut u32,
        out: &mut Vec<(u32, Vec<Repetition>)>,
    ) {
        let own = *next;
        *next += 1;
        if node.is_primitive() {
            out.push((own, groups.to_vec()));
            return;
        }
        let mut inside = groups.to_vec();
        if node.get_basic_info().has_repetition() {
            inside.push(node.get_basic_info().repetition());
        }
        for child in node.get_fields() {
            visit(child, &inside, next, out);
        }
    }
    let mut out = Vec::new();
    visit(root, &[], &mut 0, &mut out);
    out
}

/// Runs code of the crate `parquet` on bytes that may be damaged. A panic becomes an error.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) if the code fails or panics.
pub(crate) fn guarded<T>(run: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => done.map_err(invalid),
        Err(_) => Err(Error::corrupt("the Parquet data are damaged")),
    }
}

/// Converts an error of the crate `parquet` about the bytes of a file.
fn invalid(error: parquet::errors::ParquetError) -> Error {
    match error {
        parquet::errors::ParquetError::NYI(what) => Error::unsupported(what),
        other => Error::corrupt(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_the_level_of_the_innermost_list() {
        for (message, expected) in [
            ("message m { optional int32 v; }", 0),
            ("message m { repeated int32 v; }", 1),
            (
                "message m { optional group g { repeated group g { optional int32 v; } } }",
                2,
            ),
            (
                "message m { repeated group g { optional group g { repeated group g { \
                 optional group g { required int32 v; } } } } }",
                3,
            ),
        ] {
            let leaf = ParquetLeaf::parse(message).unwrap();
            assert_eq!(leaf.item_level(), expected, "{message}");
        }
    }

    #[test]
    fn types_of_old_files_have_a_message() {
        for (physical, converted) in [
            (PhysicalType::INT32, ConvertedType::DATE),
            (PhysicalType::BYTE_ARRAY, ConvertedType::JSON),
            (PhysicalType::BYTE_ARRAY, ConvertedType::ENUM),
            (PhysicalType::INT64, ConvertedType::TIMESTAMP_MILLIS),
        ] {
            let leaf = Type::primitive_type_builder("c", physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_converted_type(converted);
            let fields = vec![Arc::new(leaf.build().unwrap())];
            let message = Type::group_type_builder("m").with_fields(fields);
            let schema = SchemaDescriptor::new(Arc::new(message.build().unwrap()));
            let text = message_of(&[], &schema.column(0)).unwrap();
            let parsed = ParquetLeaf::parse(&text).unwrap().column();
            assert_eq!(parsed.converted_type(), converted, "{text}");
        }
    }
}
