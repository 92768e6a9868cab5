//! The Python classes of conditions on rows.

use crate::errors::exception;
use crate::literal::literal;
use crate::pyarrow;
use arrow_shard::read::{ColumnRef, Predicate, col as column_of, lit};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

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
///
/// Conditions can be pickled.
#[pyclass(module = "arrow_shard", frozen)]
#[derive(Debug)]
pub(crate) struct Expression {
    predicate: Predicate,
    /// The name of the function that made it, and its arguments.
    made: Py<PyTuple>,
}

impl Expression {
    fn new<
        'py,
        A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
    >(
        py: Python<'py>,
        predicate: Predicate,
        made: A,
    ) -> PyResult<Self> {
        let made = made.into_pyobject(py)?.unbind();
        Ok(Self { predicate, made })
    }
}

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
    fn __richcmp__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Expression> {
        let (py, this) = (slf.py(), slf.get());
        if let Ok(other) = other.cast::<Self>() {
            let sign = match op {
                CompareOp::Eq => "=",
                CompareOp::Ne => "<>",
                CompareOp::Lt => "<",
                CompareOp::Le => "<=",
                CompareOp::Gt => ">",
                CompareOp::Ge => ">=",
            };
            let text = format!("{} {sign} {}", this.quoted(), other.get().quoted());
            return parsed(py, &text);
        }
        let (column, literal) = (this.column(), literal(other)?);
        let (name, predicate) = match op {
            CompareOp::Eq => ("eq", column.eq(literal)),
            CompareOp::Ne => ("ne", column.not_eq(literal)),
            CompareOp::Lt => ("lt", column.lt(literal)),
            CompareOp::Le => ("le", column.lt_eq(literal)),
            CompareOp::Gt => ("gt", column.gt(literal)),
            CompareOp::Ge => ("ge", column.gt_eq(literal)),
        };
        Expression::new(py, predicate, (name, slf, other))
    }

    /// Matches rows with one of these values.
    ///
    /// >>> sh.col("id").is_in(range(3))
    /// <Expression id IN (0, 1, 2)>
    fn is_in(slf: &Bound<'_, Self>, values: &Bound<'_, PyAny>) -> PyResult<Expression> {
        let values = values.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let literals = values.iter().map(literal).collect::<PyResult<Vec<_>>>()?;
        let predicate = slf.get().column().is_in(literals);
        Expression::new(slf.py(), predicate, ("is_in", slf, values))
    }

    /// Matches rows that are null.
    fn is_null(slf: &Bound<'_, Self>) -> PyResult<Expression> {
        Expression::new(slf.py(), slf.get().column().is_null(), ("is_null", slf))
    }

    /// Matches rows that are not null.
    fn is_not_null(slf: &Bound<'_, Self>) -> PyResult<Expression> {
        Expression::new(
            slf.py(),
            slf.get().column().is_not_null(),
            ("is_not_null", slf),
        )
    }

    /// Matches rows with a float that is NaN.
    fn is_nan(slf: &Bound<'_, Self>) -> PyResult<Expression> {
        Expression::new(slf.py(), pyarrow::is_nan(&slf.get().path), ("is_nan", slf))
    }

    /// Matches rows with a value between two others, or equal to one of them.
    ///
    /// >>> sh.col("id").between(2, 5)
    /// <Expression id >= 2 AND id <= 5>
    fn between(
        slf: &Bound<'_, Self>,
        low: &Bound<'_, PyAny>,
        high: &Bound<'_, PyAny>,
    ) -> PyResult<Expression> {
        let predicate = slf.get().column().between(literal(low)?, literal(high)?);
        Expression::new(slf.py(), predicate, ("between", slf, low, high))
    }

    /// Matches rows with a text, or bytes, that begin with the prefix.
    fn starts_with(slf: &Bound<'_, Self>, prefix: &Bound<'_, PyAny>) -> PyResult<Expression> {
        let bytes = match prefix.extract::<String>() {
            Ok(text) => text.into_bytes(),
            Err(_) => prefix.extract::<Vec<u8>>()?,
        };
        let predicate = slf.get().column().starts_with(bytes);
        Expression::new(slf.py(), predicate, ("starts_with", slf, prefix))
    }

    /// Matches rows with a text like the pattern: ``%`` matches any text and ``_`` matches one character.
    ///
    /// >>> sh.col("name").like("%im_")
    /// <Expression name LIKE '%im_'>
    fn like(&self, py: Python<'_>, pattern: &str) -> PyResult<Expression> {
        let pattern = pattern.replace('\'', "''");
        parsed(py, &format!("{} LIKE '{pattern}'", self.quoted()))
    }

    /// Matches rows with a text like the pattern, without regard to case.
    ///
    /// >>> sh.col("name").ilike("LIM_")
    /// <Expression name ILIKE 'LIM_'>
    fn ilike(&self, py: Python<'_>, pattern: &str) -> PyResult<Expression> {
        let pattern = pattern.replace('\'', "''");
        parsed(py, &format!("{} ILIKE '{pattern}'", self.quoted()))
    }

    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Expression> {
        joined("and_", slf.as_any(), other)
    }

    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Expression> {
        joined("or_", slf.as_any(), other)
    }

    fn __invert__(slf: &Bound<'_, Self>) -> PyResult<Expression> {
        Expression::new(slf.py(), slf.get().holds().not(), ("invert", slf))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&str,))> {
        Ok((py.import("arrow_shard")?.getattr("col")?, (&self.path,)))
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

    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        joined("and_", slf.as_any(), other)
    }

    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        joined("or_", slf.as_any(), other)
    }

    fn __invert__(slf: &Bound<'_, Self>) -> PyResult<Self> {
        Self::new(slf.py(), slf.get().predicate.clone().not(), ("invert", slf))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let condition = py.import("arrow_shard._pickles")?.getattr("condition")?;
        Ok((condition, self.made.bind(py).clone()))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(no_truth())
    }

    fn __str__(&self) -> String {
        self.predicate.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Expression {}>", self.predicate)
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
    Expression::new(py, parsed, ("parse", text))
}

/// Joins two conditions by a function of Python's module `operator`.
fn joined(name: &str, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Expression> {
    let (left, right) = (operand(a)?, operand(b)?);
    let predicate = if name == "and_" {
        left.and(right)
    } else {
        left.or(right)
    };
    Expression::new(a.py(), predicate, (name, a, b))
}

/// Returns the condition of an [`Expression`] or of a Boolean [`Column`].
pub(crate) fn operand(object: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    if let Ok(expression) = object.cast::<Expression>() {
        return Ok(expression.get().predicate.clone());
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
