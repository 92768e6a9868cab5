"""pyarrow filters return the same rows as in pyarrow, on random data; conditions of `col` return the expected rows."""

from __future__ import annotations

import datetime
import decimal
import math
import random
from pathlib import Path
from typing import Any

import arrow_shard as sh
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import FIRST_SEED

D = decimal.Decimal
COUNT = 3_000
EDGES = [0.0, -0.0, math.nan, math.copysign(math.nan, -1), math.inf, -math.inf, 1.5, -1.5, 2.0**53, 1e-310]


def rows(generator: random.Random) -> pa.Table:
    """Returns random rows with nulls, repeated values and unique values."""

    def column(make: Any, data_type: pa.DataType) -> pa.Array:
        return pa.array([None if generator.random() < 0.1 else make() for _ in range(COUNT)], data_type)

    day = datetime.datetime(2024, 1, 1)

    def time() -> datetime.datetime:
        return day + datetime.timedelta(hours=generator.randint(0, 100))

    def text() -> str:
        return generator.choice(["", "a", "ab", "abc", "b", "ä", "zebra"]) + generator.choice(["", "", "1", "2"])

    def real() -> float:
        return generator.choice(EDGES) if generator.random() < 0.3 else float(generator.randint(-5, 5)) / 2

    columns = {
        "i8": column(lambda: generator.randint(-10, 10), pa.int8()),
        "i64": column(lambda: generator.randint(-50, 50), pa.int64()),
        "u64": column(lambda: generator.randint(0, 50), pa.uint64()),
        "f32": column(real, pa.float32()),
        "f64": column(real, pa.float64()),
        "text": column(text, pa.string()),
        "large": column(text, pa.large_string()),
        "code": column(text, pa.string()).dictionary_encode(),
        "bytes": column(lambda: text().encode(), pa.binary()),
        "flag": column(lambda: generator.random() < 0.5, pa.bool_()),
        "dec": column(lambda: D(generator.randint(-500, 500)).scaleb(-2), pa.decimal128(10, 2)),
        "time": column(time, pa.timestamp("us")),
        "zoned": column(time, pa.timestamp("ms", "UTC")),
        "date": column(lambda: time().date(), pa.date32()),
        "clock": column(lambda: time().time(), pa.time64("us")),
        "lapse": column(lambda: datetime.timedelta(seconds=generator.randint(-9, 9)), pa.duration("s")),
        "inner": column(lambda: {"x": generator.choice([None, 1, 2, 3]), "y": {"f": real(), "s": text()}},
                        pa.struct({"x": pa.int32(), "y": pa.struct({"f": pa.float64(), "s": pa.string()})})),
        "gone": pa.nulls(COUNT, pa.int32()),
    }
    order = pc.sort_indices(columns["i64"]) if generator.random() < 0.5 else pa.array(range(COUNT))
    return pa.table(columns).take(order)


FIELDS = ["i8", "i64", "u64", "f32", "f64", "text", "large", "code", "bytes", "flag", "dec", "time", "zoned", "date",
          "clock", "lapse", ("inner", "x"), ("inner", "y", "f"), ("inner", "y", "s"), "gone"]


def values(table: pa.Table, field: Any) -> pa.ChunkedArray:
    """Returns the values of a field; a member of a null struct is null."""
    path = (field,) if isinstance(field, str) else field
    column = table[path[0]]
    for name in path[1:]:
        column = pc.struct_field(column, name)
    return column


