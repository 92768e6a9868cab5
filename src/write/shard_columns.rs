//! The columns of a shard: columns of the batches, internal fields, and structs of packed columns.

use super::internal_values::{Identities, InternalValues, now};
use super::options::WriterOptions;
use crate::column::{SchemaOptions, TypeMapping, UUID_LABEL, packed_columns_name, to_shard};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{BasicType, DataType, INGESTION_TIMESTAMP, RECORD_IDENTITY};
use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, StructArray, UInt64Array};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// A top-level field of a shard, and the source of its values.
#[derive(Debug)]
pub(super) struct WrittenColumn {
    /// The field of the batch, or the field of generated values.
    pub(super) field: FieldRef,
    /// Role and node of an internal field.
    pub(super) internal: Option<(String, DataType)>,
    /// The positions of packed columns among the columns that readers see, if this is a struct of them.
    pub(super) packed: Option<Vec<usize>>,
    values: ColumnValues,
}

#[derive(Debug)]
enum ColumnValues {
    /// The values of the column with that ordinal.
    Column(usize),
    Time(u64),
    Identities(Identities),
    /// Structs of the columns with these ordinals.
    Packed(Fields, Vec<usize>),
}

/// The top-level fields of a shard, internal ones last.
#[derive(Debug)]
pub(super) struct ShardColumns {
    pub(super) columns: Vec<WrittenColumn>,
    /// The schema that readers see.
    pub(super) visible: SchemaRef,
}

impl ShardColumns {
    /// Returns the columns that a shard of batches with this schema has.
    ///
    /// # Errors
    /// Returns [`UnknownColumn`](ErrorKind::UnknownColumn), [`AmbiguousColumn`](ErrorKind::AmbiguousColumn), or
    /// [`SchemaMismatch`](ErrorKind::SchemaMismatch) for a column that cannot be the internal field that the options
    /// make it.
    pub(super) fn try_new(schema: &SchemaRef, options: &WriterOptions) -> Result<Self> {
        let mut internal: Vec<WrittenColumn> = Vec::new();
        if let Some(values) = options.ingestion_timestamp() {
            internal.push(ingestion_timestamp(schema, values, options)?);
        }
        if let Some(values) = options.record_identity() {
            internal.push(record_identity(schema, values)?);
        }
        if !options.wire().capabilities().empty_names {
            for (kind, node) in internal.iter_mut().filter_map(|c| c.internal.as_mut()) {
                node.name.clone_from(kind);
            }
        }
        // A rewrite passes internal fields as the last columns of its batches.
        let given = options.internal_fields();
        let first = schema.fields().len().saturating_sub(given.len());
        for (i, field) in (first..).zip(given) {
            let Some((kind, arrow)) = field.internal_kind.clone().zip(schema.fields().get(i))
            else {
                return Err(Error::invalid("an internal field has no role or no column"));
            };
            internal.push(WrittenColumn {
                field: arrow.clone(),
                internal: Some((kind, field.data_type.clone())),
                packed: None,
                values: ColumnValues::Column(i),
            });
        }
        let mut taken = vec![false; schema.fields().len()];
        for column in &internal {
            if let ColumnValues::Column(i) = column.values
                && std::mem::replace(&mut taken[i], true)
            {
                let name = column.field.name();
                return Err(Error::invalid(format!(
                    "column `{name}` cannot be two internal fields"
                )));
            }
        }
        let fields = schema.fields().iter().enumerate();
        let columns: Vec<WrittenColumn> = fields
            .filter(|(i, _)| !taken[*i])
            .map(|(i, field)| WrittenColumn {
                field: field.clone(),
                internal: None,
                packed: None,
                values: ColumnValues::Column(i),
            })
            .collect();
        let visible = if internal.is_empty() {
            schema.clone()
        } else {
            let fields: Vec<FieldRef> = columns.iter().map(|c| c.field.clone()).collect();
            let metadata = schema.metadata().clone();
            Arc::new(Schema::new_with_metadata(fields, metadata))
        };
        let mut columns = pack(columns, options)?;
        columns.extend(internal);
        Ok(Self { columns, visible })
    }

    /// Returns the values of each field for `len` rows of a batch from `at` on. `first` is the number of the first of
    /// these rows in the shard.
    pub(super) fn values<'a>(
        &'a self,
        batch: &'a RecordBatch,
        at: usize,
        len: usize,
        first: u64,
    ) -> impl Iterator<Item = Result<(&'a Field, ArrayRef)>> + 'a {
        self.columns.iter().map(move |column| {
            let array = match &column.values {
                ColumnValues::Column(i) => batch.column(*i).slice(at, len),
                ColumnValues::Time(ticks) => {
                    Arc::new(UInt64Array::from(vec![*ticks; len])) as ArrayRef
                }
                ColumnValues::Identities(identities) => {
                    let bytes = identities.bytes(first, len).into();
                    Arc::new(FixedSizeBinaryArray::try_new(16, bytes, None)?)
                }
                ColumnValues::Packed(fields, columns) => {
                    let slice = |i: &usize| batch.column(*i).slice(at, len);
                    let arrays = columns.iter().map(slice).collect();
                    Arc::new(StructArray::try_new(fields.clone(), arrays, None)?)
                }
            };
            Ok((column.field.as_ref(), array))
        })
    }
}

