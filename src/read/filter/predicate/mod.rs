//! Predicates: conditions on the rows that a scan returns.

mod advice;
mod bind;
mod case;
mod column_comparison;
mod evaluate;
mod like;
mod literal;
mod literal_text;
mod number;
mod operand;
mod parse;
mod path;
mod place;
#[cfg(test)]
mod tests;
mod text_function;
mod time_word;
mod truth;
mod value;

pub use literal::{Literal, lit};

pub(in crate::read) use bind::{BoundPredicate, FilterColumn, Leaf, PredicateNode};
pub(in crate::read) use evaluate::{PredicateRows, member};
pub(in crate::read) use operand::Test;
pub(in crate::read) use parse::parse;
pub(in crate::read) use path::ColumnPath;
pub(in crate::read) use text_function::TextFunction;
pub(in crate::read) use truth::Truth;
pub(in crate::read) use value::bytes as bytes_of;

use crate::error::Error;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{ArrowError, Schema};
use std::fmt;
use std::ops::{BitAnd, BitOr, Not};
use std::str::FromStr;
use std::sync::Arc;

/// Selects a column or a member of a struct, by a path as in a [`Projection`](crate::read::Projection): `"a"`, `"b.c"`.
/// A member of a null struct is null.
///
/// ```
/// use arrow_shard::read::{col, lit};
/// let filter = col("a.b").gt(5).and(col("c").is_in(["x", "y"])).or(col("d").is_null());
/// assert_eq!(filter.to_string(), "a.b > 5 AND c IN ('x', 'y') OR d IS NULL");
/// ```
pub fn col(path: impl Into<String>) -> ColumnRef {
    ColumnRef {
        path: ColumnPath::Names(path.into()),
    }
}

/// Selects the column with the first of these ordinals, or the member of nested structs that the further ordinals lead
/// to. Names do not matter: they may contain dots or be equal.
///
/// ```
/// use arrow_shard::read::col_at;
/// assert_eq!(col_at([2, 0]).gt(5).to_string(), "#2.0 > 5");
/// ```
pub fn col_at(ordinals: impl IntoIterator<Item = usize>) -> ColumnRef {
    ColumnRef {
        path: ColumnPath::Ordinals(ordinals.into_iter().collect()),
    }
}

/// A column of a [`Predicate`]; created by [`col`] or [`col_at`].
#[derive(Debug, Clone)]
pub struct ColumnRef {
    path: ColumnPath,
}

impl From<&str> for ColumnRef {
    fn from(path: &str) -> Self {
        col(path)
    }
}

impl From<String> for ColumnRef {
    fn from(path: String) -> Self {
        col(path)
    }
}

impl From<&String> for ColumnRef {
    fn from(path: &String) -> Self {
        col(path)
    }
}

/// An operator that compares a value with a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum Comparison {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
}

impl Comparison {
    /// Returns the comparison with its sides exchanged.
    fn turned(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
            Self::Eq | Self::NotEq => self,
        }
    }
}

impl ColumnRef {
    /// Selects the texts of the column in lower case, as [`str::to_lowercase`] returns them. Statistics do not answer
    /// tests of them: the values of all rows that the other parts of a conjunction leave are read.
    ///
    /// ```
    /// use arrow_shard::read::col;
    /// let filter = col("origin").lower().eq("osl").or(col("origin").length().gt(3));
    /// assert_eq!(filter.to_string(), "lower(origin) = 'osl' OR length(origin) > 3");
    /// ```
    #[must_use]
    pub fn lower(self) -> Self {
        self.applied(TextFunction::Lower)
    }

    /// Selects the texts of the column in upper case, as [`str::to_uppercase`] returns them; see
    /// [`lower`](Self::lower).
    #[must_use]
    pub fn upper(self) -> Self {
        self.applied(TextFunction::Upper)
    }

    /// Selects the number of characters of the texts of the column, or of bytes of its binary values, as an `Int64`;
    /// see [`lower`](Self::lower).
    #[must_use]
    pub fn length(self) -> Self {
        self.applied(TextFunction::Length)
    }

    fn applied(self, function: TextFunction) -> Self {
        Self {
            path: ColumnPath::Function(function, Box::new(self.path)),
        }
    }

    fn compare(self, comparison: Comparison, literal: impl Into<Literal>) -> Predicate {
        Predicate::leaf(Expr::Compare(self.path, comparison, literal.into()))
    }

