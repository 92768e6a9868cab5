//! Converts DataFusion's filters to predicates of the library.

use crate::adapt::{
    Adapter, FindReference, Reference, are_alike, evaluated_field, for_each_reference, is_bytes,
    values_of,
};
use crate::hash_router::HashRouter;
use crate::sampler::{RowCost, Sampler};
use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_shard::read::{ColumnRef, DynamicPredicate, Literal as ShardLiteral, Predicate, col_at};
use datafusion_common::cast::as_boolean_array;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{
    BinaryExpr, CaseExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr, split_conjunction};
use datafusion_physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A DataFusion filter on the columns of a file, converted to the library's predicates.
#[derive(Debug, Default)]
pub(crate) struct FileFilter {
    /// The condition that rows must match; `None` if all rows match.
    pub(crate) predicate: Option<Predicate>,
    /// Whether the filter is known to match no row.
    pub(crate) matches_none: bool,
    /// The parts that became functions, which the library cannot look into: DataFusion's pruning may know more about
    /// them.
    pub(crate) functions: Vec<Arc<dyn PhysicalExpr>>,
}

impl FileFilter {
    /// Converts `expr`, an expression on the columns of `file`. Parts without an equivalent in the library become
    /// functions of the columns, so the whole filter is evaluated.
    ///
    /// # Errors
    /// Returns DataFusion's error if an expression cannot be rewritten.
    pub(crate) fn try_new(expr: &Arc<dyn PhysicalExpr>, file: &SchemaRef) -> Result<Self> {
        Self::of(expr, file, None)
    }

    /// Converts `expr` to a filter. If the cost of a returned row is given, the filter is optional: the scan leaves it
    /// out where evaluating it costs more than it saves.
    fn of(
        expr: &Arc<dyn PhysicalExpr>,
        file: &SchemaRef,
        row_cost: Option<RowCost>,
    ) -> Result<Self> {
        let mut filter = Self::default();
        for part in split_conjunction(expr) {
            if let Some(literal) = part.downcast_ref::<Literal>() {
                filter.matches_none |= *literal.value() != ScalarValue::Boolean(Some(true));
                continue;
            }
            let mut converter = Converter {
                file,
                has_functions: false,
            };
            let predicate = match converter.known(part)? {
                Some(predicate) => Some(predicate),
                None => {
                    let implied = match row_cost {
                        Some(_) => converter.implied(part)?,
                        None => None,
                    };
                    let function = converter.function(part, row_cost.map(Sampler::new))?;
                    joined(implied, Some(function), Predicate::and)
                }
            };
            if converter.has_functions {
                filter.functions.push(part.clone());
            }
            filter.predicate = joined(filter.predicate.take(), predicate, Predicate::and);
        }
        Ok(filter)
    }
}

struct Converter<'a> {
    file: &'a SchemaRef,
    has_functions: bool,
}

