//! Added columns, which no source has.

use super::column_file::ColumnFile;
use super::constant::{Constants, repeated};
use super::deletes::EditedStripe;
use super::united_node::UnitedNode;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{DataType, StripeFieldDescriptor, Wire};
use crate::read::ready_now;
use crate::write::{ColumnOptions, ShardWriter, WriterOptions};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use std::collections::HashMap;
use std::sync::Arc;

/// The values of the rows that existed when a column was added, unless they are null. Rows of shards that are appended
/// later are null.
#[derive(Debug, Clone)]
pub(super) enum AddedColumn {
    /// The same value for all rows of a source.
    Constant(Arc<Constants>),
    /// A value for each row.
    Values(Arc<AddedValues>),
}

/// The values as a shard of one column, with the stripes of the edited shard, except for empty stripes.
#[derive(Debug)]
pub(super) struct AddedValues {
    pub(super) file: ColumnFile,
    /// The wire of the file.
    pub(super) wire: Wire,
    /// The ordinal of the stripe in the file, by ordinals of the source and of its stripe.
    stripes: HashMap<(usize, u64), u64>,
}

/// Whether both are the same addition. Values are not compared.
impl PartialEq for AddedColumn {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => Arc::ptr_eq(a, b),
            (Self::Values(a), Self::Values(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl AddedColumn {
    /// Returns the descriptor of a node of the column for a stripe, or `None` if it is null there.
    pub(super) async fn descriptor(
        &self,
        node: &UnitedNode,
        stripe: &EditedStripe,
        urls: &mut Vec<String>,
    ) -> Result<Option<StripeFieldDescriptor>> {
        match self {
            Self::Constant(constants) => {
                let of_one = constants.of_source(stripe.source);
                Ok(of_one.map(|of_one| StripeFieldDescriptor {
                    field: repeated(of_one, stripe.rows),
                    encodings: Vec::new(),
                }))
            }
            Self::Values(values) => {
                let place = values.stripes.get(&(stripe.source, stripe.ordinal));
                match (place, node.added_id()) {
                    (Some(&place), Some(id)) => values.file.descriptor(place, id, urls).await,
                    _ => Ok(None),
                }
            }
        }
    }

    /// Returns the wire of the descriptors, or `None` for the wire of the source.
    pub(super) fn wire(&self) -> Option<Wire> {
        match self {
            Self::Constant(_) => None,
            Self::Values(values) => Some(values.wire),
        }
    }

    /// Returns the file that a commit has to write.
    pub(super) fn file(&self) -> Option<&ColumnFile> {
        match self {
            Self::Constant(_) => None,
            Self::Values(values) => Some(&values.file),
        }
    }
}

/// Encodes the values of a column, one for each row of the stripes. Returns its stored type and the values.
pub(super) fn encode(
    field: &Field,
    values: impl IntoIterator<Item = ArrayRef>,
    column: ColumnOptions,
    stripes: &[EditedStripe],
    wire: Wire,
) -> Result<(DataType, AddedValues)> {
    let schema = Arc::new(Schema::new(vec![field.clone()]));
    let options = WriterOptions::default()
        .with_wire(wire)
        .with_column(field.name(), column)
        .with_stripe_rows(u64::MAX)
        .with_stripe_bytes(u64::MAX)
        .with_memory_limit(u64::MAX);
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, schema.clone(), options)?;
    let total: u64 = stripes.iter().map(|stripe| stripe.rows).sum();
    let mut filled = stripes.iter().filter(|stripe| stripe.rows > 0);
    let mut left = filled.next().map_or(0, |stripe| stripe.rows);
    let mut given = 0u64;
    for mut array in values {
        check_type(field, &array)?;
        given += array.len() as u64;
        if given > total {
            return Err(other_count(given, total));
        }
        while !array.is_empty() {
            let now = usize::try_from(left).map_or(array.len(), |left| left.min(array.len()));
            let some = array.slice(0, now);
            writer.write(&RecordBatch::try_new(schema.clone(), vec![some])?)?;
            array = array.slice(now, array.len() - now);
            left -= now as u64;
            if left == 0 {
                writer.flush_stripe()?;
                left = filled.next().map_or(0, |stripe| stripe.rows);
            }
        }
    }
    if given < total {
        return Err(other_count(given, total));
    }
    writer.finish()?;
    let file = ColumnFile::of(file)?;
    let places = places(stripes, &file)?;
    let columns = ready_now(file.shard().stored_columns())?;
    let Some((_, node)) = columns.into_iter().next() else {
        return Err(Error::corrupt("a shard of one column has none"));
    };
    let values = AddedValues {
        file,
        wire,
        stripes: places,
    };
    Ok((node, values))
}

/// Fails if the values are not of the field's type.
pub(super) fn check_type(field: &Field, values: &ArrayRef) -> Result<()> {
    if values.data_type() == field.data_type() {
        Ok(())
    } else {
        Err(Error::new(
            ErrorKind::SchemaMismatch,
            format!(
                "the values are {}, and the field is {}",
                values.data_type(),
                field.data_type()
            ),
        ))
    }
}

fn other_count(given: u64, total: u64) -> Error {
    let found = if given > total {
        format!("{given} or more")
    } else {
        given.to_string()
    };
    Error::invalid(format!(
        "a column of {found} values for {total} rows, the deleted ones included"
    ))
}

/// Maps each stripe that has rows to its ordinal in the file.
fn places(stripes: &[EditedStripe], file: &ColumnFile) -> Result<HashMap<(usize, u64), u64>> {
    let filled = stripes.iter().filter(|stripe| stripe.rows > 0);
    let written = file.shard().stripes()?;
    let mut rows = written.iter().map(|stripe| stripe.num_rows());
    let mut places = HashMap::new();
    for (stripe, place) in filled.zip(0..) {
        if rows.next() != Some(stripe.rows) {
            return Err(Error::unsupported(format!(
                "the values of the {} rows of a stripe do not fit into one: a dictionary has no keys for \
                 more of them",
                stripe.rows
            )));
        }
        places.insert((stripe.source, stripe.ordinal), place);
    }
    Ok(places)
}
