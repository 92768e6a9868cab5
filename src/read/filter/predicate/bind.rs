//! Predicates bound to the columns of a shard: paths are resolved, and literals have the columns' types.

use super::operand::{Operand, Test, applied_type, compare, is_in, starts_with};
use super::path::member_at;
use super::text_function::TextFunction;
use super::truth::Truth;
use super::{ColumnPath, Comparison, Expr, Function, MAX_DEPTH, Predicate};
use crate::arrow::value_type;
use crate::column::Casts;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{BasicType, DataType};
use crate::read::shard::column::Column;
use crate::read::shard::fetch::StepBytes;
use crate::read::shard::metadata::{Metadata, ready};
use crate::read::shard::projection::Projection;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Schema, SchemaRef};
use std::sync::Arc;

/// A predicate bound to the columns of a shard.
#[derive(Debug, Default)]
pub(in crate::read) struct BoundPredicate {
    /// The columns that the predicate uses.
    pub(in crate::read) columns: Vec<FilterColumn>,
    /// The tests of single columns in the predicate.
    pub(in crate::read) leaves: Vec<Leaf>,
    pub(in crate::read) functions: Vec<BoundFunction>,
    /// A row matches if all of these are true.
    pub(in crate::read) conjuncts: Vec<PredicateNode>,
}

/// A column, or a member of structs, that a predicate uses.
#[derive(Debug, Clone)]
pub(in crate::read) struct FilterColumn {
    path: ColumnPath,
    /// The column, reduced to the member, in the types that the scan reads for the predicate.
    pub(in crate::read) column: Column,
    /// Number of structs around the member.
    pub(in crate::read) depth: usize,
    /// The type of the member's values.
    pub(in crate::read) value_type: ArrowType,
    /// Whether only tests use the column; they work on dictionaries as well.
    pub(in crate::read) is_tested: bool,
}

impl FilterColumn {
    /// Returns the stored node of the member.
    pub(in crate::read) fn leaf(&self) -> &DataType {
        self.nodes().last().unwrap_or(&self.column.node)
    }

    /// Returns the stored nodes of the structs around the member, outermost first, and then its own.
    pub(in crate::read) fn nodes(&self) -> impl Iterator<Item = &DataType> {
        let first = Some(&self.column.node);
        std::iter::successors(first, |node| node.children.first()).take(self.depth + 1)
    }

    /// Returns the column and each member of structs in it, with the ordinals that lead from the column to the member.
    pub(in crate::read) fn all_of(column: &Column) -> Vec<(Self, Vec<usize>)> {
        let mut all = Vec::new();
        add_members(&column.field, &column.node, &mut all);
        let members = all.into_iter().map(|(field, node, ordinals)| {
            let mut member = Self {
                path: ColumnPath::Names(node_path(&node, ordinals.len())),
                value_type: ArrowType::Null,
                depth: ordinals.len(),
                is_tested: true,
                column: Column::new(field, node, Casts::default()),
            };
            if let Ok(own) = member_type(&member.column.field, member.depth) {
                member.value_type = value_type(own).clone();
            }
            member.column = member.with_value_type(&member.value_type);
            (member, ordinals)
        });
        members.collect()
    }

    /// Returns the path of the member.
    pub(in crate::read) fn path(&self) -> String {
        self.path.name()
    }

    /// Whether only the presence of the member is needed, which is read without its children: nested values have no
    /// other test. Unions have no presence of their own.
    pub(in crate::read) fn is_presence(&self) -> bool {
        let is_union = matches!(self.value_type, ArrowType::Union(..));
        self.is_tested && self.value_type.is_nested() && !is_union
    }

    /// Returns the column with another type of the member's values.
    pub(in crate::read) fn with_value_type(&self, value_type: &ArrowType) -> Column {
        Column {
            field: with_leaf(&self.column.field, self.depth, value_type),
            ..self.column.clone()
        }
    }
}