impl Converter<'_> {
    /// Converts an expression to a predicate, if the library has an equivalent.
    fn known(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<Option<Predicate>> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return self.binary(binary);
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Ok(self.known(not.arg())?.map(Predicate::not));
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            return Ok(self
                .column(is_null.arg())
                .map(|(column, _)| column.is_null()));
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            let column = self.column(is_not_null.arg());
            return Ok(column.map(|(column, _)| column.is_not_null()));
        }
        if let Some(in_list) = expr.downcast_ref::<InListExpr>() {
            return Ok(self.in_list(in_list));
        }
        if let Some(like) = expr.downcast_ref::<LikeExpr>() {
            return self.like(like, expr);
        }
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>()
            && call.name() == "starts_with"
            && let [text, prefix] = call.args()
            && let Some((column, data_type)) = self.column(text)
            && values_of(&data_type).is_string()
            && let Some(prefix) = prefix.downcast_ref::<Literal>()
            && let Some(Some(prefix)) = prefix.value().try_as_str()
        {
            return Ok(Some(column.starts_with(prefix)));
        }
        // A Boolean column alone is a filter, too.
        Ok(match self.column(expr) {
            Some((column, DataType::Boolean)) => Some(column.eq(true)),
            _ => None,
        })
    }

    /// Returns a predicate without functions that is true wherever `expr` is true. This covers joins that keep nulls,
    /// which push down `key IS NULL OR ...`.
    fn implied(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<Option<Predicate>> {
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            return self.implied_by_case(case);
        }
        let Some(binary) = expr.downcast_ref::<BinaryExpr>() else {
            return self.known(expr);
        };
        let (left, right) = (binary.left(), binary.right());
        match binary.op() {
            Operator::And => {
                let (left, right) = (self.implied(left)?, self.implied(right)?);
                Ok(joined(left, right, Predicate::and))
            }
            Operator::Or => {
                let (left, right) = (self.implied(left)?, self.implied(right)?);
                Ok(left.zip(right).map(|(left, right)| left.or(right)))
            }
            _ => self.known(expr),
        }
    }

    /// Returns a predicate that is true wherever a CASE is true: the widest of the bounds that all branches have in
    /// common. A join in several partitions pushes down a CASE with one branch for each partition, which contains the
    /// bounds of its keys.
    fn implied_by_case(&mut self, case: &CaseExpr) -> Result<Option<Predicate>> {
        let branches = case.when_then_expr().iter().map(|(_, then)| then);
        let mut hull: Option<Vec<Bound>> = None;
        for branch in branches.chain(case.else_expr()) {
            let parts = split_conjunction(branch);
            let is_never = |part: &&Arc<dyn PhysicalExpr>| {
                let literal = part.downcast_ref::<Literal>();
                literal.is_some_and(|l| *l.value() != ScalarValue::Boolean(Some(true)))
            };
            if parts.iter().any(is_never) {
                continue;
            }
            let bounds: Vec<Bound> = parts.into_iter().filter_map(Bound::of).collect();
            hull = Some(match hull {
                None => bounds,
                Some(hull) => hull.iter().filter_map(|b| b.with(&bounds)).collect(),
            });
        }
        let mut all = None;
        for bound in hull.unwrap_or_default() {
            let literal = Arc::new(Literal::new(bound.value));
            let bound = Arc::new(BinaryExpr::new(bound.key, bound.op, literal)) as _;
            all = joined(all, self.known(&bound)?, Predicate::and);
        }
        Ok(all)
    }

    fn binary(&mut self, binary: &BinaryExpr) -> Result<Option<Predicate>> {
        let (left, op, right) = (binary.left(), *binary.op(), binary.right());
        if matches!(op, Operator::And | Operator::Or) {
            let before = self.has_functions;
            let known = [self.known(left)?, self.known(right)?];
            let is_or = op == Operator::Or;
            return Ok(match known {
                // A function must not see rows that an earlier part rules out. So an OR that contains a function
                // becomes one function, which keeps DataFusion's order of evaluation.
                [Some(left), Some(right)] if is_or && self.has_functions == before => {
                    Some(left.or(right))
                }
                [Some(left), Some(right)] if !is_or => Some(left.and(right)),
                [Some(left), None] if !is_or => Some(left.and(self.function(right, None)?)),
                [None, Some(right)] if !is_or => Some(right.and(self.function(left, None)?)),
                _ => {
                    self.has_functions = before;
                    None
                }
            });
        }
        let compared = match (self.column(left), right.downcast_ref::<Literal>()) {
            (Some(column), Some(literal)) => Some((column, op, literal)),
            _ => {
                let literal = left.downcast_ref::<Literal>();
                let swapped = op.swap();
                self.column(right)
                    .zip(literal)
                    .zip(swapped)
                    .map(|((column, literal), op)| (column, op, literal))
            }
        };
        let Some(((column, data_type), op, literal)) = compared else {
            return Ok(None);
        };
        Ok(compare(column, &data_type, op, literal.value()))
    }

    fn in_list(&self, in_list: &InListExpr) -> Option<Predicate> {
        let (column, data_type) = self.column(in_list.expr())?;
        // Whether -0.0 equals 0.0 in a list depends on how DataFusion looks the values up.
        if values_of(&data_type).is_floating() {
            return None;
        }
        let literal = |expr: &Arc<dyn PhysicalExpr>| {
            let literal = expr.downcast_ref::<Literal>()?;
            literal_of(literal.value(), &data_type)
        };
        let literals: Option<Vec<ShardLiteral>> = in_list.list().iter().map(literal).collect();
        let found = column.is_in(literals?);
        Some(if in_list.negated() { !found } else { found })
    }

    /// Converts a pattern that begins with a text: statistics then rule out values without that prefix.
    fn like(&mut self, like: &LikeExpr, expr: &Arc<dyn PhysicalExpr>) -> Result<Option<Predicate>> {
        let pattern = like.pattern().downcast_ref::<Literal>();
        let Some(Some(pattern)) = pattern.and_then(|pattern| pattern.value().try_as_str()) else {
            return Ok(None);
        };
        let Some((column, data_type)) = self.column(like.expr()) else {
            return Ok(None);
        };
        let is_plain = !like.negated() && !like.case_insensitive() && !pattern.contains('\\');
        if !is_plain || !values_of(&data_type).is_string() {
            return Ok(None);
        }
        let (prefix, rest) = pattern.split_at(pattern.find(['%', '_']).unwrap_or(pattern.len()));
        Ok(match rest {
            "" => Some(column.eq(prefix)),
            "%" => Some(column.starts_with(prefix)),
            _ if prefix.is_empty() => None,
            _ => Some(column.starts_with(prefix).and(self.function(expr, None)?)),
        })
    }

    /// Returns the column or member that an expression refers to, and the type that it is read in.
    fn column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<(ColumnRef, DataType)> {
        let reference = Reference::of(expr, self.file)?;
        let data_type = reference.field.data_type().clone();
        // A union is never null, even if the struct around it is.
        let is_union = matches!(data_type, DataType::Union(..));
        (!is_union).then(|| (col_at(reference.ordinals), data_type))
    }

    /// Converts an expression to a function of the columns and members that it refers to. With a sampler, the function
    /// is optional: it is not evaluated for all batches.
    fn function(
        &mut self,
        expr: &Arc<dyn PhysicalExpr>,
        sampler: Option<Sampler>,
    ) -> Result<Predicate> {
        self.has_functions = true;
        let is_union = |reference: &Reference| {
            let is_member = reference.ordinals.len() > 1;
            is_member && matches!(reference.field.data_type(), DataType::Union(..))
        };
        let mut find: FindReference = Reference::of;
        let mut references = distinct_references(expr, self.file, find)?;
        if references.iter().any(is_union) {
            // The library cannot read a union inside a struct by itself, so the function gets the whole column.
            find = Reference::of_column;
            references = distinct_references(expr, self.file, find)?;
        }
        let expr = Arc::clone(expr).transform_down(|expr| {
            let place = find(&expr, self.file)
                .and_then(|reference| references.iter().position(|r| *r == reference));
            Ok(match place {
                Some(place) => {
                    let column = Column::new(&place.to_string(), place);
                    Transformed::yes(Arc::new(column) as Arc<dyn PhysicalExpr>)
                }
                None => Transformed::no(expr),
            })
        });
        Ok(evaluated(expr.data()?, &references, sampler))
    }
}

