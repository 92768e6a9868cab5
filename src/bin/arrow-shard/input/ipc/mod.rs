//! Arrow IPC files and streams.

mod file;
mod old_unions;
mod stream;

pub(super) use file::{num_rows, open_file};
pub(super) use stream::{open_stream, stream};

use arrow_ipc::Endianness;
use arrow_schema::{DataType, Schema};
use std::io::{self, ErrorKind};

/// Fails for numbers in the other byte order, which `arrow-ipc` rejects or reads as if they were in the order of this
/// computer.
fn check_order(order: Endianness) -> io::Result<()> {
    if order.equals_to_target_endianness() {
        return Ok(());
    }
    let (order, native) = if cfg!(target_endian = "little") {
        ("big-endian", "little-endian")
    } else {
        ("little-endian", "big-endian")
    };
    Err(invalid(format!(
        "the numbers have the byte order of other computers ({order}), which is not supported; write them as {native}"
    )))
}

/// Fails for types that do not exist in Arrow, which `arrow-ipc` accepts in a damaged schema.
fn check_types(schema: &Schema) -> io::Result<()> {
    for column in schema.fields() {
        let alone = Schema::new(vec![column.clone()]);
        let mut fields = alone.flattened_fields().into_iter();
        if let Some(field) = fields.find(|field| !is_sound(field.data_type())) {
            return Err(invalid(format!(
                "the schema is damaged: column `{}` has the type {}",
                column.name(),
                field.data_type()
            )));
        }
    }
    Ok(())
}

fn is_sound(ty: &DataType) -> bool {
    match ty {
        DataType::FixedSizeList(_, size) | DataType::FixedSizeBinary(size) => *size >= 0,
        DataType::Map(entries, _) => {
            matches!(entries.data_type(), DataType::Struct(pair) if pair.len() == 2)
        }
        DataType::RunEndEncoded(ends, _) => ends.data_type().is_run_ends_type(),
        _ => true,
    }
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}