    /// Matches rows with a value equal to the literal.
    #[must_use]
    pub fn eq(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::Eq, literal)
    }

    /// Matches rows with a value different from the literal.
    #[must_use]
    pub fn not_eq(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::NotEq, literal)
    }

    /// Matches rows with a value less than the literal.
    #[must_use]
    pub fn lt(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::Lt, literal)
    }

    /// Matches rows with a value less than or equal to the literal.
    #[must_use]
    pub fn lt_eq(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::LtEq, literal)
    }

    /// Matches rows with a value greater than the literal.
    #[must_use]
    pub fn gt(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::Gt, literal)
    }

    /// Matches rows with a value greater than or equal to the literal.
    #[must_use]
    pub fn gt_eq(self, literal: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::GtEq, literal)
    }

    /// Matches rows with a value between the two literals, inclusive.
    #[must_use]
    pub fn between(self, low: impl Into<Literal>, high: impl Into<Literal>) -> Predicate {
        self.clone().gt_eq(low).and(self.lt_eq(high))
    }

    /// Matches rows with a value equal to one of the literals.
    #[must_use]
    pub fn is_in(self, literals: impl IntoIterator<Item = impl Into<Literal>>) -> Predicate {
        let literals = literals.into_iter().map(Into::into).collect();
        Predicate::leaf(Expr::In(self.path, literals))
    }

    /// Matches rows with a null value.
    #[must_use]
    pub fn is_null(self) -> Predicate {
        Predicate::leaf(Expr::IsNull(self.path))
    }

    /// Matches rows with a value that is not null.
    #[must_use]
    pub fn is_not_null(self) -> Predicate {
        !self.is_null()
    }

    /// Matches rows with text or bytes that begin with the prefix.
    #[must_use]
    pub fn starts_with(self, prefix: impl AsRef<[u8]>) -> Predicate {
        Predicate::leaf(Expr::StartsWith(self.path, prefix.as_ref().to_vec()))
    }
}

/// A test of the rows of a shard, for [`ScanBuilder::with_filter`](crate::read::ScanBuilder::with_filter):
/// comparisons of [columns](col) with [literals](lit), joined by `and`, `or` and `not`. Two columns are compared by a
/// parsed text, such as `"a < b".parse()`, or by [`from_fn`](Self::from_fn).
///
/// The logic has three values, as in SQL: a comparison with a null is unknown, and a row matches if the predicate is
/// true. Values are compared in the types of [`Shard::schema`](crate::Shard::schema), even if the scan requests another
/// schema, as the kernels of `arrow-ord` compare them: floats in total order, in which NaN is above infinity and `-0.0`
/// below `0.0`; text and bytes by their bytes.
///
/// A chain of `and`s or of `or`s may have any length. A predicate with more than 256 other levels of nesting is refused
/// when a scan is built.
#[derive(Debug, Clone)]
pub struct Predicate {
    expr: Expr,
    /// Nesting levels of the expression.
    depth: usize,
}

/// Most levels of a predicate; its evaluation recurses once per level.
const MAX_DEPTH: usize = 256;

#[derive(Debug, Clone)]
enum Expr {
    Compare(ColumnPath, Comparison, Literal),
    In(ColumnPath, Vec<Literal>),
    IsNull(ColumnPath),
    StartsWith(ColumnPath, Vec<u8>),
    Function(Function),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    /// A predicate that had more levels than [`MAX_DEPTH`].
    TooDeep,
}

type BatchFn = dyn Fn(&RecordBatch) -> Result<BooleanArray, ArrowError> + Send + Sync;

/// Whether a number of rows, which are not read yet, are to be tested.
type IsDueFn = dyn Fn(usize) -> bool + Send + Sync;

/// A function of some columns.
#[derive(Clone)]
pub(in crate::read) struct Function {
    pub(in crate::read) paths: Vec<ColumnPath>,
    pub(in crate::read) function: Arc<BatchFn>,
    /// For tests that may be left out.
    pub(in crate::read) is_due: Option<Arc<IsDueFn>>,
    /// The text of the predicate that called for it, and a check of the columns that it takes.
    pub(in crate::read) written: Option<(String, CheckColumns)>,
}

/// Checks whether a function takes these columns, each named by its path.
type CheckColumns = fn(&Schema) -> Result<(), Error>;

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(&self.paths).finish()
    }
}