/// A bound of a key: `key >= value` or `key <= value`.
struct Bound {
    key: Arc<dyn PhysicalExpr>,
    op: Operator,
    value: ScalarValue,
}

impl Bound {
    fn of(expr: &Arc<dyn PhysicalExpr>) -> Option<Self> {
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let value = binary.right().downcast_ref::<Literal>()?.value();
        let is_bound = matches!(binary.op(), Operator::GtEq | Operator::LtEq) && !value.is_null();
        is_bound.then(|| Self {
            key: binary.left().clone(),
            op: *binary.op(),
            value: value.clone(),
        })
    }

    /// Returns the wider of this bound and the one among `others` for the same key and operator; `None` if there is
    /// no such bound.
    fn with(&self, others: &[Self]) -> Option<Self> {
        let alike = |other: &&Self| other.op == self.op && other.key.eq(&self.key);
        let other = others.iter().find(alike)?;
        let is_wider = match (self.value.partial_cmp(&other.value)?, self.op) {
            (Ordering::Less, Operator::GtEq) | (Ordering::Greater, Operator::LtEq) => true,
            (order, _) => order == Ordering::Equal,
        };
        let wider = if is_wider { self } else { other };
        Some(Self {
            key: self.key.clone(),
            op: self.op,
            value: wider.value.clone(),
        })
    }
}

