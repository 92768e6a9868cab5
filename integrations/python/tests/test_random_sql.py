"""Random queries in SQL have the same answers over a shard as over a table in memory, in DuckDB and in DataFusion."""

from __future__ import annotations

import datetime
import decimal
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arrow_shard as sh
import duckdb
import pyarrow as pa
import pytest
from conftest import FIRST_SEED

COUNT = 3_000
QUERIES = 100
# Columns, and literals near their values.
LITERALS: dict[str, list[str]] = {
    "i8": ["-128", "0", "5", "127", "300", "2.5"],
    "i64": ["-9223372036854775808", "-7", "0", "12", "9007199254740993", "1e3"],
    "u16": ["0", "9", "65535", "-1", "70000"],
    "f64": ["-0.0", "0.0", "0.1", "1.5", "-2", "1e300"],
    "text": ["''", "'a'", "'ab'", "'A'", "'o''clock'", "'zz'", "'ä'"],
    "code": ["'red'", "'green'", "'none'", "''"],
    "flag": ["true", "false"],
    "dec": ["0", "1.25", "-3.50", "7", "0.005"],
    "day": ["DATE '2024-01-01'", "DATE '2024-02-29'", "DATE '1969-12-31'"],
    "time": ["TIMESTAMP '2024-01-01 12:00:00'", "TIMESTAMP '2024-01-02 00:00:00.000001'", "TIMESTAMP '1960-01-01'"],
}
PATTERNS = ["'a%'", "'%b'", "'%o%'", "'_b'", "'a_c%'", "'%'", "''", "'red'", "'%''%'"]


def table(choose: random.Random) -> pa.Table:
    """Returns rows of many types, with nulls and values at the ends of their types, some of them in runs."""

    def column(values: list[Any], data_type: pa.DataType) -> pa.Array:
        picked: list[Any] = []
        while len(picked) < COUNT:
            picked += [choose.choice([*values, None])] * choose.choice([1, 1, 1, 2, 60])
        return pa.array(picked[:COUNT], data_type)

    noon = datetime.datetime(2024, 1, 1, 12)
    hours = [noon + datetime.timedelta(hours=hour, microseconds=hour % 2) for hour in range(-30, 30, 7)]
    return pa.table(
        {
            "row": pa.array(range(COUNT), pa.int64()),
            "i8": column([-128, -1, 0, 1, 5, 127], pa.int8()),
            "i64": column([-(2**63), -7, 0, 12, 2**53 + 1, 2**63 - 1], pa.int64()),
            "u16": column([0, 9, 300, 65_535], pa.uint16()),
            "f64": column([0.0, -0.0, 0.1, 1.5, -2.0, math.inf, -math.inf, math.nan, 1e300], pa.float64()),
            "text": column(["", "a", "ab", "abc", "A", "o'clock", "zz", "ä", "b\nc"], pa.string()),
            "code": column(["red", "green", "blue"], pa.string()).dictionary_encode(),
            "flag": column([True, False], pa.bool_()),
            "dec": column([decimal.Decimal(cents) / 100 for cents in (-350, 0, 125, 700)], pa.decimal128(9, 2)),
            "day": column([datetime.date(2024, 1, 1), datetime.date(2024, 2, 29), datetime.date(1969, 12, 31)], pa.date32()),
            "time": column(hours, pa.timestamp("us")),
        }
    )


def leaf(choose: random.Random) -> str:
    """Returns a condition on one or two columns."""
    name = choose.choice([*LITERALS])
    literal = lambda: choose.choice(LITERALS[name])  # noqa: E731
    kind = choose.randrange(10)
    if kind == 0:
        return f"{name} IS {choose.choice(['', 'NOT '])}NULL"
    if kind == 1:
        some = [literal() for _ in range(choose.randint(1, 3))]
        some += ["NULL"] if choose.random() < 0.1 else []
        return f"{name} {choose.choice(['', 'NOT '])}IN ({', '.join(some)})"
    if kind == 2:
        return f"{name} {choose.choice(['', 'NOT '])}BETWEEN {literal()} AND {literal()}"
    if kind == 3 and name in ("text", "code"):
        return f"{name} {choose.choice(['', 'NOT '])}{choose.choice(['LIKE', 'ILIKE'])} {choose.choice(PATTERNS)}"
    if kind == 3 and name == "flag":
        return choose.choice(["flag", "NOT flag", "flag IS TRUE", "flag IS NOT FALSE"])
    if kind == 4:
        return f"({name} IS {choose.choice(['', 'NOT '])}DISTINCT FROM {choose.choice([literal(), 'NULL'])})"
    if kind == 5 and name in ("i8", "u16"):
        return f"{name} % 5 {choose.choice(['=', '<>'])} {choose.randrange(5)}"
    if kind == 6 and name in ("i8", "i64", "u16"):
        return f"{name} {choose.choice(['<', '=', '>='])} {choose.choice(['i8', 'i64', 'u16'])}"
    if choose.random() < 0.15:
        return f"{literal()} {choose.choice(['=', '<', '>='])} {name}"
    return f"{name} {choose.choice(['=', '<>', '<', '<=', '>', '>='])} {literal()}"