/// Adds a field and the members of structs in it; each member is wrapped in structs of one member.
fn add_members(field: &Field, node: &DataType, all: &mut Vec<(Field, DataType, Vec<usize>)>) {
    all.push((field.clone(), node.clone(), Vec::new()));
    let (ArrowType::Struct(members), BasicType::Struct) = (field.data_type(), node.basic_type)
    else {
        return;
    };
    let around = DataType {
        children: Vec::new(),
        ..node.clone()
    };
    for (ordinal, (member, below)) in members.iter().zip(&node.children).enumerate() {
        let mut inner = Vec::new();
        add_members(member, below, &mut inner);
        for (member, below, ordinals) in inner {
            let data_type = ArrowType::Struct(vec![member].into());
            let mut node = around.clone();
            node.children.push(below);
            let ordinals = [vec![ordinal], ordinals].concat();
            all.push((field.clone().with_data_type(data_type), node, ordinals));
        }
    }
}

/// Returns the names of a node and its first descendants down to `depth`, joined by dots.
fn node_path(node: &DataType, depth: usize) -> String {
    let nodes = std::iter::successors(Some(node), |node| node.children.first());
    let names: Vec<&str> = nodes.take(depth + 1).map(|n| n.name.as_str()).collect();
    names.join(".")
}

/// Returns the node below `depth` structs of one member each.
fn leaf_mut(node: &mut DataType, depth: usize) -> &mut DataType {
    if depth == 0 || node.children.is_empty() {
        return node;
    }
    leaf_mut(&mut node.children[0], depth - 1)
}

fn with_leaf(field: &Field, depth: usize, value_type: &ArrowType) -> Field {
    let data_type = match (field.data_type(), depth) {
        (ArrowType::Struct(members), 1..) => {
            let members = members.iter();
            let member = |member: &FieldRef| with_leaf(member, depth - 1, value_type);
            ArrowType::Struct(members.map(member).collect())
        }
        _ => value_type.clone(),
    };
    field.clone().with_data_type(data_type)
}

/// A test of the values of one column.
#[derive(Debug, Clone)]
pub(in crate::read) struct Leaf {
    /// Ordinal of the column.
    pub(in crate::read) column: usize,
    pub(in crate::read) test: Test,
}

/// A function of columns.
#[derive(Debug)]
pub(in crate::read) struct BoundFunction {
    /// Ordinals of the columns.
    pub(in crate::read) columns: Vec<usize>,
    /// The functions that are applied to each column, one after the other.
    pub(in crate::read) applied: Vec<Vec<TextFunction>>,
    pub(in crate::read) schema: SchemaRef,
    pub(in crate::read) function: Function,
}

/// A predicate over leaves and functions, by ordinal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::read) enum PredicateNode {
    /// One truth value that is known without reading values.
    Known(Truth),
    Leaf(usize),
    Function(usize),
    And(Vec<PredicateNode>),
    Or(Vec<PredicateNode>),
    Not(Box<PredicateNode>),
}

impl PredicateNode {
    /// Whether the predicate calls a function.
    pub(in crate::read) fn calls(&self) -> bool {
        match self {
            Self::Known(_) | Self::Leaf(_) => false,
            Self::Function(_) => true,
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::calls),
            Self::Not(part) => part.calls(),
        }
    }
}

impl BoundPredicate {
    /// Resolves the columns of a predicate, and converts its literals to the columns' types.
    pub(in crate::read) fn load(
        metadata: &Metadata,
        step: &StepBytes<'_>,
        predicate: &Predicate,
    ) -> Result<Option<Self>> {
        let mut binder = Binder {
            metadata,
            step,
            bound: Self::default(),
        };
        let root = binder.node(&predicate.expr);
        let root = ready!(root.within(|| format!("filter `{predicate}`")));
        let mut bound = binder.bound;
        bound.conjuncts = match root {
            PredicateNode::And(parts) => parts,
            root => vec![root],
        };
        Ok(Some(bound))
    }
}