/// Joins two predicates, or returns the one that is there.
fn joined(
    first: Option<Predicate>,
    second: Option<Predicate>,
    join: impl FnOnce(Predicate, Predicate) -> Predicate,
) -> Option<Predicate> {
    match (first, second) {
        (Some(first), Some(second)) => Some(join(first, second)),
        (first, second) => first.or(second),
    }
}

/// Returns the columns and members that an expression refers to, each once.
fn distinct_references(
    expr: &Arc<dyn PhysicalExpr>,
    file: &SchemaRef,
    find: FindReference,
) -> Result<Vec<Reference>> {
    let mut references: Vec<Reference> = Vec::new();
    for_each_reference(expr, file, find, &mut |reference| {
        if !references.contains(&reference) {
            references.push(reference);
        }
    })?;
    Ok(references)
}

/// Returns a predicate that evaluates `expr` on the columns of `references`, in their order.
fn evaluated(
    expr: Arc<dyn PhysicalExpr>,
    references: &[Reference],
    sampler: Option<Sampler>,
) -> Predicate {
    let numbered = references.iter().enumerate();
    let fields = numbered.map(|(i, reference)| evaluated_field(i.to_string(), &reference.field));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns: Vec<ColumnRef> = references
        .iter()
        .map(|r| col_at(r.ordinals.iter().copied()))
        .collect();
    // A routed test returns false where the expression returns null. The same rows pass, but a NOT around it would
    // let others pass: so only optional filters, which no NOT encloses, are routed.
    let routed = sampler.as_ref().and_then(|_| HashRouter::of(&expr));
    let evaluate = move |batch: &RecordBatch| evaluate(&expr, routed.as_ref(), &schema, batch);
    let Some(sampler) = sampler.map(Arc::new) else {
        return Predicate::from_fn(columns, evaluate);
    };
    let schedule = sampler.clone();
    let is_due = move |rows| schedule.is_due(rows);
    Predicate::from_optional_fn(columns, is_due, move |batch| {
        sampler.test(|| evaluate(batch))
    })
}

/// Evaluates an expression for the rows of a batch, after casting its columns from their stored types. `routed` is
/// a faster form of the same expression, if it has one.
fn evaluate(
    expr: &Arc<dyn PhysicalExpr>,
    routed: Option<&HashRouter>,
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> Result<BooleanArray, ArrowError> {
    let stored = batch.columns().iter().zip(schema.fields());
    let typed = stored.map(|(column, field)| {
        if column.data_type() == field.data_type() {
            Ok(column.clone())
        } else {
            cast(column, field.data_type())
        }
    });
    let columns = typed.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options)?;
    let external = |error| ArrowError::ExternalError(Box::new(error));
    if let Some(routed) = routed
        && let Some(passed) = routed.evaluate(&batch).map_err(external)?
    {
        return Ok(passed);
    }
    let value = expr.evaluate(&batch).map_err(external)?;
    let array = value.into_array(batch.num_rows()).map_err(external)?;
    // A null without a type is neither true nor false.
    if array.data_type().is_null() {
        return Ok(BooleanArray::new_null(array.len()));
    }
    Ok(as_boolean_array(&array).map_err(external)?.clone())
}

/// Returns a comparison of a column with a value, if the library compares them as DataFusion does.
fn compare(
    column: ColumnRef,
    data_type: &DataType,
    op: Operator,
    value: &ScalarValue,
) -> Option<Predicate> {
    let literal = literal_of(value, data_type)?;
    let zeros = zeros(value);
    Some(match (op, zeros) {
        // In DataFusion, -0.0 equals 0.0; in the library, -0.0 is less.
        (Operator::Eq, Some(zeros)) => column.is_in(zeros),
        (Operator::NotEq, Some(zeros)) => !column.is_in(zeros),
        (Operator::Lt, Some([least, _])) => column.lt(least),
        (Operator::LtEq, Some([_, greatest])) => column.lt_eq(greatest),
        (Operator::Gt, Some([_, greatest])) => column.gt(greatest),
        (Operator::GtEq, Some([least, _])) => column.gt_eq(least),
        (Operator::Eq, None) => column.eq(literal),
        (Operator::NotEq, None) => column.not_eq(literal),
        (Operator::Lt, None) => column.lt(literal),
        (Operator::LtEq, None) => column.lt_eq(literal),
        (Operator::Gt, None) => column.gt(literal),
        (Operator::GtEq, None) => column.gt_eq(literal),
        _ => return None,
    })
}