class Expressions:
    """Random conditions on a table."""

    def __init__(self, generator: random.Random, table: pa.Table) -> None:
        self.generator = generator
        self.table = table

    def literal(self, field: Any) -> pa.Scalar:
        """Returns a value of the field, or one near it, in its type or in a type that pyarrow compares with it."""
        column = values(self.table, field)
        data_type = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        value = column[self.generator.randrange(len(column))].as_py()
        if value is None:
            value = next((one.as_py() for one in column if one.is_valid), 0)
        if pa.types.is_integer(data_type):
            value += self.generator.choice([0, 0, 1, -1])
            data_type = self.generator.choice([pa.int64(), pa.int32(), pa.int16()])
            if self.generator.random() < 0.2:
                return pa.scalar(value + 0.5)
            if self.generator.random() < 0.1:
                return pa.scalar(D(value) + D("0.5"), pa.decimal128(5, 1))
        elif pa.types.is_floating(data_type):
            if self.generator.random() < 0.3:
                value = self.generator.choice(EDGES)
            if self.generator.random() < 0.2:
                return pa.scalar(self.generator.randint(-3, 3))
            data_type = self.generator.choice([data_type, pa.float64()])
        elif pa.types.is_decimal(data_type) and self.generator.random() < 0.3:
            return pa.scalar(self.generator.randint(-5, 5))
        elif pa.types.is_decimal(data_type) and self.generator.random() < 0.3:
            return pa.scalar(value + self.generator.choice([D(0), D("0.001")]), pa.decimal128(12, 3))
        elif pa.types.is_timestamp(data_type):
            data_type = pa.timestamp(self.generator.choice(["s", "ms", "us", "ns"]), data_type.tz)
        elif pa.types.is_large_string(data_type):
            data_type = pa.string()
        return pa.scalar(value, data_type)

    def leaf(self) -> pc.Expression:
        choice = self.generator.random()
        field = self.generator.choice(FIELDS)
        ref = pc.field(field) if isinstance(field, str) else pc.field(*field)
        data_type = values(self.table, field).type
        if choice < 0.1:
            return ref.is_null(nan_is_null=self.generator.random() < 0.3 and pa.types.is_floating(data_type))
        if choice < 0.2:
            return ref.is_valid()
        if choice < 0.25 and pa.types.is_floating(data_type):
            return pc.is_nan(ref)
        if choice < 0.3 and pa.types.is_string(data_type):
            prefix = self.generator.choice(["", "a", "ab", "B", "z", "ä"])
            return pc.starts_with(ref, prefix, ignore_case=self.generator.random() < 0.3)
        if choice < 0.35 and pa.types.is_string(data_type):
            return pc.match_substring(ref, self.generator.choice(["a", "b1"]))
        if choice < 0.4 and pa.types.is_boolean(data_type):
            return ref
        if choice < 0.45 and pa.types.is_integer(data_type):
            return ref + 1 > self.literal(field)
        if choice < 0.6 and not (pa.types.is_dictionary(data_type) or pa.types.is_boolean(data_type)):
            some = [values(self.table, field)[self.generator.randrange(COUNT)].as_py() for _ in range(4)]
            found = pc.is_in(ref, pa.array(some, data_type), skip_nulls=self.generator.random() < 0.3)
            if self.generator.random() < 0.3:
                none = pa.array([one for one in some if one is not None], data_type)
                return pc.if_else(ref.is_valid(), pc.is_in(ref, none), pa.scalar(None, pa.bool_()))
            return found
        literal = self.literal(field)
        comparison = self.generator.choice(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
        if self.generator.random() < 0.1:
            return getattr(pc.scalar(literal), comparison)(ref)
        return getattr(ref, comparison)(literal)

    def tree(self, depth: int) -> pc.Expression:
        if depth == 0 or self.generator.random() < 0.2:
            return self.leaf()
        choice = self.generator.random()
        if choice < 0.4:
            return self.tree(depth - 1) & self.tree(depth - 1)
        if choice < 0.8:
            return self.tree(depth - 1) | self.tree(depth - 1)
        return ~self.tree(depth - 1)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 12))
