//! The Python classes of conditions on rows.

use crate::errors::{exception, invalid_argument};
use crate::literal::literal;
use crate::pyarrow;
use arrow_schema::SchemaRef;
use arrow_shard::Shard;
use arrow_shard::read::{ColumnRef, Predicate, col as column_of, lit};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A column, or a member of a struct as a path with dots, from :func:`col`. A comparison with a value, or with another
/// column of the same type, returns an :class:`Expression`.
///
/// >>> sh.col("flight.delay") > 60
/// <Expression flight.delay > 60>
#[pyclass(module = "arrow_shard", frozen)]
#[derive(Debug)]
pub(crate) struct Column {
    path: String,
}

/// A condition on rows, the filter of a scan. ``&``, ``|`` and ``~`` join conditions; ``and``, ``or`` and ``not`` raise
/// an exception.
///
/// The logic is SQL's: a comparison with null is unknown, and a row matches if the condition is true. Floats are in
/// total order: NaN is above infinity, and -0.0 is below 0.0.
///
/// >>> (sh.col("id") > 1) & ~sh.col("name").is_in(["Oslo", "Lima"])
/// <Expression id > 1 AND NOT (name IN ('Oslo', 'Lima'))>
#[pyclass(module = "arrow_shard", frozen)]
#[derive(Debug)]
pub(crate) struct Expression(Predicate);

/// Returns a column by its name, or a member of a struct by its path, to build conditions with.
///
/// >>> late = (sh.col("delay") > 60) | sh.col("origin").starts_with("OS")
/// >>> print(late)
/// delay > 60 OR origin LIKE 'OS%'
#[pyfunction]
pub(crate) fn col(path: String) -> Column {
    Column { path }
}

impl Column {
    fn column(&self) -> ColumnRef {
        column_of(self.path.as_str())
    }

    /// Returns the path as it is quoted in the text of a condition.
    fn quoted(&self) -> String {
        let quote = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let names: Vec<String> = self.path.split('.').map(quote).collect();
        names.join(".")
    }
}

#[pymethods]
impl Column {
    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Expression> {
        if let Ok(other) = other.cast::<Self>() {
            let sign = match op {
                CompareOp::Eq => "=",
                CompareOp::Ne => "<>",
                CompareOp::Lt => "<",
                CompareOp::Le => "<=",
                CompareOp::Gt => ">",
                CompareOp::Ge => ">=",
            };
            let text = format!("{} {sign} {}", self.quoted(), other.get().quoted());
            return parsed(other.py(), &text);
        }
        let (column, literal) = (self.column(), literal(other)?);
        Ok(Expression(match op {
            CompareOp::Eq => column.eq(literal),
            CompareOp::Ne => column.not_eq(literal),
            CompareOp::Lt => column.lt(literal),
            CompareOp::Le => column.lt_eq(literal),
            CompareOp::Gt => column.gt(literal),
            CompareOp::Ge => column.gt_eq(literal),
        }))
    }

    /// Matches rows with one of these values.
    ///
    /// >>> sh.col("id").is_in(range(3))
    /// <Expression id IN (0, 1, 2)>
    fn is_in(&self, values: &Bound<'_, PyAny>) -> PyResult<Expression> {
        let literals = values
            .try_iter()?
            .map(|value| literal(&value?))
            .collect::<PyResult<Vec<_>>>()?;
        Ok(Expression(self.column().is_in(literals)))
    }

    /// Matches rows that are null.
    fn is_null(&self) -> Expression {
        Expression(self.column().is_null())
    }

    /// Matches rows that are not null.
    fn is_not_null(&self) -> Expression {
        Expression(self.column().is_not_null())
    }

    /// Matches rows with a float that is NaN.
    fn is_nan(&self) -> Expression {
        Expression(pyarrow::is_nan(&self.path))
    }

