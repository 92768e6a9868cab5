//! The columns of an attached shard, and where they are in a Parquet file.

use super::levels::has_levels_only;
use super::parquet_file::ParquetFile;
use crate::arrow::widened_type;
use crate::column::{SchemaOptions, to_shard};
use crate::error::{Error, ErrorKind, Result};
use crate::external::parquet::{message_of, places_of_leaves};
use crate::format::{DataType, FieldDescriptor};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Schema, SchemaRef};
use parquet::basic::Repetition;
use parquet::schema::types::{ColumnDescPtr, Type};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A column of the shard.
pub(super) struct AttachedColumn<'a> {
    field: &'a FieldRef,
    pub(super) node: &'a DataType,
}

impl<'a> AttachedColumn<'a> {
    pub(super) fn new(field: &'a FieldRef, node: &'a DataType) -> Self {
        Self { field, node }
    }
}

/// A column of the shard in one Parquet file.
pub(super) struct FileColumn<'a> {
    pub(super) node: &'a DataType,
    pub(super) source: ColumnSource<'a>,
}

/// Where the values of a column are.
pub(super) enum ColumnSource<'a> {
    /// The file does not have the column.
    Nowhere,
    /// All rows of the file have the value of this descriptor for a stripe of one row, or null.
    Constant(Option<&'a FieldDescriptor>),
    /// In the column chunks of leaves.
    Leaves {
        field: &'a FieldRef,
        /// The leaves, depth first.
        leaves: Vec<FileLeaf>,
        /// Whether there are lists, or structs that can be null.
        has_levels: bool,
    },
    /// In a stripe file, to which the column is copied.
    StripeFile(&'a FieldRef),
}

/// A leaf of a Parquet file.
pub(super) struct FileLeaf {
    /// Its ordinal among the columns of a row group.
    pub(super) column: usize,
    /// Its ordinal among the elements of the schema.
    pub(super) element: u32,
    pub(super) descriptor: ColumnDescPtr,
    /// Its type as text.
    pub(super) message: String,
    /// Its field in the Arrow schema of the file.
    pub(super) field: FieldRef,
}

impl FileColumn<'_> {
    pub(super) fn name(&self) -> &str {
        &self.node.name
    }

    /// Returns the leaves with values in the Parquet file, each with its node.
    pub(super) fn leaves(&self) -> Vec<(&DataType, &FileLeaf)> {
        let ColumnSource::Leaves { leaves, .. } = &self.source else {
            return Vec::new();
        };
        let mut nodes = Vec::new();
        self.node.walk(&mut |node| nodes.push(node));
        nodes.retain(|node| node.children.is_empty());
        nodes.into_iter().zip(leaves).collect()
    }
}