/// Returns -0.0 and 0.0 in the type of the value, if the value is one of them.
fn zeros(value: &ScalarValue) -> Option<[ShardLiteral; 2]> {
    let both = |negative: ScalarValue, positive: ScalarValue| {
        let literal = |value: &ScalarValue| ShardLiteral::try_new(&value.to_scalar().ok()?).ok();
        Some([literal(&negative)?, literal(&positive)?])
    };
    match value {
        ScalarValue::Float64(Some(v)) if *v == 0.0 => {
            both(ScalarValue::from(-0.0f64), ScalarValue::from(0.0f64))
        }
        ScalarValue::Float32(Some(v)) if *v == 0.0 => {
            both(ScalarValue::from(-0.0f32), ScalarValue::from(0.0f32))
        }
        ScalarValue::Float16(Some(v)) if v.to_f32() == 0.0 => {
            let zero = if v.is_sign_negative() { -*v } else { *v };
            both(
                ScalarValue::Float16(Some(-zero)),
                ScalarValue::Float16(Some(zero)),
            )
        }
        _ => None,
    }
}

/// Returns a value as a literal to compare with a column of a type, if the two types have the same kind of values.
fn literal_of(value: &ScalarValue, data_type: &DataType) -> Option<ShardLiteral> {
    let value_type = value.data_type();
    let read = values_of(data_type);
    let is_compared = read.is_numeric()
        || read.is_string()
        || is_bytes(read)
        || matches!(
            read,
            DataType::Boolean
                | DataType::FixedSizeBinary(_)
                | DataType::Date32
                | DataType::Date64
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Timestamp(..)
                | DataType::Duration(_)
        );
    if !is_compared || !(are_alike(&value_type, read) || value_type.is_null()) {
        return None;
    }
    ShardLiteral::try_new(&value.to_scalar().ok()?).ok()
}

/// A filter on the columns of a file that a join or sort narrows while the query runs.
pub(crate) struct DynamicFilter {
    /// The filter on the columns of the table, with partition columns replaced by their values.
    expr: Arc<dyn PhysicalExpr>,
    adapter: Adapter,
    row_cost: RowCost,
}

impl DynamicFilter {
    pub(crate) fn new(expr: Arc<dyn PhysicalExpr>, adapter: Adapter, row_cost: RowCost) -> Self {
        Self {
            expr,
            adapter,
            row_cost,
        }
    }

    /// Returns the current state of the filter.
    ///
    /// # Errors
    /// Returns the errors of the filter's snapshot, or of an expression that cannot be rewritten.
    pub(crate) fn current(&self) -> Result<FileFilter> {
        let snapshot = snapshot_physical_expr(self.expr.clone())?;
        let expr = self.adapter.rewrite(snapshot)?;
        FileFilter::of(&expr, &self.adapter.read_schema, Some(self.row_cost))
    }
}

impl fmt::Debug for DynamicFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynamicFilter({})", self.expr)
    }
}

impl DynamicPredicate for DynamicFilter {
    fn version(&self) -> u64 {
        snapshot_generation(&self.expr)
    }

    fn predicate(&self) -> Option<Predicate> {
        // The join or sort that narrows the filter tests the rows again, so a filter that fails costs time only.
        let filter = self.current().ok()?;
        if filter.matches_none {
            Some(Predicate::from_fn(Vec::<ColumnRef>::new(), |batch| {
                Ok(BooleanArray::from(vec![false; batch.num_rows()]))
            }))
        } else {
            filter.predicate
        }
    }
}
