"""DuckDB, polars and pandas read and write shards, and push down filters and projections."""

from __future__ import annotations

import datetime
import decimal
import math
from pathlib import Path

import arrow_shard as sh
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

COUNT = 20_000


@pytest.fixture
def flights(tmp_path: Path) -> tuple[sh.ShardFile, pa.Table, str]:
    """Writes a shard of twenty stripes, with rows in the order of time."""
    start = datetime.datetime(2024, 1, 1)
    table = pa.table(
        {
            "id": range(COUNT),
            "day": [start + datetime.timedelta(minutes=i) for i in range(COUNT)],
            "delay": pa.array([None if i % 11 == 0 else float(i % 90) for i in range(COUNT)]),
            "ratio": pa.array([math.nan if i % 500 == 0 else i / COUNT for i in range(COUNT)]),
            "origin": [("OSL", "LIM", "LNZ")[i % 3] for i in range(COUNT)],
            "cost": pa.array([decimal.Decimal(i * 3) for i in range(COUNT)], pa.decimal128(12, 2)),
            "part": [{"x": i % 7, "deep": {"y": i}} for i in range(COUNT)],
            "late": [i % 2 == 0 for i in range(COUNT)],
        }
    )
    path = str(tmp_path / "flights.amudai.shard")
    sh.write(table, path, stripe_rows=1_000)
    return sh.open(path), table, path


QUERIES = {
    "comparison": "select count(*), sum(id) from t where id >= 19500",
    "between": "select count(*) from t where day between '2024-01-02' and '2024-01-03'",
    "in": "select sum(id) from t where id in (5, 7, 19999)",
    "or": "select count(*) from t where id < 10 or id > 19990",
    "text": "select count(*) from t where origin = 'OSL' and id < 100",
    "like": "select count(*) from t where origin like 'L%'",
    "null": "select count(*) from t where delay is null",
    "not null": "select count(*) from t where delay is not null and id < 50",
    "nested": "select count(*) from t where part.x = 3 and part.deep.y < 100",
    "decimal": "select count(*) from t where cost < 30.00",
    "nan": "select count(*) from t where ratio > 0.9",
    "not": "select count(*) from t where not (ratio > 0.1)",
    "nan equal": "select count(*) from t where ratio = 'nan'::double",
    "boolean": "select count(*) from t where late and id < 10",
    "arithmetic": "select count(*) from t where id % 5 = 1",
    "group": "select origin, count(*), max(delay) from t group by origin order by origin",
    "top": "select id from t order by delay desc nulls last, id limit 5",
    "join": "select count(*) from t a join t b on a.id = b.id where a.id < 100",
    "all": "select * from t where id = 777",
}


@pytest.mark.parametrize("name", QUERIES)
def test_duckdb_gives_the_same_answers_as_over_a_table(name: str, flights: tuple[sh.ShardFile, pa.Table, str]) -> None:
    f, table, path = flights
    connection = duckdb.connect()
    connection.register("t", table)
    expected = connection.sql(QUERIES[name]).fetchall()
    connection.unregister("t")
    for given in (sh.dataset(path), f.scan(), f):
        connection.register("t", given)
        assert connection.sql(QUERIES[name]).fetchall() == expected, type(given)
        connection.unregister("t")
    for source in (path, sh.dataset(path)):
        sh.register(connection, "t", source)
        # Each query reads the table again.
        for _ in range(2):
            assert connection.sql(QUERIES[name]).fetchall() == expected


def test_duckdb_reads_a_variable_and_writes_a_shard(flights: tuple[sh.ShardFile, pa.Table, str], tmp_path: Path) -> None:
    _, _, path = flights
    ds = sh.dataset(path)
    assert duckdb.sql("select count(*) from ds where id > 19000").fetchall() == [(999,)]
    out = tmp_path / "out.amudai.shard"
    assert sh.write(duckdb.sql("select id, origin from ds where id < 10"), out).rows == 10
    assert pa.table(sh.open(out))["id"].to_pylist() == list(range(10))


@pytest.mark.parametrize(
    ("where", "skipped"),
    [
        ("id >= 19500", 19_000),
        ("day < '2024-01-01 10:00:00'", 19_000),
        ("id in (5, 7)", 19_000),
        ("cost < 30.00", 19_000),
        ("part.deep.y > 19990", 19_000),
        ("delay is null and id < 1000", 19_000),
        ("id between 5000 and 5999", 19_000),
        ("id = 5 or id = 10005", 18_000),
    ],
)
def test_filters_of_duckdb_arrive(where: str, skipped: int, flights: tuple[sh.ShardFile, pa.Table, str]) -> None:
    _, _, path = flights
    ds = sh.dataset(path)
    duckdb.sql(f"select sum(id) from ds where {where}").fetchall()
    metrics = ds.metrics()
    assert metrics is not None and metrics.skipped_by_statistics == skipped


@pytest.mark.parametrize(
    ("condition", "skipped"),
    [
        (pl.col("id") >= 19_500, 19_000),
        (pl.col("day") < datetime.datetime(2024, 1, 1, 10), 19_000),
        (pl.col("id").is_in([5, 7]), 19_000),
        ((pl.col("id") < 10) & pl.col("delay").is_null(), 19_000),
        ((pl.col("id") < 10) | (pl.col("id") > 19_990), 18_000),
        (pl.col("id").is_between(5_000, 5_999), 19_000),
    ],
    ids=str,
)
def test_filters_of_polars_arrive(
    condition: pl.Expr, skipped: int, flights: tuple[sh.ShardFile, pa.Table, str]
) -> None:
    _, table, path = flights
    dataset = sh.dataset(path)
    lazy = pl.scan_pyarrow_dataset(dataset).filter(condition).select("id", "origin")
    expected = pl.DataFrame(table).filter(condition).select("id", "origin")
    assert lazy.collect().equals(expected)
    metrics = dataset.metrics()
    assert metrics is not None and metrics.skipped_by_statistics == skipped


def test_polars_reads_scans_and_heads(flights: tuple[sh.ShardFile, pa.Table, str]) -> None:
    f, table, path = flights
    assert pl.DataFrame(f.scan(columns=["id", "origin"])).equals(pl.DataFrame(table.select(["id", "origin"])))
    assert pl.DataFrame(f).height == COUNT
    assert pl.scan_pyarrow_dataset(sh.dataset(path)).head(3).collect()["id"].to_list() == [0, 1, 2]
    texts = pl.scan_pyarrow_dataset(sh.dataset(path)).filter(pl.col("origin").str.contains("S")).collect()
    assert texts.height == math.ceil(COUNT / 3)


def test_pandas_reads_and_writes(flights: tuple[sh.ShardFile, pa.Table, str], tmp_path: Path) -> None:
    f, table, _ = flights
    frame = pa.table(f.scan(columns=["id", "delay"])).to_pandas()
    pd.testing.assert_frame_equal(frame, table.select(["id", "delay"]).to_pandas())
    frame = pd.DataFrame({"a": [1, 2, None], "s": ["x", None, "z"], "t": pd.to_datetime(["2024-01-01"] * 3)})
    path = tmp_path / "t.amudai.shard"
    sh.write(frame, path)
    read = pa.table(sh.open(path)).to_pandas()
    pd.testing.assert_frame_equal(read, frame)
    assert pd.DataFrame.from_arrow(sh.open(path)).shape == (3, 3)
