"""Types that polars lacks or misreads, and names that it takes for patterns."""

from __future__ import annotations

import io
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import arrow_shard as sh
import polars as pl
import polars.selectors as selectors
import pyarrow as pa
import pytest

PRICES = [D("1.0"), None, D("2.5"), D("-9999.9")]


def with_decimals(width: Any) -> pa.Table:
    """Returns a table with decimals of a width at all depths, from polars' point of view the same for all widths."""
    price = width(7, 1)
    prices = pa.array(PRICES, price)
    return pa.table(
        {
            "row": range(4),
            "price": prices,
            "part": pa.array([{"x": value} for value in PRICES], pa.struct([("x", price)])),
            "list": pa.array([[value, D(0)] for value in PRICES], pa.list_(price)),
            "large": pa.array([[value] for value in PRICES], pa.large_list(price)),
            "pair": pa.array([[value, value] for value in PRICES], pa.list_(price, 2)),
            "map": pa.array([[("k", value)] for value in PRICES], pa.map_(pa.string(), price)),
            "kind": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1], pa.int8()), pa.array(PRICES[2:], price)),
            "deep": pa.array([[{"x": [value]}] for value in PRICES], pa.list_(pa.struct([("x", pa.list_(price))]))),
            "name": ["a", "b", "c", "d"],
        }
    )


def shard_of(table: pa.Table) -> bytes:
    memory = io.BytesIO()
    sh.write(table, memory)
    return memory.getvalue()


@pytest.mark.parametrize("width", [pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256], ids=lambda w: w.__name__)
def test_decimals_of_all_widths_are_read(width: Any) -> None:
    expected = pl.DataFrame(with_decimals(pa.decimal128))
    content = shard_of(with_decimals(width))
    lazy, file = sh.scan_polars(content, row_index="n", row_index_offset=5), sh.open(content)
    assert lazy.collect_schema() == expected.with_row_index("n").schema
    for engine in ("in-memory", "streaming"):
        assert lazy.drop("n").collect(engine=engine).equals(expected)
        assert lazy.select("n", "list").collect(engine=engine).equals(expected.with_row_index("n", 5)["n", "list"])
        assert lazy.select(pl.len()).collect(engine=engine).item() == 4
    for test in (
        pl.col("price") > D("1.5"), pl.col("price") < 2, pl.col("price").is_null(), pl.col("kind") == D("2.5"),
        pl.col("part").struct.field("x") == D("2.5"), pl.col("list").list.first() > 1, pl.col("price") * 2 == 5,
    ):
        rows = expected.filter(test)["row"].to_list()
        assert 0 < len(rows) < 4
        assert lazy.filter(test).collect()["row"].to_list() == rows
        assert pa.table(file.scan(filter=test))["row"].to_pylist() == rows
        assert file.to_polars(filter=test).equals(expected.filter(test))
    scan = file.scan(columns=["price", "deep"], limit=3)
    assert scan.to_polars().equals(expected["price", "deep"].head(3))
    assert file.take([3, 0], ["deep"]).to_polars().equals(expected["deep",][[3, 0]])
    assert sh.scan_polars(content, columns=["price"]).collect().equals(expected["price",])


def test_decimals_of_more_digits_are_errors_with_their_column() -> None:
    big = pa.array([D(10) ** 40], pa.decimal256(76, 1))
    content = shard_of(pa.table({"a": [1], "big": big, "in": pa.array([[D(1)]], pa.list_(pa.decimal256(39, 1)))}))
    file = sh.open(content)
    for name in ("big", "in"):
        for read in (
            lambda: sh.scan_polars(content, columns=["a", name]), lambda: file.to_polars(columns=[name]),
            lambda: file.take([0], [name]).to_polars(),
        ):
            with pytest.raises(sh.UnsupportedError, match=f"column `{name}`: polars has no type for .*Decimal256"):
                read()
    assert sh.scan_polars(content, columns=["a"]).collect().to_dicts() == [{"a": 1}]


LACKING = {
    "interval": pa.month_day_nano_interval(),
    "dense": pa.dense_union([pa.field("x", pa.int64())]),
    "sparse": pa.sparse_union([pa.field("x", pa.int64())]),
    "runs": pa.run_end_encoded(pa.int32(), pa.int64()),
    "view": pa.list_view(pa.int64()),
    "large_view": pa.large_list_view(pa.int64()),
    "scale": pa.decimal128(5, -2),
    "member": pa.struct([("x", pa.month_day_nano_interval())]),
    "item": pa.list_(pa.list_view(pa.int64())),
}


