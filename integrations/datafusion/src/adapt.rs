//! Adapts a table's schema to a file: selects the columns and members of structs to read, and their types.

use crate::by_name::ByName;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion_functions::core::getfield::GetFieldFunc;
use datafusion_physical_expr::expressions::{Column, Literal};
use datafusion_physical_expr::projection::{ProjectionExprs, Projector};
use datafusion_physical_expr::{PhysicalExpr, PhysicalExprSimplifier, ScalarFunctionExpr};
use datafusion_physical_expr_adapter::{PhysicalExprAdapter, PhysicalExprAdapterFactory};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rewrites expressions on a table to expressions on one of its files.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    adapter: Arc<dyn PhysicalExprAdapter>,
    /// The columns of the file, in its order, with the types that they are read in.
    pub(crate) read_schema: SchemaRef,
}

impl Adapter {
    /// Creates an adapter from the columns of a table, without partition columns, to the columns of a file.
    pub(crate) fn try_new(
        factory: &dyn PhysicalExprAdapterFactory,
        table: &SchemaRef,
        file: &SchemaRef,
    ) -> Result<Self> {
        let read_schema = read_schema(table, file);
        Ok(Self {
            adapter: factory.create(table.clone(), read_schema.clone())?,
            read_schema,
        })
    }

    /// Rewrites an expression to the columns of the file, and simplifies it.
    pub(crate) fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = self.adapter.rewrite(expr)?;
        PhysicalExprSimplifier::new(&self.read_schema).simplify(expr)
    }
}

/// Returns the columns of a file with the types that they are read in. A column gets the type of the table if the two
/// types differ only in their Arrow layout, because the reader supports each layout. Expressions cast other columns.
fn read_schema(table: &SchemaRef, file: &SchemaRef) -> SchemaRef {
    let table = ByName::new(table.fields());
    let read_field = |field: &FieldRef| match table.find(field.name()) {
        Some((_, wanted)) => with_type(field, read_type(wanted.data_type(), field.data_type())),
        None => field.clone(),
    };
    let fields: Fields = file.fields().iter().map(read_field).collect();
    Arc::new(Schema::new_with_metadata(fields, file.metadata().clone()))
}

/// Returns whether the values of a stored type are read in the type of the table without a cast of values. Members that
/// one of two structs lacks make no difference.
pub(crate) fn is_read_as(stored: &DataType, wanted: &DataType) -> bool {
    if are_alike(wanted, stored) {
        return true;
    }
    match (values_of(stored), values_of(wanted)) {
        (DataType::Struct(stored), DataType::Struct(wanted)) => stored.iter().all(|member| {
            let wanted = wanted.find(member.name());
            wanted.is_none_or(|(_, wanted)| is_read_as(member.data_type(), wanted.data_type()))
        }),
        (stored, wanted) => match (item(stored), item(wanted)) {
            (Some(stored), Some(wanted)) => is_read_as(stored.data_type(), wanted.data_type()),
            _ => false,
        },
    }
}

fn with_type(field: &FieldRef, data_type: DataType) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

fn read_type(wanted: &DataType, stored: &DataType) -> DataType {
    if are_alike(wanted, stored) {
        return wanted.clone();
    }
    match (wanted, stored) {
        (DataType::Struct(wanted), DataType::Struct(stored)) => {
            let members = stored
                .iter()
                .map(|member| match wanted.find(member.name()) {
                    Some((_, wanted)) => {
                        with_type(member, read_type(wanted.data_type(), member.data_type()))
                    }
                    None => member.clone(),
                });
            DataType::Struct(members.collect())
        }
        (wanted, stored) => {
            let (Some(wanted_item), Some(item)) = (item(wanted), item(stored)) else {
                return stored.clone();
            };
            let item = with_type(item, read_type(wanted_item.data_type(), item.data_type()));
            match wanted {
                DataType::List(_) => DataType::List(item),
                DataType::LargeList(_) => DataType::LargeList(item),
                DataType::ListView(_) => DataType::ListView(item),
                _ => DataType::LargeListView(item),
            }
        }
    }
}

/// Returns the item of a list type without a fixed size.
fn item(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => Some(item),
        _ => None,
    }
}

/// Returns whether two types have the same values and differ at most in their layout.
pub(crate) fn are_alike(a: &DataType, b: &DataType) -> bool {
    let a = values_of(a);
    let b = values_of(b);
    a == b || (a.is_string() && b.is_string()) || (is_bytes(a) && is_bytes(b))
}

/// Returns whether the type is binary without a fixed size.
pub(crate) fn is_bytes(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

/// Returns the value type of a dictionary, or the type itself.
pub(crate) fn values_of(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        data_type => data_type,
    }
}

/// A column, or a member of a struct in a column, that an expression refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The ordinal of the column, followed by the ordinal of the member at each level of structs.
    pub(crate) ordinals: Vec<usize>,
    pub(crate) field: FieldRef,
}