/// Replaces the columns to be packed by structs of them, after the other columns.
fn pack(columns: Vec<WrittenColumn>, options: &WriterOptions) -> Result<Vec<WrittenColumn>> {
    let groups = options.packed_columns();
    let mut group_of: HashMap<&str, usize> = HashMap::new();
    for (group, names) in groups.iter().enumerate() {
        for name in names {
            if columns.iter().all(|column| column.field.name() != name) {
                return Err(Error::new(
                    ErrorKind::UnknownColumn,
                    format!(
                        "`{name}`, which is to be packed with others, is no column of the schema"
                    ),
                ));
            }
            if group_of.insert(name, group).is_some() {
                return Err(Error::invalid(format!(
                    "column `{name}` is to be packed twice"
                )));
            }
        }
    }
    let mut members: Vec<Vec<(usize, usize, FieldRef)>> = vec![Vec::new(); groups.len()];
    let mut rest = Vec::with_capacity(columns.len());
    for (position, column) in columns.into_iter().enumerate() {
        match (group_of.get(column.field.name().as_str()), &column.values) {
            (Some(&group), ColumnValues::Column(i)) => {
                members[group].push((position, *i, column.field))
            }
            _ => rest.push(column),
        }
    }
    for (group, members) in members.into_iter().enumerate() {
        let fields: Fields = members.iter().map(|(_, _, field)| field.clone()).collect();
        let name = packed_columns_name(group);
        rest.push(WrittenColumn {
            field: Arc::new(Field::new(name, ArrowType::Struct(fields.clone()), false)),
            internal: None,
            packed: Some(members.iter().map(|(position, ..)| *position).collect()),
            values: ColumnValues::Packed(fields, members.iter().map(|(_, i, _)| *i).collect()),
        });
    }
    Ok(rest)
}

fn ingestion_timestamp(
    schema: &SchemaRef,
    values: &InternalValues,
    options: &WriterOptions,
) -> Result<WrittenColumn> {
    let (field, values) = match values {
        InternalValues::Generated => {
            let ticks = options.creation_time().unwrap_or_else(now);
            let field = Field::new(INGESTION_TIMESTAMP, ArrowType::UInt64, false);
            (Arc::new(field), ColumnValues::Time(ticks))
        }
        InternalValues::Column(name) => column(schema, name, INGESTION_TIMESTAMP)?,
    };
    let node = match values {
        ColumnValues::Time(_) => DataType::new(BasicType::DateTime, ""),
        _ => node(&field, INGESTION_TIMESTAMP, BasicType::DateTime)?,
    };
    Ok(WrittenColumn {
        field,
        internal: Some((INGESTION_TIMESTAMP.to_owned(), node)),
        packed: None,
        values,
    })
}

fn record_identity(schema: &SchemaRef, values: &InternalValues) -> Result<WrittenColumn> {
    let (field, values) = match values {
        InternalValues::Generated => {
            let field = Field::new(RECORD_IDENTITY, ArrowType::FixedSizeBinary(16), false);
            (
                Arc::new(field),
                ColumnValues::Identities(Identities::random()),
            )
        }
        InternalValues::Column(name) => column(schema, name, RECORD_IDENTITY)?,
    };
    // The type of the column does not matter: its 16 bytes are an identity.
    let mut uuid = field.as_ref().clone();
    let name = EXTENSION_TYPE_NAME_KEY.to_owned();
    uuid.metadata_mut().insert(name, UUID_LABEL.to_owned());
    let node = node(&uuid, RECORD_IDENTITY, BasicType::Guid)?;
    Ok(WrittenColumn {
        field,
        internal: Some((RECORD_IDENTITY.to_owned(), node)),
        packed: None,
        values,
    })
}

/// Returns the column of that name, which will be an internal field.
fn column(schema: &SchemaRef, name: &str, kind: &str) -> Result<(FieldRef, ColumnValues)> {
    let fields = schema.fields().iter().enumerate();
    let mut found = fields.filter(|(_, field)| field.name() == name);
    match (found.next(), found.next()) {
        (Some((i, field)), None) => Ok((field.clone(), ColumnValues::Column(i))),
        (Some(_), Some(_)) => Err(Error::new(
            ErrorKind::AmbiguousColumn,
            format!("several columns are named `{name}`, which is to be {kind}"),
        )),
        (None, _) => Err(Error::new(
            ErrorKind::UnknownColumn,
            format!("`{name}`, which is to be {kind}, is no column of the schema"),
        )),
    }
}

/// Returns the nameless node of an internal field, in the native type that Chapter 6 prescribes.
fn node(field: &Field, kind: &str, expected: BasicType) -> Result<DataType> {
    let options = SchemaOptions {
        mapping: TypeMapping::Amudai,
        ..SchemaOptions::default()
    };
    let stored = to_shard(&Schema::new(vec![field.clone()]), &options);
    let stored = stored.within(|| kind.to_owned())?.fields.pop();
    match stored.map(|stored| stored.data_type) {
        Some(mut node) if node.basic_type == expected => {
            node.name.clear();
            Ok(node)
        }
        _ => Err(Error::new(
            ErrorKind::SchemaMismatch,
            format!(
                "column `{}` is {}, and {kind} is stored as {expected:?}: expected {}",
                field.name(),
                field.data_type(),
                match expected {
                    BasicType::Guid => "FixedSizeBinary(16)",
                    _ => "a timestamp or a date",
                }
            ),
        )),
    }
}