@pytest.mark.parametrize("name", LACKING)
def test_types_that_polars_lacks_are_errors_with_their_column(name: str) -> None:
    fields = [("a", pa.int64()), (name, LACKING[name])]
    content = shard_of(pa.table([pa.array([1]), pa.nulls(1, LACKING[name])], pa.schema(fields)))
    file = sh.open(content)
    for read in (lambda: sh.scan_polars(content), file.to_polars, file.take([0]).to_polars):
        with pytest.raises(sh.UnsupportedError, match=f"column `{name}`: polars has no type for"):
            read()
    lazy = sh.scan_polars(content, columns=["a"], row_index="n")
    assert lazy.collect().to_dicts() == [{"n": 0, "a": 1}]
    assert lazy.filter(pl.col("a") > 1).collect().height == 0
    with pytest.raises(sh.UnsupportedError, match=name):
        file.scan(filter=pl.all_horizontal(pl.all().is_not_null()))
    # Conditions of polars on other columns do not need it.
    for test in (pl.col("a") == 1, pl.col("a") % 2 == 1):
        assert file.scan(filter=test).count() == 1
        with pytest.raises(sh.UnsupportedError, match=name):
            file.scan(filter=test & pl.col(name).is_null())


def test_names_of_members_are_no_types() -> None:
    odd = pa.struct([pa.field('Interval("ListView(', pa.int8(), metadata={"k": "Union("})])
    table = pa.table({"Decimal32(": pa.array([{'Interval("ListView(': 1}], odd)})
    assert sh.scan_polars(shard_of(table)).collect().equals(pl.DataFrame(table))


def test_selectors_of_conditions_see_all_columns() -> None:
    frame = pl.DataFrame({"a": [1, 1, 0], "b": [0, 1, 1], "s": ["x", "y", "z"]})
    file = sh.open(shard_of(frame.to_arrow()))
    for test in (
        pl.sum_horizontal(selectors.integer()) > 1, pl.nth(1) % 2 > 0, pl.col("^b$") % 2 > 0,
        pl.all_horizontal(selectors.integer() > 0), (pl.col("^b$") > 0) & (pl.col("a") % 2 == 1),
    ):
        assert file.to_polars(filter=test).equals(frame.filter(test)), test


NAMES = ["^a.*$", "ab", "*", "a.b", "", '"q"', "^ab$", "x[0]"]


def test_names_may_be_patterns_of_polars(tmp_path: Path) -> None:
    table = pa.table({name: [number, number + 10] for number, name in enumerate(NAMES)})
    path = tmp_path / "t.amudai.shard"
    sh.write(table, path, stripe_rows=1)
    rows = table.to_pylist()
    lazy = sh.scan_polars(path)
    for engine in ("in-memory", "streaming"):
        assert lazy.collect(engine=engine).to_dicts() == rows
        assert lazy.filter(pl.col("ab") > 5).collect(engine=engine).to_dicts() == rows[1:]
        assert lazy.filter(pl.col("ab") % 2 == 0).select("ab", "x[0]").collect(engine=engine).height == 0
        with_index = sh.scan_polars(path, row_index="^.*$", row_index_offset=3).collect(engine=engine)
        assert with_index.columns == ["^.*$", *NAMES] and with_index["^.*$"].to_list() == [3, 4]
    assert sh.scan_polars(path, columns=["*", "", "*"]).collect().to_dicts() == [{"*": 2, "": 4}, {"*": 12, "": 14}]
    assert sh.open(path).to_polars().columns == NAMES
    assert sh.open(path).take([1], ["", "ab"]).to_polars().to_dicts() == [{"": 14, "ab": 11}]


def test_columns_of_lazy_frames_are_names(cities: str) -> None:
    assert sh.scan_polars(cities, columns=iter(["name"])).collect().to_dicts() == [{"name": "Oslo"}, {"name": "Lima"}]
    assert sh.scan_polars(cities, columns=["name", "id"]).collect().columns == ["name", "id"]
    assert sh.scan_polars(cities, columns=["name"]).select(pl.len()).collect().item() == 2
    with pytest.raises(sh.UnknownColumnError, match="nowhere"):
        sh.scan_polars(cities, columns=["nowhere"])
    with pytest.raises(TypeError, match="list of names"):
        sh.scan_polars(cities, columns="name")
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        sh.scan_polars(cities, columns=["name"]).filter(pl.col("id") > 1).collect()
