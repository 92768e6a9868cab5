"""Translates conditions of polars to conditions on shards.

polars describes a condition as a tree, in which it has already given both sides of a comparison the same type. A part
is translated if the meaning is exactly the same: polars treats all NaNs as one value above infinity, and both zeros as
equal, while shards have a total order. polars itself tests the other parts.
"""

from __future__ import annotations

import decimal
import functools
import io
import json
import operator
import re
import struct
from collections.abc import Callable
from typing import Any

import polars as pl

from . import _lib
from ._errors import ShardError
from ._literals import Ticks
from ._polars_types import check, frame, without_lacking

_INTEGERS = {str(kind): kind for kind in (
    pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64,
)}
_UNITS = {"Nanoseconds": "ns", "Microseconds": "us", "Milliseconds": "ms"}
# Most values of `is_in`, because the tree describes them byte by byte.
_MOST_BYTES = 4 << 20

Condition = _lib.Column | _lib.Expression


class Untranslatable(Exception):
    """A part of a condition has no equivalent."""


def split(predicate: pl.Expr, schema: pl.Schema, file: _lib.ShardFile) -> tuple[list[Condition], bool]:
    """Returns conditions that a predicate implies, and whether polars has to test the predicate as well."""
    try:
        if len(predicate.meta.serialize()) > _MOST_BYTES:
            return [], True
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # polars tests conditions that it cannot describe
        return [], True
    conditions, is_exact = [], True
    for part in _conjuncts(tree):
        try:
            translated = _part(part, schema)
            if translated is not None:
                # Types that cannot be compared are an error.
                file.scan(columns=[], filter=translated, threads=1)
                conditions.append(translated)
        except (Untranslatable, ShardError, RecursionError):
            is_exact = False
    return conditions, not is_exact


def parts(expression: pl.Expr, schema: _lib.Schema) -> tuple[list[Any], tuple[list[str], Any] | None]:
    """Splits a condition on columns of a schema: into conditions, and the columns and a function for the rest."""
    from polars.io.plugins import register_io_source

    known = without_lacking(schema)
    # A pattern or a selector might stand for any column.
    used = expression.meta.root_names() if known is schema or not _has_selector(expression) else None
    check(schema, "use a condition of sh.col or pyarrow", used)
    types = pl.Schema(known)
    seen: list[pl.Expr] = []

    def source(columns: Any, predicate: pl.Expr | None, rows: Any, batch: Any) -> Any:
        seen.extend([] if predicate is None else [predicate])
        return iter(())

    # The optimizer of polars finds the types that both sides of a comparison get, and the parts that can be handed down.
    lazy = register_io_source(source, schema=types).filter(expression)
    lazy.collect(engine="in-memory")
    keeps = any(line.lstrip().startswith("FILTER") for line in lazy.explain().splitlines())
    if keeps and not _is_of_rows(json.loads(expression.meta.serialize(format="json"))):
        raise NotImplementedError(
            f"expected a condition on single rows, found {expression}; use scan_polars and filter"
        )
    if seen and not keeps:
        # polars has replaced patterns and selectors by the names of columns.
        expression = functools.reduce(operator.and_, seen)
    conditions: list[Condition] = []
    for predicate in seen:
        for part in _conjuncts(json.loads(predicate.meta.serialize(format="json"))):
            try:
                translated = _part(part, types)
                conditions.extend([] if translated is None else [translated])
            except (Untranslatable, RecursionError):
                keeps = True
    if not keeps:
        return (conditions if seen or _is_true(expression) else [_never(types)]), None

    def matches(batch: _lib.RecordBatch) -> pl.DataFrame:
        return frame(batch).select(expression.alias("matches"))

    return conditions, (list(dict.fromkeys(expression.meta.root_names())), matches)


def _has_selector(expression: pl.Expr) -> bool:
    """Returns whether an expression has patterns of names or selectors of columns; true if polars cannot tell."""
    try:
        return '"Selector":' in expression.meta.serialize(format="json")
    except Exception:  # polars cannot describe all expressions
        return True