def test_expressions_of_pyarrow_match_the_same_rows_as_there(seed: int, tmp_path: Path) -> None:
    generator = random.Random(seed)
    table = rows(generator).append_column("row", pa.array(range(COUNT)))
    path = tmp_path / "t.amudai.shard"
    sh.write(table, path, stripe_rows=generator.choice([500, 10_000]), profile=generator.choice(["balanced", "plain"]))
    f, dataset = sh.open(path), sh.dataset(path)
    expressions = Expressions(generator, table)
    compared = 0
    for _ in range(120):
        expression = expressions.tree(generator.randint(0, 3))
        try:
            expected = table.filter(expression)["row"].to_pylist()
        except pa.ArrowException:
            continue  # what pyarrow refuses there may be an error here, or not
        compared += 1
        found = pa.table(f.scan(columns=["row"], filter=expression, threads=generator.choice([1, 2])))
        assert found["row"].to_pylist() == expected, str(expression)
        if compared % 10 == 0:
            assert dataset.to_table(["row"], expression)["row"].to_pylist() == expected, str(expression)
            assert dataset.count_rows(expression) == len(expected)
    assert compared > 60


def test_zeros_and_nan_of_both_signs_are_those_of_pyarrow(tmp_path: Path) -> None:
    values = [*EDGES, None, -2.0**53, 0.1, 1e308, -1e308]
    for data_type in (pa.float32(), pa.float64()):
        table = pa.table({"x": pa.array(values, data_type)})
        path = tmp_path / "t.amudai.shard"
        sh.write(table, path, overwrite=True)
        f = sh.open(path)
        for literal in [*EDGES[:2], *EDGES[4:], 0, 1, -1, 0.1, pa.scalar(0.1, pa.float32())]:
            for comparison in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
                expression = getattr(pc.field("x"), comparison)(literal)
                for condition in (expression, ~expression):
                    expected = table.filter(condition)["x"]
                    assert repr(pa.table(f.scan(filter=condition))["x"].to_pylist()) == repr(expected.to_pylist())


def test_integers_near_2_to_the_53_compare_as_in_pyarrow_or_fail(tmp_path: Path) -> None:
    big = 2**53
    table = pa.table({"i": [big - 1, big, big + 1], "f": [float(big - 1), float(big), float(big + 2)]})
    path = tmp_path / "t.amudai.shard"
    sh.write(table, path)
    f = sh.open(path)
    for expression in (pc.field("i") == big + 1, pc.field("f") > big, pc.field("f") == big, pc.field("i") > big):
        assert pa.table(f.scan(filter=expression)).equals(table.filter(expression)), str(expression)
    with pytest.raises(pa.ArrowInvalid):
        table.filter(pc.field("i") == float(big))
    with pytest.raises(pa.ArrowInvalid):
        pa.table(f.scan(filter=pc.field("i") == float(big)))


def test_names_with_dots_and_repeated_names(tmp_path: Path) -> None:
    table = pa.table({"a.b": [1, 2, 3], "a": [{"b": 7}, {"b": 1}, {"b": 1}], "c": [{"x.y": 1}, {"x.y": 2}, None]})
    path = tmp_path / "t.amudai.shard"
    sh.write(table, path)
    f = sh.open(path)
    for expression in (
        pc.field("a.b") > 1, pc.field("a", "b") > 1, pc.field("c", "x.y") > 1, pc.field(("a", "b")) == 1,
    ):
        assert pa.table(f.scan(filter=expression)).equals(table.filter(expression)), str(expression)
    twice = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"])
    sh.write(twice, path, overwrite=True)
    with pytest.raises((sh.ShardError, pa.ArrowInvalid)):
        pa.table(sh.open(path).scan(filter=pc.field("a") > 1))