impl BoundPredicate {
    /// Excludes rows for which a column is true.
    pub(in crate::read) fn exclude(&mut self, column: Column) {
        let ordinal = self.columns.len();
        let mut leaf = |test| {
            self.leaves.push(Leaf {
                column: ordinal,
                test,
            });
            PredicateNode::Leaf(self.leaves.len() - 1)
        };
        let is_true: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
        let is_null = leaf(Test::IsNull);
        let is_true = leaf(Test::Compare(Comparison::Eq, is_true));
        let is_kept = vec![is_null, PredicateNode::Not(Box::new(is_true))];
        self.conjuncts.push(PredicateNode::Or(is_kept));
        self.columns.push(FilterColumn {
            path: ColumnPath::Names(column.field.name().clone()),
            value_type: column.field.data_type().clone(),
            column,
            depth: 0,
            is_tested: true,
        });
    }
}

struct Binder<'a> {
    metadata: &'a Metadata,
    step: &'a StepBytes<'a>,
    bound: BoundPredicate,
}

impl Binder<'_> {
    fn node(&mut self, expr: &Expr) -> Result<Option<PredicateNode>> {
        let (path, test) = match expr {
            Expr::And(parts) => return Ok(self.nodes(parts)?.map(PredicateNode::And)),
            Expr::Or(parts) => return Ok(self.nodes(parts)?.map(PredicateNode::Or)),
            Expr::Not(part) => {
                return Ok(self
                    .node(part)?
                    .map(|part| PredicateNode::Not(Box::new(part))));
            }
            Expr::Function(function) => return self.function(function),
            Expr::TooDeep => {
                return Err(Error::invalid(format!(
                    "predicates nest more than {MAX_DEPTH} levels deep"
                )));
            }
            Expr::IsNull(path) => {
                // A function of a null is null, and of nothing else.
                let (functions, of) = path.functions();
                let column = ready!(self.column(of, true));
                let value_type = self.bound.columns[column].value_type.clone();
                let applied = applied_type(&functions, value_type, of);
                (of, applied.map(|_| Test::IsNull))
            }
            Expr::Compare(path, comparison, literal) => {
                let operand = ready!(self.operand(path));
                (path, compare(*comparison, literal, &operand))
            }
            Expr::In(path, literals) => {
                let operand = ready!(self.operand(path));
                (path, is_in(literals, &operand))
            }
            Expr::StartsWith(path, prefix) => {
                let operand = ready!(self.operand(path));
                (path, starts_with(prefix, &operand.value_type))
            }
        };
        let test = test.within(|| format!("column `{}`", path.name()))?;
        if let ColumnPath::Function(..) = path {
            let function = Function {
                paths: vec![path.clone()],
                function: Arc::new(move |batch| Ok(test.of(batch.column(0))?)),
                is_due: None,
                written: Some((path.to_string(), |_| Ok(()))),
            };
            return self.function(&function);
        }
        let column = ready!(self.column(path, true));
        self.bound.leaves.push(Leaf { column, test });
        Ok(Some(PredicateNode::Leaf(self.bound.leaves.len() - 1)))
    }

    fn nodes(&mut self, parts: &[Expr]) -> Result<Option<Vec<PredicateNode>>> {
        let mut nodes = Vec::with_capacity(parts.len());
        for part in parts {
            nodes.push(ready!(self.node(part)));
        }
        Ok(Some(nodes))
    }

    fn function(&mut self, function: &Function) -> Result<Option<PredicateNode>> {
        let mut columns = Vec::with_capacity(function.paths.len());
        let mut fields = Vec::with_capacity(function.paths.len());
        let mut applied = Vec::with_capacity(function.paths.len());
        for path in &function.paths {
            let (functions, of) = path.functions();
            let column = ready!(self.column(of, false));
            let value_type = self.bound.columns[column].value_type.clone();
            let value_type = applied_type(&functions, value_type, of)?;
            fields.push(Field::new(path.name(), value_type, true));
            columns.push(column);
            applied.push(functions);
        }
        let schema = Schema::new(fields);
        if let Some((_, check)) = &function.written {
            check(&schema)?;
        }
        self.bound.functions.push(BoundFunction {
            columns,
            applied,
            schema: Arc::new(schema),
            function: function.clone(),
        });
        Ok(Some(PredicateNode::Function(
            self.bound.functions.len() - 1,
        )))
    }

    /// Returns what a test of a path compares.
    fn operand(&mut self, path: &ColumnPath) -> Result<Option<Operand>> {
        let (functions, of) = path.functions();
        let column = ready!(self.column(of, functions.is_empty()));
        let column = &self.bound.columns[column];
        let value_type = applied_type(&functions, column.value_type.clone(), of)?;
        let is_uuid = column.leaf().basic_type == BasicType::Guid
            && value_type == ArrowType::FixedSizeBinary(16);
        Ok(Some(Operand {
            value_type,
            is_uuid,
        }))
    }

    /// Returns the column at a path, reduced to the member that the path leads to, and the number of structs around the
    /// member.
    fn find(&self, path: &ColumnPath) -> Result<Option<(Column, usize)>> {
        let projection = match path {
            ColumnPath::Names(names) => Projection::Paths(vec![names.clone()]),
            ColumnPath::Ordinals(ordinals) => {
                Projection::Indices(ordinals.first().copied().into_iter().collect())
            }
            ColumnPath::Function(_, path) => return self.find(path),
        };
        let mut columns = ready!(self.metadata.columns(self.step, &projection));
        let (Some(mut column), true) = (columns.pop(), columns.is_empty()) else {
            return Err(Error::invalid(format!("`{path}` is not one column")));
        };
        let depth = match path {
            ColumnPath::Names(names) => {
                // The names after the name of the column in the path.
                let below = names.get(column.field.name().len()..).unwrap_or_default();
                below.matches('.').count()
            }
            ColumnPath::Ordinals(ordinals) => {
                let below = ordinals.get(1..).unwrap_or_default();
                (column.field, column.node) = member_at(&column.field, &column.node, below)?;
                below.len()
            }
            ColumnPath::Function(..) => 0,
        };
        Ok(Some((column, depth)))
    }

    /// Returns the ordinal of the column with a path. Columns that are tested are read without the dictionaries and
    /// runs of their Arrow types.
    fn column(&mut self, path: &ColumnPath, is_tested: bool) -> Result<Option<usize>> {
        let known = &self.bound.columns;
        let same = |column: &FilterColumn| column.path == *path && column.is_tested == is_tested;
        if let Some(ordinal) = known.iter().position(same) {
            return Ok(Some(ordinal));
        }
        let (column, depth) = ready!(self.find(path));
        let (key, path) = (path.clone(), path.name());
        let own = member_type(&column.field, depth).map_err(|why| {
            Error::new(
                ErrorKind::SchemaMismatch,
                format!("`{path}` has no single value per row: {why}"),
            )
        })?;
        if depth > 0 && matches!(value_type(own), ArrowType::Union(..)) {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!("`{path}` is a union, which cannot be null where the struct around it is"),
            ));
        }
        let value_type = if is_tested {
            value_type(own).clone()
        } else {
            own.clone()
        };
        let mut column = FilterColumn {
            path: key,
            column,
            depth,
            value_type,
            is_tested,
        };
        column.column = column.with_value_type(&column.value_type);
        if column.is_presence() {
            leaf_mut(&mut column.column.node, depth).children.clear();
        }
        self.bound.columns.push(column);
        Ok(Some(self.bound.columns.len() - 1))
    }
}

/// Returns the type of a member below `depth` structs of one member each, or the reason why there is none.
fn member_type(field: &Field, depth: usize) -> std::result::Result<&ArrowType, String> {
    match (field.data_type(), depth) {
        (data_type, 0) => Ok(data_type),
        (ArrowType::Struct(members), _) => match members.as_ref() {
            [member] => member_type(member, depth - 1),
            _ => Err(format!(
                "`{}` has {} members of that name",
                field.name(),
                members.len()
            )),
        },
        (data_type, _) => Err(format!(
            "it leads through a list, map or union in `{}` of type {data_type}",
            field.name()
        )),
    }
}