def _is_of_rows(tree: Any) -> bool:
    """Returns whether an expression surely has a value for each row that does not depend on other rows."""
    if isinstance(tree, list):
        return all(map(_is_of_rows, tree))
    if not isinstance(tree, dict) or len(tree) != 1:
        return False
    ((kind, content),) = tree.items()
    if kind in ("Column", "Literal"):
        return True
    if kind == "BinaryExpr":
        return _is_of_rows([content["left"], content["right"]])
    if kind == "Cast":
        return _is_of_rows(content["expr"])
    if kind == "Function" and isinstance(content["function"], dict):
        ((group, function),) = content["function"].items()
        name = function if isinstance(function, str) else next(iter(function))
        known = group in ("StringExpr", "TemporalExpr", "StructExpr") and name != "ConcatVertical"
        return (known or (group == "Boolean" and name in _OF_ROWS)) and _is_of_rows(content["input"])
    return False


# Functions of the group `Boolean` that look at one row.
_OF_ROWS = {"Not", "IsNull", "IsNotNull", "IsNan", "IsNotNan", "IsFinite", "IsInfinite", "IsBetween", "IsIn"}


def _is_true(expression: pl.Expr) -> bool:
    """Returns whether a condition without columns is true."""
    return not expression.meta.root_names() and pl.select(expression.alias("always"))["always"].to_list() == [True]


def _never(schema: pl.Schema) -> Condition:
    column = _lib.col(schema.names()[0])
    return column.is_null() & column.is_not_null()


def _conjuncts(tree: Any) -> list[Any]:
    """Returns the parts of a conjunction."""
    parts, rest = [], [tree]
    while rest:
        part = rest.pop()
        if "BinaryExpr" in part and part["BinaryExpr"]["op"] in ("And", "LogicalAnd"):
            rest += [part["BinaryExpr"]["right"], part["BinaryExpr"]["left"]]
        else:
            parts.append(part)
    return parts


def _part(tree: Any, schema: pl.Schema) -> Condition | None:
    """Translates a part of a conjunction, which only has to be true for the same rows; None if it is true."""
    if "Literal" in tree:
        value = tree["Literal"].get("Scalar", {}).get("Boolean")
        if value is None:
            raise Untranslatable
        return None if value else _never(schema)
    if "Ternary" in tree:
        # polars' form of a comparison that is true or false whatever the value.
        ternary = tree["Ternary"]
        test = ternary["predicate"].get("Function", {})
        is_so = test.get("function") == {"Boolean": "IsNotNull"} and "Null" in ternary["falsy"].get(
            "Literal", {}
        ).get("Scalar", {})
        value = ternary["truthy"].get("Literal", {}).get("Scalar", {}).get("Boolean")
        if not is_so or value is None:
            raise Untranslatable
        return _condition(ternary["predicate"], schema) if value else _never(schema)
    return _condition(tree, schema)


def _condition(tree: Any, schema: pl.Schema) -> Condition:
    """Translates a condition to one that is true, false or unknown for the same rows."""
    ((kind, content),) = tree.items()
    if kind == "Column":
        column, dtype = _column(tree, schema)
        if dtype != pl.Boolean:
            raise Untranslatable
        return column == True  # noqa: E712
    if kind == "BinaryExpr":
        return _binary(content, schema)
    if kind == "Function":
        (group, function), inputs = _only(content["function"]), content["input"]
        if group == "Boolean":
            return _boolean(function, inputs, schema)
        if group == "StringExpr":
            return _text(function, inputs, schema)
    raise Untranslatable


def _only(tree: Any) -> tuple[str, Any]:
    if not isinstance(tree, dict) or len(tree) != 1:
        raise Untranslatable
    ((name, content),) = tree.items()
    return name, content


def _column(tree: Any, schema: pl.Schema) -> tuple[_lib.Column, pl.DataType]:
    """Returns a column, or a member of structs, and its type."""
    names: list[str] = []
    while "Function" in tree:
        group, function = _only(tree["Function"]["function"])
        if group != "StructExpr" or not isinstance(function, dict) or "FieldByName" not in function:
            raise Untranslatable
        names.insert(0, function["FieldByName"])
        (tree,) = tree["Function"]["input"]
    if "Column" not in tree:
        raise Untranslatable
    names.insert(0, tree["Column"])
    path = ".".join(names)
    # A column with the name `a.b` takes precedence over the member `b` of `a`.
    if names[0] not in schema or (len(names) > 1 and (path in schema or any("." in name for name in names))):
        raise Untranslatable
    dtype: Any = schema[names[0]]
    for name in names[1:]:
        members = {field.name: field.dtype for field in dtype.fields} if isinstance(dtype, pl.Struct) else {}
        if name not in members:
            raise Untranslatable
        dtype = members[name]
    return _lib.col(path), dtype if isinstance(dtype, pl.DataType) else dtype()


