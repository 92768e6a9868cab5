//! Checks whether a format supports the types of a schema.

use super::Encoder;
use crate::csv_style::CsvStyle;
use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::isolate::caught;
use crate::leaves::{children, too_long_for_text};
use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::{DECIMAL256_MAX_PRECISION, DataType, Field, Fields, Schema};
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

/// Nested fields that readers of Arrow schemas accept: the FlatBuffers verifier stops at 64 tables.
const MAX_SCHEMA_DEPTH: usize = 61;

/// Returns an error that names the first column with a type that the format does not support. To find out, this writes
/// a row of nulls of every column to memory, because only the writers know which types they support.
pub(crate) fn check_columns(format: FileFormat, schema: &Schema) -> Result<(), Failure> {
    if schema.fields().is_empty() && matches!(format, FileFormat::Csv | FileFormat::Parquet) {
        return Err(Failure::new(format!(
            "{format} cannot hold rows without columns"
        )));
    }
    if format == FileFormat::Ndjson
        && let Some(name) = repeated(schema.fields())
    {
        return Err(Failure::new(format!(
            "column `{name}` appears twice, which {format} cannot hold (a reader would lose one of \
             them); choose other columns with --columns, or another format (ipc, ipc-stream)"
        )));
    }
    if format == FileFormat::Cole {
        // COLE rejects nulls, so only the schema is tried.
        Encoder::start(
            format,
            io::sink(),
            &Arc::new(schema.clone()),
            (&CsvStyle::default(), None),
            1,
        )?;
        return Ok(());
    }
    for field in schema.fields() {
        // Some types make a writer panic.
        let why = match caught(|| try_column(format, field)) {
            Ok(Ok(())) => continue,
            Ok(Err(Failure::Error(why))) | Err(why) => why,
            Ok(Err(other)) => return Err(other),
        };
        return Err(Failure::new(format!(
            "column `{}` is {}, which {format} cannot hold ({why}); choose other columns with \
             --columns, or another format ({})",
            field.name(),
            field.data_type(),
            holders(field)
        )));
    }
    Ok(())
}

/// Returns the number of fields that are nested in each other.
fn depth(field: &Field) -> usize {
    let inner = children(field.data_type());
    1 + inner.into_iter().map(|it| depth(it)).max().unwrap_or(0)
}

/// Returns the names of the formats that hold a column, in options.
fn holders(field: &Field) -> String {
    use FileFormat::{IpcFile, IpcStream, Ndjson, Parquet};
    let holds = |format: &FileFormat| matches!(caught(|| try_column(*format, field)), Ok(Ok(())));
    let all = [Parquet, Ndjson, IpcFile, IpcStream].into_iter();
    let names: Vec<String> = all.filter(holds).map(FileFormat::option).collect();
    names.join(", ")
}

/// Returns a name that several of the fields have.
fn repeated(fields: &Fields) -> Option<&str> {
    let mut names = HashSet::new();
    let mut all = fields.iter().map(|field| field.name().as_str());
    all.find(|name| !names.insert(*name))
}

/// Returns a name that several members of a struct have, at any depth.
fn repeated_member(ty: &DataType) -> Option<&str> {
    let own = match ty {
        DataType::Struct(members) => repeated(members),
        DataType::Dictionary(_, entry) => repeated_member(entry),
        DataType::Union(..) => return None,
        _ => None,
    };
    own.or_else(|| {
        let mut children = children(ty).into_iter();
        children.find_map(|child| repeated_member(child.data_type()))
    })
}

fn try_column(format: FileFormat, field: &Field) -> Result<(), Failure> {
    if format == FileFormat::Ndjson
        && let Some(name) = repeated_member(field.data_type())
    {
        return Err(Failure::new(format!("the member `{name}` appears twice")));
    }
    // Parquet has the schema of Arrow as well.
    if !format.is_text() && depth(field) > MAX_SCHEMA_DEPTH {
        return Err(Failure::new(format!(
            "types nested more than {MAX_SCHEMA_DEPTH} levels deep"
        )));
    }
    let field = field.clone().with_nullable(true);
    if matches!(format, FileFormat::Csv | FileFormat::Ndjson)
        && let Some(ty) = too_long_for_text(&Schema::new(vec![field.clone()]))
    {
        return Err(Failure::new(format!(
            "numbers of {ty} may have more than {DECIMAL256_MAX_PRECISION} digits"
        )));
    }
    let column = new_null_array(field.data_type(), 1);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![column])?;
    let mut encoder = Encoder::start(format, io::sink(), &schema, (&CsvStyle::default(), None), 1)?;
    encoder.write(&batch)?;
    encoder.finish()?;
    Ok(())
}