def test_what_means_the_same_is_pushed_down_and_the_rest_sees_what_is_left(numbers: str) -> None:
    f = sh.open(numbers)
    scan = f.scan(filter=(pc.field("id") < 1_500) & (pc.match_substring(pc.field("name"), "7")))
    found = pa.table(scan)
    assert found["id"].to_pylist() == [i for i in range(1_500) if "7" in f"{i % 100:02}"]
    metrics = scan.metrics()
    assert metrics is not None and metrics.skipped_by_statistics == 8_000
    fields = pc.field(0) > 9_997
    assert pa.table(f.scan(filter=fields, columns=["id"]))["id"].to_pylist() == [9_998, 9_999]
    assert pa.table(f.scan(filter=pc.scalar(True))).num_rows == 10_000
    assert pa.table(f.scan(filter=pc.scalar(False))).num_rows == 0


def test_what_pyarrow_raises_comes_as_it_is(numbers: str) -> None:
    f = sh.open(numbers)
    with pytest.raises(pa.ArrowInvalid, match="divide by zero"):
        for _ in f.scan(filter=pc.divide(pc.field("id"), 0) > 1):
            pass
    with pytest.raises(pa.ArrowNotImplementedError):
        for _ in f.scan(filter=pc.field("id") > "text"):
            pass
    with pytest.raises(sh.ShardError):
        for _ in f.scan(filter=pc.field("nowhere") > 1):
            pass


def test_conditions_of_ours(numbers: str) -> None:
    f = sh.open(numbers)

    def count(condition: Any) -> int:
        return pa.table(f.scan(columns=["id"], filter=condition)).num_rows

    col = sh.col
    assert count((col("id") > 9_990) & ~(col("name") == "name 95")) == 8
    assert count((col("id") < 2) | col("id").is_in([5, 5.0, 7.5])) == 3
    assert count(col("half").is_null()) == 1_429 == 10_000 - count(col("half").is_not_null())
    assert count(col("inner.x").between(3, 5)) == 3
    assert count(col("inner.y").starts_with("999")) == 11 == count(col("inner.y").like("999%"))
    assert count(col("name").like("%e 0_")) == 1_000 == count(col("name").ilike("%E 0_"))
    assert count(col("id") == col("inner.x")) == 10_000 and count(col("id") < col("inner.x")) == 0
    assert count("id BETWEEN 3 AND 5 OR name LIKE '%99' AND id < 200") == 5
    assert count(["id > 5", col("id") < 10, pc.field("id") != 7]) == 3
    assert count(sh.Expression.parse("id = 3")) == 1
    assert str(col("a.b") >= 0.5) == "a.b >= 0.5"


def test_floats_of_ours_are_in_total_order(tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    sh.write(pa.table({"x": [math.nan, 1.0, -0.0, None], "yes": [True, False, None, True]}), path)
    f = sh.open(path)
    col = sh.col
    for condition, expected in [
        (col("x") > 5, 1), (col("x").is_nan(), 1), (col("x") == 0.0, 0), (col("x") >= -0.0, 3), (col("yes"), 2),
        (~col("yes"), 1), (col("yes") & (col("x") > 5), 1), (col("yes") | (col("x") == 1), 3),
    ]:
        assert pa.table(f.scan(filter=condition)).num_rows == expected, str(condition)
    # In pyarrow, NaN is not above any number, and zeros are equal.
    assert pa.table(f.scan(filter=pc.field("x") > 5)).num_rows == 0
    assert pa.table(f.scan(filter=pc.field("x") == 0.0)).num_rows == 1


def test_conditions_have_no_truth(numbers: str) -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(sh.col("a") > 5)
    with pytest.raises(TypeError, match="between"):
        3 < sh.col("a") < 5  # noqa: B015
    with pytest.raises(TypeError, match="expected a condition"):
        (sh.col("a") > 5) & True
    with pytest.raises(TypeError, match="expected a condition"):
        sh.open(numbers).scan(filter=5)
    with pytest.raises(sh.InvalidArgumentError):
        sh.open(numbers).scan(filter="id >")
    with pytest.raises(sh.UnknownColumnError):
        sh.open(numbers).scan(filter="nowhere > 1")
    with pytest.raises(ValueError, match="empty list"):
        sh.open(numbers).scan(filter=[])