def _is_text(dtype: pl.DataType) -> bool:
    return isinstance(dtype, (pl.String, pl.Categorical, pl.Enum))


def _is_float(dtype: pl.DataType) -> bool:
    return isinstance(dtype, (pl.Float32, pl.Float64))


def _literal(tree: Any, dtype: pl.DataType) -> Any:
    """Returns the value of a literal of the type of a column, as conditions take it."""
    while "Alias" in tree:
        tree = tree["Alias"][0]
    if "Literal" not in tree or not isinstance(tree["Literal"].get("Scalar"), dict):
        raise Untranslatable
    kind, value = _only(tree["Literal"]["Scalar"])
    if value is None:  # null, or a float that JSON does not have
        raise Untranslatable
    if kind in _INTEGERS and dtype == _INTEGERS[kind]:
        return value
    if kind in ("Float32", "Float64") and str(dtype) == kind:
        return struct.unpack("f", struct.pack("f", value))[0] if kind == "Float32" else float(value)
    if kind == "String" and _is_text(dtype):
        return value
    if kind == "Boolean" and dtype == pl.Boolean:
        return value
    if kind == "Binary" and dtype == pl.Binary:
        return bytes(value)
    if kind == "Date" and dtype == pl.Date:
        return Ticks("date", value)
    if kind == "Time" and dtype == pl.Time:
        return Ticks("time_ns", value)
    if kind == "Duration" and isinstance(dtype, pl.Duration) and _UNITS.get(value[1]) == dtype.time_unit:
        return Ticks(f"duration_{dtype.time_unit}", value[0])
    if kind == "Datetime" and isinstance(dtype, pl.Datetime):
        ticks, unit, zone = value
        zone = zone["inner"] if isinstance(zone, dict) else zone
        if _UNITS.get(unit) == dtype.time_unit and zone == dtype.time_zone:
            return Ticks(f"timestamp_{dtype.time_unit}{'_utc' if zone else ''}", ticks)
    if kind == "Decimal" and isinstance(dtype, pl.Decimal):
        digits, _, scale = value
        with decimal.localcontext(prec=80):
            return decimal.Decimal(digits).scaleb(-scale)
    raise Untranslatable


Compare = Callable[[_lib.Column, Any], _lib.Expression]
_COMPARE: dict[str, Compare] = {
    "Eq": lambda column, value: column == value,
    "NotEq": lambda column, value: column != value,
    "Lt": lambda column, value: column < value,
    "LtEq": lambda column, value: column <= value,
    "Gt": lambda column, value: column > value,
    "GtEq": lambda column, value: column >= value,
}
_TURNED = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq", "Eq": "Eq", "NotEq": "NotEq"}


def _binary(content: Any, schema: pl.Schema) -> Condition:
    op, left, right = content["op"], content["left"], content["right"]
    if op in ("And", "LogicalAnd"):
        return _condition(left, schema) & _condition(right, schema)
    if op in ("Or", "LogicalOr"):
        return _condition(left, schema) | _condition(right, schema)
    if "Literal" in left and op in _TURNED:
        op, left, right = _TURNED[op], right, left
    column, dtype = _column(left, schema)
    if op in ("EqValidity", "NotEqValidity"):
        equal = _compare("Eq", column, dtype, _literal(right, dtype)) & column.is_not_null()
        return equal if op == "EqValidity" else ~equal
    if op not in _COMPARE:
        raise Untranslatable
    if "Literal" in right:
        return _compare(op, column, dtype, _literal(right, dtype))
    other, others = _column(right, schema)
    if dtype != others or not (dtype.is_integer() or dtype in (pl.String, pl.Binary, pl.Date)):
        raise Untranslatable
    return _COMPARE[op](column, other)