impl Predicate {
    /// Tests rows with a function of the columns with these paths. The function gets batches with one column per path,
    /// in their order and named by them, and returns for every row whether it matches; null is unknown.
    ///
    /// In a conjunction, functions come last, in the order in which they were added. A function sees only rows that all
    /// parts before it leave, and none outside of a row range or selection. Within one part, everything is evaluated
    /// for the same rows: in `(d <> 0 AND f) OR e`, `f` sees zeros as well.
    ///
    /// An error of the function ends the scan. Its kind is [`External`](crate::ErrorKind::External), unless it is an
    /// [`Error`] of this crate, and its [`source`](std::error::Error::source) is the function's error.
    pub fn from_fn<F>(paths: impl IntoIterator<Item = impl Into<ColumnRef>>, function: F) -> Self
    where
        F: Fn(&RecordBatch) -> Result<BooleanArray, ArrowError> + Send + Sync + 'static,
    {
        let paths = paths.into_iter().map(|path| path.into().path);
        Self::function(paths.collect(), None, function)
    }

    /// Tests rows with a function like [`from_fn`](Self::from_fn), but only as far as it is worth while: rows that do
    /// not match may be returned, too. Engines push down such tests for rows that they test again, as joins do.
    ///
    /// Before some rows are read for the function, `is_due` is called with their number. If it returns false, they are
    /// not read for it, and stay. This holds where the function is a part of a conjunction; inside of an OR or a NOT,
    /// `is_due` is not called, and the function tests all rows. Deletes always test all rows.
    pub fn from_optional_fn<F, D>(
        paths: impl IntoIterator<Item = impl Into<ColumnRef>>,
        is_due: D,
        function: F,
    ) -> Self
    where
        F: Fn(&RecordBatch) -> Result<BooleanArray, ArrowError> + Send + Sync + 'static,
        D: Fn(usize) -> bool + Send + Sync + 'static,
    {
        let paths = paths.into_iter().map(|path| path.into().path);
        Self::leaf(Expr::Function(Function {
            paths: paths.collect(),
            function: Arc::new(function),
            is_due: Some(Arc::new(is_due)),
            written: None,
        }))
    }

    fn function<F>(
        paths: Vec<ColumnPath>,
        written: Option<(String, CheckColumns)>,
        function: F,
    ) -> Self
    where
        F: Fn(&RecordBatch) -> Result<BooleanArray, ArrowError> + Send + Sync + 'static,
    {
        Self::leaf(Expr::Function(Function {
            paths,
            function: Arc::new(function),
            is_due: None,
            written,
        }))
    }

    /// Returns the predicate with functions that test all rows, also those of
    /// [`from_optional_fn`](Self::from_optional_fn).
    pub(in crate::read) fn with_all_due(mut self) -> Self {
        let parts = match &mut self.expr {
            Expr::And(parts) => parts.as_mut_slice(),
            part => std::slice::from_mut(part),
        };
        for part in parts {
            if let Expr::Function(function) = part {
                function.is_due = None;
            }
        }
        self
    }

    fn leaf(expr: Expr) -> Self {
        Self { expr, depth: 1 }
    }

    fn of(expr: Expr, depth: usize) -> Self {
        if depth > MAX_DEPTH {
            Self::leaf(Expr::TooDeep)
        } else {
            Self { expr, depth }
        }
    }

    /// Matches rows that match both predicates.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let parts = |expr| match expr {
            Expr::And(parts) => Ok(parts),
            part => Err(part),
        };
        self.joined(other, parts, Expr::And)
    }

    /// Matches rows that match this predicate and the filter so far, if there is one.
    #[must_use]
    pub(crate) fn narrowing(self, filter: Option<Self>) -> Self {
        match filter {
            Some(filter) => filter.and(self),
            None => self,
        }
    }

    /// Matches rows that match either predicate.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let parts = |expr| match expr {
            Expr::Or(parts) => Ok(parts),
            part => Err(part),
        };
        self.joined(other, parts, Expr::Or)
    }

    /// Joins both as parts of one expression, made by `join`. `parts` returns the parts of an expression that `join`
    /// made, so that a chain stays flat.
    fn joined(
        self,
        other: Self,
        parts: fn(Expr) -> Result<Vec<Expr>, Expr>,
        join: fn(Vec<Expr>) -> Expr,
    ) -> Self {
        let (a, b) = (self.depth, other.depth);
        let (all, depth) = match (parts(self.expr), parts(other.expr)) {
            (Ok(mut first), Ok(second)) => {
                first.extend(second);
                (first, a.max(b))
            }
            (Ok(mut first), Err(second)) => {
                first.push(second);
                (first, a.max(b + 1))
            }
            (Err(first), Ok(mut second)) => {
                second.insert(0, first);
                (second, b.max(a + 1))
            }
            (Err(first), Err(second)) => (vec![first, second], a.max(b) + 1),
        };
        Self::of(join(all), depth)
    }

    /// Matches rows for which the predicate is false; unknown does not match.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "it does, as `!` as well")]
    pub fn not(self) -> Self {
        match self.expr {
            Expr::Not(part) => Self::of(*part, self.depth - 1),
            expr => Self::of(Expr::Not(Box::new(expr)), self.depth + 1),
        }
    }
}