def condition(choose: random.Random, depth: int) -> str:
    """Returns a tree of conditions."""
    if depth == 0 or choose.random() < 0.2:
        return leaf(choose)
    if choose.random() < 0.2:
        return f"NOT ({condition(choose, depth - 1)})"
    parts = [condition(choose, depth - 1) for _ in range(2)]
    return f"({parts[0]} {choose.choice(['AND', 'OR'])} {parts[1]})"


def query(choose: random.Random) -> str:
    """Returns a query over the table ``t`` with an answer in a defined order."""
    where = condition(choose, choose.randint(0, 3))
    name = choose.choice([*LITERALS])
    return choose.choice(
        [
            f"SELECT row FROM t WHERE {where} ORDER BY row",
            f"SELECT row, {name} FROM t WHERE {where} ORDER BY row",
            f"SELECT count(*) AS n FROM t WHERE {where}",
            f"SELECT count({name}) AS n, min(row) AS a, max(row) AS b FROM t WHERE {where}",
            f"SELECT code, count(*) AS n FROM t WHERE {where} GROUP BY code ORDER BY code NULLS LAST",
            f"SELECT row FROM t WHERE {where} ORDER BY i8 DESC NULLS LAST, row LIMIT 7",
        ]
    )


def compare(choose: random.Random, in_memory: Callable[[str], Any], over_shard: list[Callable[[str], Any]]) -> None:
    """Asks random queries. An engine that refuses a query in memory must refuse it over a shard."""
    answered = 0
    for _ in range(QUERIES):
        text = query(choose)
        answers = [outcome(ask, text) for ask in (in_memory, *over_shard)]
        answered += answers[0] is not None
        for answer in answers[1:]:
            assert answer == answers[0], text
    assert answered > QUERIES * 0.6


def outcome(ask: Callable[[str], Any], text: str) -> str | None:
    """Returns the rows as text, in which NaN is equal to NaN, or None for an error."""
    try:
        return repr(ask(text))
    except Exception:
        return None


def written(choose: random.Random, rows: pa.Table, folder: Path) -> str:
    """Writes a shard with random options."""
    path = str(folder / "t.amudai.shard")
    profile = choose.choice(["balanced", "plain", "high_compression", "fast"])
    sh.write(rows, path, stripe_rows=choose.choice([400, 1_100, 10_000]), profile=profile)
    return path


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 3))
def test_answers_of_duckdb(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)
    rows = table(choose)
    path = written(choose, rows, tmp_path)
    memory, registered, variable = duckdb.connect(), duckdb.connect(), duckdb.connect()
    memory.register("t", rows)
    sh.register(registered, "t", path)
    variable.register("t", sh.dataset(path))
    compare(
        choose,
        lambda text: memory.sql(text).fetchall(),
        [lambda text: registered.sql(text).fetchall(), lambda text: variable.sql(text).fetchall()],
    )


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 3))
def test_answers_of_datafusion(seed: int, tmp_path: Path) -> None:
    datafusion = pytest.importorskip("datafusion")
    if not hasattr(sh.ShardFile, "__datafusion_table_provider__"):
        pytest.skip("built without DataFusion")
    choose = random.Random(seed)
    rows = table(choose)
    path = written(choose, rows, tmp_path)
    memory, shard = datafusion.SessionContext(), datafusion.SessionContext()
    memory.register_record_batches("t", [rows.to_batches()])
    shard.register_table("t", sh.open(path))

    def ask(context: Any) -> Callable[[str], Any]:
        return lambda text: pa.Table.from_batches(context.sql(text).collect()).to_pydict()

    compare(choose, ask(memory), [ask(shard)])