def _compare(op: str, column: _lib.Column, dtype: pl.DataType, value: Any) -> _lib.Expression:
    if isinstance(dtype, (pl.Categorical, pl.Enum)) and op not in ("Eq", "NotEq"):
        raise Untranslatable  # an Enum has an order of its own
    if not _is_float(dtype):
        return _COMPARE[op](column, value)
    low, high = (-0.0, 0.0) if value == 0 else (value, value)
    # NaNs with a minus sign are below negative infinity in a shard, and above infinity in polars.
    is_negative_nan = column < -float("inf")
    equal = column.between(low, high)
    tests = {
        "Eq": lambda: equal,
        "NotEq": lambda: ~equal,
        "Lt": lambda: (column < low) & ~is_negative_nan,
        "LtEq": lambda: (column <= high) & ~is_negative_nan,
        "Gt": lambda: (column > high) | is_negative_nan,
        "GtEq": lambda: (column >= low) | is_negative_nan,
    }
    return tests[op]()


def _boolean(function: Any, inputs: list[Any], schema: pl.Schema) -> Condition:
    name, options = (function, {}) if isinstance(function, str) else _only(function)
    if name == "Not":
        return ~_condition(inputs[0], schema)
    column, dtype = _column(inputs[0], schema)
    if name == "IsNull":
        return column.is_null()
    if name == "IsNotNull":
        return column.is_not_null()
    if name in ("IsNan", "IsNotNan") and _is_float(dtype):
        return column.is_nan() if name == "IsNan" else ~column.is_nan()
    if name == "IsBetween":
        closed = options["closed"]
        low, high = (_literal(bound, dtype) for bound in inputs[1:])
        above = "GtEq" if closed in ("Both", "Left") else "Gt"
        below = "LtEq" if closed in ("Both", "Right") else "Lt"
        return _compare(above, column, dtype, low) & _compare(below, column, dtype, high)
    if name == "IsIn":
        return _is_in(column, dtype, inputs[1], options["nulls_equal"])
    raise Untranslatable


def _is_in(column: _lib.Column, dtype: pl.DataType, listed: Any, nulls_equal: bool) -> Condition:
    while "Alias" in listed:
        listed = listed["Alias"][0]
    if "List" not in listed.get("Literal", {}).get("Scalar", {}):
        raise Untranslatable
    series = pl.select(pl.Expr.deserialize(io.StringIO(json.dumps(listed)), format="json")).to_series().explode()
    if _is_text(dtype) and _is_text(series.dtype):
        series = series.cast(pl.String)
    elif series.dtype != dtype or (dtype.is_float() and not _is_float(dtype)):
        raise Untranslatable  # half floats have two zeros, too
    valid = series.drop_nulls().unique(maintain_order=True)
    if valid.is_empty():
        raise Untranslatable
    found: Condition
    if _is_float(dtype):
        numbers = [float(value) for value in valid.drop_nans()]
        listed_numbers = [zero for value in numbers for zero in ((-0.0, 0.0) if value == 0 else (value,))]
        found = column.is_in(listed_numbers) if listed_numbers else column.is_nan()
        if listed_numbers and valid.is_nan().any():
            found = found | column.is_nan()
    else:
        found = column.is_in(_values(valid, dtype))
    if not nulls_equal:
        return found
    found = found & column.is_not_null()
    return found | column.is_null() if series.null_count() > 0 else found


def _values(series: pl.Series, dtype: pl.DataType) -> list[Any]:
    """Returns values of a type as conditions take them."""
    if isinstance(dtype, pl.Datetime):
        kind = f"timestamp_{dtype.time_unit}{'_utc' if dtype.time_zone else ''}"
    elif isinstance(dtype, pl.Duration):
        kind = f"duration_{dtype.time_unit}"
    elif dtype in (pl.Date, pl.Time):
        kind = "date" if dtype == pl.Date else "time_ns"
    else:
        return series.to_list()
    return [Ticks(kind, value) for value in series.to_physical().to_list()]


# A regular expression without special characters.
_PLAIN = re.compile(r"[\w /:;,=@%'\"<>!]*", re.ASCII)


def _text(function: Any, inputs: list[Any], schema: pl.Schema) -> Condition:
    column, dtype = _column(inputs[0], schema)
    if dtype != pl.String:
        raise Untranslatable
    text = _literal(inputs[1], dtype)
    name, options = (function, {}) if isinstance(function, str) else _only(function)
    if name == "StartsWith":
        return column.starts_with(text)
    escaped = re.sub(r"([\\%_])", r"\\\1", text)
    if name == "EndsWith":
        return column.like(f"%{escaped}")
    if name == "Contains" and (options["literal"] or _PLAIN.fullmatch(text)):
        return column.like(f"%{escaped}%")
    raise Untranslatable