    /// Matches rows with a value between two others, or equal to one of them.
    ///
    /// >>> sh.col("id").between(2, 5)
    /// <Expression id >= 2 AND id <= 5>
    fn between(&self, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> PyResult<Expression> {
        let (low, high) = (literal(low)?, literal(high)?);
        Ok(Expression(self.column().between(low, high)))
    }

    /// Matches rows with a text, or bytes, that begin with the prefix.
    fn starts_with(&self, prefix: &Bound<'_, PyAny>) -> PyResult<Expression> {
        let bytes = match prefix.extract::<String>() {
            Ok(text) => text.into_bytes(),
            Err(_) => prefix.extract::<Vec<u8>>()?,
        };
        Ok(Expression(self.column().starts_with(bytes)))
    }

    /// Matches rows with a text like the pattern: ``%`` matches any text and ``_`` matches one character.
    ///
    /// >>> sh.col("name").like("%im_")
    /// <Expression name LIKE '%im_'>
    fn like(&self, py: Python<'_>, pattern: &str) -> PyResult<Expression> {
        let pattern = pattern.replace('\'', "''");
        parsed(py, &format!("{} LIKE '{pattern}'", self.quoted()))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expression> {
        Ok(Expression(self.holds().and(operand(other)?)))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Expression> {
        Ok(Expression(self.holds().or(operand(other)?)))
    }

    fn __invert__(&self) -> Expression {
        Expression(self.holds().not())
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(no_truth())
    }

    fn __repr__(&self) -> String {
        format!("<Column {}>", self.path)
    }
}

impl Column {
    /// Returns the condition that a Boolean column is true.
    fn holds(&self) -> Predicate {
        self.column().eq(lit(true))
    }
}

#[pymethods]
impl Expression {
    /// Reads a condition in a subset of SQL, such as ``"delay > 60 AND origin IN ('OSL', 'LIM')"``.
    ///
    /// >>> sh.Expression.parse("name LIKE 'L%' OR id IS NULL")
    /// <Expression name LIKE 'L%' OR id IS NULL>
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        parsed(py, text)
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.clone().and(operand(other)?)))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.clone().or(operand(other)?)))
    }

    fn __invert__(&self) -> Self {
        Self(self.0.clone().not())
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(no_truth())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Expression {}>", self.0)
    }
}

fn no_truth() -> PyErr {
    PyTypeError::new_err(
        "a condition is neither true nor false before it meets rows: join conditions with `&`, `|` and `~`, each in \
         parentheses, and use `between` instead of a chain of comparisons",
    )
}

fn parsed(py: Python<'_>, text: &str) -> PyResult<Expression> {
    let parsed = text.parse().map_err(|error| exception(py, error))?;
    Ok(Expression(parsed))
}

/// Returns the condition of an [`Expression`] or of a Boolean [`Column`].
fn operand(object: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    if let Ok(expression) = object.cast::<Expression>() {
        return Ok(expression.get().0.clone());
    }
    match object.cast::<Column>() {
        Ok(column) => Ok(column.get().holds()),
        Err(_) => {
            let found = object.get_type();
            let message = format!("expected a condition such as `col(\"a\") > 5`, found {found}");
            Err(PyTypeError::new_err(message))
        }
    }
}

/// Converts a filter: an [`Expression`] or [`Column`], the text of a condition, a pyarrow expression over columns of
/// the schema, or a list of filters that must all be true. If a shard is passed, a text is checked against its
/// columns now; otherwise when a scan uses it.
pub(crate) fn predicate(
    object: &Bound<'_, PyAny>,
    schema: &SchemaRef,
    at_hand: Option<&Shard>,
) -> PyResult<Predicate> {
    if let Ok(all) = object.cast::<PyList>() {
        let predicates = all
            .iter()
            .map(|one| predicate(&one, schema, at_hand))
            .collect::<PyResult<Vec<_>>>()?;
        let message = "expected a condition, found an empty list";
        return predicates
            .into_iter()
            .reduce(Predicate::and)
            .ok_or_else(|| invalid_argument(object.py(), message));
    }
    if let Ok(text) = object.extract::<String>() {
        let parsed = match at_hand {
            Some(shard) => shard.parse_predicate(&text),
            None => text.parse(),
        };
        return parsed.map_err(|error| exception(object.py(), error));
    }
    if pyarrow::is_expression(object)? {
        return pyarrow::predicate(object, schema);
    }
    operand(object)
}