/// Returns the schema of all files, with columns united by name.
///
/// # Errors
/// [`SchemaMismatch`](ErrorKind::SchemaMismatch), which names the column and two files, if types differ.
pub(super) fn united_schema(files: &[ParquetFile]) -> Result<SchemaRef> {
    let mut fields: Vec<(Field, &ParquetFile, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut metadata = HashMap::new();
    for file in files {
        let mut names = HashSet::new();
        for field in file.schema().fields() {
            if !names.insert(field.name()) {
                let text = format!("several columns named `{}`", field.name());
                return Err(Error::unsupported(text).within(file.place.element()));
            }
            let Some(&at) = places.get(field.name()) else {
                places.insert(field.name().clone(), fields.len());
                fields.push((field.as_ref().clone(), file, 1));
                continue;
            };
            let Some((united, first, count)) = fields.get_mut(at) else {
                continue;
            };
            let Some(ty) = common_type(united, field)? else {
                return Err(Error::new(
                    ErrorKind::SchemaMismatch,
                    format!(
                        "column `{}` is {} in one file and {} in `{}`; convert one of them first",
                        field.name(),
                        united.data_type(),
                        field.data_type(),
                        file.place
                    ),
                )
                .within(first.place.element()));
            };
            united.set_data_type(ty);
            *count += 1;
            united.set_nullable(united.is_nullable() || field.is_nullable());
        }
        for (key, value) in file.schema().metadata() {
            metadata.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    let fields: Vec<Field> = (fields.into_iter())
        .map(|(mut field, _, count)| {
            field.set_nullable(field.is_nullable() || count < files.len());
            field
        })
        .collect();
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

/// Returns the type of a column that has the types of two fields in different files. A file's values are not copied, so
/// a shard must store all three types alike: `Utf8` and `LargeUtf8`, for instance, or lists with nullable items in
/// one file.
fn common_type(a: &Field, b: &Field) -> Result<Option<ArrowType>> {
    if a.data_type() == b.data_type() {
        return Ok(Some(a.data_type().clone()));
    }
    let Some(wide) = widened_type([a.data_type(), b.data_type()]) else {
        return Ok(None);
    };
    // Extension types of the fields are parts of how they are stored.
    let stored = |field: &Field, ty: &ArrowType| {
        let field = field.clone().with_data_type(ty.clone()).with_nullable(true);
        to_shard(&Schema::new(vec![field]), &SchemaOptions::default())
    };
    let own = [stored(a, a.data_type())?, stored(b, b.data_type())?];
    let wide_alike = [stored(a, &wide)?, stored(b, &wide)?];
    let is_alike = own == wide_alike && own[0] == own[1];
    Ok(is_alike.then_some(wide))
}

impl ParquetFile {
    /// Returns where the columns of the shard are in this file.
    pub(super) fn columns<'a>(
        &'a self,
        columns: &[AttachedColumn<'a>],
    ) -> Result<Vec<FileColumn<'a>>> {
        let schema = self.metadata().file_metadata().schema_descr();
        let roots = schema.root_schema().get_fields();
        let own = self.schema().fields();
        let same_name = |(root, field): (&Arc<Type>, &FieldRef)| root.name() == field.name();
        if roots.len() != own.len() || !roots.iter().zip(own).all(same_name) {
            return Err(Error::unsupported(
                "Parquet files with columns that have no Arrow type",
            ));
        }
        let by_name: HashMap<&str, usize> = (own.iter().enumerate())
            .map(|(ordinal, field)| (field.name().as_str(), ordinal))
            .collect();
        if by_name.len() < own.len() {
            return Err(Error::unsupported(
                "Parquet files with several columns of one name",
            ));
        }
        let places = places_of_leaves(schema.root_schema());
        let mut leaves: Vec<Vec<usize>> = vec![Vec::new(); roots.len()];
        for leaf in 0..schema.num_columns() {
            if let Some(of_root) = leaves.get_mut(schema.get_column_root_idx(leaf)) {
                of_root.push(leaf);
            }
        }
        let find = |column: &AttachedColumn<'a>| {
            let found = by_name.get(column.field.name().as_str());
            let found = found.and_then(|&i| Some((own.get(i)?, leaves.get(i)?)));
            let Some((field, leaves)) = found else {
                return ColumnSource::Nowhere;
            };
            let fields = leaf_fields(field);
            if !has_levels_only(field.data_type()) || fields.len() != leaves.len() {
                return ColumnSource::StripeFile(field);
            }
            let mut has_levels = false;
            let leaves: Option<Vec<FileLeaf>> = (leaves.iter().zip(fields))
                .map(|(&leaf, field)| {
                    let (element, groups) = places.get(leaf)?;
                    let descriptor = schema.column(leaf);
                    has_levels |= descriptor.max_rep_level() > 0
                        || groups.iter().any(|group| *group != Repetition::REQUIRED);
                    Some(FileLeaf {
                        column: leaf,
                        element: *element,
                        message: message_of(groups, &descriptor).ok()?,
                        descriptor,
                        field,
                    })
                })
                .collect();
            match leaves {
                Some(leaves) => ColumnSource::Leaves {
                    field,
                    leaves,
                    has_levels,
                },
                None => ColumnSource::StripeFile(field),
            }
        };
        let found = columns.iter().map(|column| FileColumn {
            node: column.node,
            source: find(column),
        });
        Ok(found.collect())
    }
}

/// Returns the fields of the leaves of a column, depth first.
fn leaf_fields(field: &FieldRef) -> Vec<FieldRef> {
    match field.data_type() {
        ArrowType::Struct(members) => members.iter().flat_map(leaf_fields).collect(),
        ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::Map(item, _) => {
            leaf_fields(item)
        }
        _ => vec![field.clone()],
    }
}