/// Parses a condition in a subset of SQL: comparisons of a column with a literal or another column, `BETWEEN`, `IN`,
/// `IS NULL`, `IS TRUE`, `IS DISTINCT FROM`, `LIKE 'pattern%'`, `ILIKE`, and Boolean columns by themselves, joined by
/// `NOT`, `AND`, `OR` and parentheses. `lower(name)`, `upper(name)` and `length(name)` can be tested like a column.
/// Literals are numbers, text in single quotes, `TRUE`, `FALSE`, `DATE '2024-02-29'`, `TIME '12:30:00'`, `TIMESTAMP
/// '2024-02-29 12:30:00'`, and bytes such as `x'00ff'`. Members of structs follow a dot; names that are not words are
/// put in double quotes. The page `docs/filters.md` of the repository has the grammar and the differences from SQL.
///
/// A number takes the type of the column that it is compared with: it is compared exactly with integers and decimals,
/// as the nearest value with floats, and as a count of units with durations. Text is read as a date, time, decimal or
/// UUID if the column has such values, and as NaN or an infinity if the column has floats. A scan checks columns and
/// literals against its shard when it is built; [`Shard::parse_predicate`](crate::Shard::parse_predicate) checks them
/// at once, and reports the place in the text.
///
/// ```
/// use arrow_shard::read::Predicate;
/// let filter: Predicate = "delay > 60 AND flight.origin IN ('OSL', 'LIM')".parse()?;
/// assert_eq!(filter.to_string(), "delay > 60 AND flight.origin IN ('OSL', 'LIM')");
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) with the character at which parsing fails.
impl FromStr for Predicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text, &|_| Ok(()))
    }
}

impl Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        Self::not(self)
    }
}

impl BitAnd for Predicate {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.and(other)
    }
}

impl BitOr for Predicate {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
        })
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare(path, comparison, literal) => {
                write!(f, "{path} {comparison} {literal}")
            }
            Self::In(path, literals) => {
                let literals: Vec<String> = literals.iter().map(Literal::to_string).collect();
                write!(f, "{path} IN ({})", literals.join(", "))
            }
            Self::IsNull(path) => write!(f, "{path} IS NULL"),
            Self::StartsWith(path, prefix) => {
                let prefix = like::escaped(&String::from_utf8_lossy(prefix));
                let pattern = literal::quoted(&format!("{prefix}%"));
                write!(f, "{path} LIKE {pattern}")
            }
            Self::Function(function) => match &function.written {
                Some((text, _)) => f.write_str(text),
                None => {
                    let paths: Vec<String> =
                        function.paths.iter().map(ColumnPath::to_string).collect();
                    write!(f, "function({})", paths.join(", "))
                }
            },
            Self::And(parts) => join(f, parts, " AND ", |part| matches!(part, Self::Or(_))),
            Self::Or(parts) => join(f, parts, " OR ", |_| false),
            Self::Not(part) => match part.as_ref() {
                Self::IsNull(path) => write!(f, "{path} IS NOT NULL"),
                part => write!(f, "NOT ({part})"),
            },
            Self::TooDeep => f.write_str("..."),
        }
    }
}

fn join(
    f: &mut fmt::Formatter<'_>,
    parts: &[Expr],
    word: &str,
    in_parentheses: impl Fn(&Expr) -> bool,
) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        let word = if i == 0 { "" } else { word };
        if in_parentheses(part) {
            write!(f, "{word}({part})")?;
        } else {
            write!(f, "{word}{part}")?;
        }
    }
    Ok(())
}