/// Returns the column or member that an expression refers to.
pub(crate) type FindReference = fn(&Arc<dyn PhysicalExpr>, &Schema) -> Option<Reference>;

impl Reference {
    /// Returns the column that `expr` refers to.
    pub(crate) fn of_column(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Self> {
        let column = expr.downcast_ref::<Column>()?;
        Some(Self {
            ordinals: vec![column.index()],
            field: schema.fields().get(column.index())?.clone(),
        })
    }

    /// Returns the column or member that `expr` refers to, directly or through `get_field`.
    pub(crate) fn of(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Self> {
        if let Some(column) = Self::of_column(expr, schema) {
            return Some(column);
        }
        let call = ScalarFunctionExpr::try_downcast_func::<GetFieldFunc>(expr.as_ref())?;
        let (column, names) = call.args().split_first()?;
        let mut found = Self::of(column, schema)?;
        for name in names {
            let name = name.downcast_ref::<Literal>()?.value().try_as_str()??;
            let DataType::Struct(members) = found.field.data_type() else {
                return None;
            };
            let (ordinal, member) = members.find(name)?;
            found = Self {
                ordinals: [found.ordinals, vec![ordinal]].concat(),
                field: member.clone(),
            };
        }
        Some(found)
    }
}

/// Calls `found` for each reference that `find` returns in an expression, without looking inside of the reference.
pub(crate) fn for_each_reference(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
    find: FindReference,
    found: &mut dyn FnMut(Reference),
) -> Result<()> {
    expr.apply(|expr| {
        Ok(match find(expr, schema) {
            Some(reference) => {
                found(reference);
                TreeNodeRecursion::Jump
            }
            None => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(())
}

/// The columns to read from a file, and the expressions to evaluate on them.
pub(crate) struct FileProjection {
    /// The columns to read, with only the members of structs that expressions refer to.
    pub(crate) schema: SchemaRef,
    projector: Projector,
    output: SchemaRef,
}

impl FileProjection {
    /// Creates a projection from expressions on the columns of the file; `output` is the schema of the result.
    pub(crate) fn try_new(
        projection: ProjectionExprs,
        file: &Schema,
        output: SchemaRef,
    ) -> Result<Self> {
        let mut wanted: BTreeMap<usize, Vec<Vec<usize>>> = BTreeMap::new();
        for expr in projection.expr_iter() {
            for_each_reference(&expr, file, Reference::of, &mut |reference| {
                if let Some((&column, members)) = reference.ordinals.split_first() {
                    wanted.entry(column).or_default().push(members.to_vec());
                }
            })?;
        }
        let field_of = |(&column, members): (&usize, &Vec<Vec<usize>>)| {
            let members: Vec<&[usize]> = members.iter().map(Vec::as_slice).collect();
            cut_down(&file.fields()[column], &members)
        };
        let fields: Fields = wanted.iter().map(field_of).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, file.metadata().clone()));
        let place = |column: &Column| wanted.keys().position(|&c| c == column.index());
        let projection = projection.try_map_exprs(|expr| {
            expr.transform(|expr| {
                Ok(match expr.downcast_ref::<Column>() {
                    Some(column) if let Some(place) = place(column) => {
                        Transformed::yes(Arc::new(Column::new(column.name(), place)) as _)
                    }
                    _ => Transformed::no(expr),
                })
            })
            .data()
        })?;
        Ok(Self {
            projector: projection.make_projector(&schema)?,
            schema,
            output,
        })
    }

    /// Returns the rows of a batch in the output schema of the scan.
    pub(crate) fn project(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let batch = self.projector.project_batch(batch)?;
        if batch.schema_ref() == &self.output {
            return Ok(batch);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let (_, columns, _) = batch.into_parts();
        let output = self.output.clone();
        Ok(RecordBatch::try_new_with_options(
            output, columns, &options,
        )?)
    }
}

/// Returns a field with only the members at the given ordinals. An empty list of ordinals selects the whole field.
fn cut_down(field: &FieldRef, members: &[&[usize]]) -> FieldRef {
    let DataType::Struct(fields) = field.data_type() else {
        return field.clone();
    };
    if members.iter().any(|ordinals| ordinals.is_empty()) {
        return field.clone();
    }
    let below = |ordinal: usize| -> Vec<&[usize]> {
        let inside = members.iter().filter(|ordinals| ordinals[0] == ordinal);
        inside.map(|ordinals| &ordinals[1..]).collect()
    };
    let kept = fields.iter().enumerate().filter_map(|(i, field)| {
        let below = below(i);
        (!below.is_empty()).then(|| cut_down(field, &below))
    });
    with_type(field, DataType::Struct(kept.collect()))
}

/// Returns a nullable field for a batch that an expression is evaluated on.
pub(crate) fn evaluated_field(name: String, field: &Field) -> Field {
    Field::new(name, field.data_type().clone(), true).with_metadata(field.metadata().clone())
}
