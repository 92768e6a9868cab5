"""Lazy frames of polars over shards give the rows that polars gives in memory, and read no more than they must."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import pickle
import random
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import arrow_shard as sh
import polars as pl
import pytest
from arrow_shard._polars_filter import split
from conftest import FIRST_SEED

COUNT = 600
OSLO = ZoneInfo("Europe/Oslo")
NOON = dt.datetime(2024, 1, 1, 12)


def some_rows(seed: int = 1) -> pl.DataFrame:
    """Returns rows of many types with nulls, NaNs of both signs, zeros of both signs, and extreme values."""
    choose = random.Random(seed)

    def column(values: list[Any], dtype: Any) -> pl.Series:
        picked = [choose.choice([*values, None]) for _ in range(COUNT)]
        return pl.Series(picked, dtype=dtype)

    def floats(dtype: Any) -> pl.Series:
        values = [0.0, -0.0, 1.0, -1.5, 2.5, 0.1, math.inf, -math.inf, math.nan, -math.nan, 3e30]
        return column(values, dtype)

    stamps = [NOON + dt.timedelta(microseconds=step) for step in (-1, 0, 1, 1_000, 60_000_000, 10**12)]
    texts = ["", "a", "A", "ab", "b%c", "b_c", "x\\y", "o'clock", "Å", "line\nbreak", "zz"]
    return pl.DataFrame(
        {
            "row": pl.Series(range(COUNT), dtype=pl.Int64),
            "i8": column([-128, -1, 0, 1, 5, 127], pl.Int8),
            "i16": column([-300, 0, 1, 5, 300], pl.Int16),
            "i32": column([-(2**31), 0, 1, 5, 2**31 - 1], pl.Int32),
            "i64": column([-(2**63), -1, 0, 1, 5, 2**53 + 1, 2**63 - 1], pl.Int64),
            "u8": column([0, 1, 5, 255], pl.UInt8),
            "u64": column([0, 1, 5, 2**63, 2**64 - 1], pl.UInt64),
            "f16": floats(pl.Float16),
            "f32": floats(pl.Float32),
            "f64": floats(pl.Float64),
            "text": column(texts, pl.String),
            "kind": column(["a", "b", "zz"], pl.Categorical),
            "enum": column(["b", "a", "zz"], pl.Enum(["zz", "b", "a"])),
            "bytes": column([text.encode() for text in texts], pl.Binary),
            "flag": column([True, False], pl.Boolean),
            "date": column([dt.date(2024, 1, 1), dt.date(1969, 12, 31), dt.date(2100, 2, 28)], pl.Date),
            "time": column([dt.time(0), dt.time(12), dt.time(23, 59, 59, 999_999)], pl.Time),
            "us": column(stamps, pl.Datetime("us")),
            "ms": column(stamps, pl.Datetime("ms")),
            "ns": column(stamps, pl.Datetime("ns")),
            "oslo": column(stamps, pl.Datetime("us")).dt.replace_time_zone("Europe/Oslo"),
            "utc": column(stamps, pl.Datetime("ns")).dt.replace_time_zone("UTC"),
            "span": column([dt.timedelta(0), dt.timedelta(days=-1), dt.timedelta(seconds=5)], pl.Duration("us")),
            "money": column([decimal.Decimal(cents) / 100 for cents in (-150, 0, 100, 150, 99_999)], pl.Decimal(12, 2)),
            "part": column([{"x": 1, "f": math.nan}, {"x": None, "f": -0.0}, {"x": 5, "f": 2.0}], pl.Struct(
                {"x": pl.Int64, "f": pl.Float64}
            )),
            "list": column([[1, 2], [], [None]], pl.List(pl.Int64)),
        }
    )


VALUES: dict[str, list[Any]] = {
    **dict.fromkeys(["i8", "i16", "i32", "i64", "u8", "u64"], [-1, 0, 1, 5, 1000, 2**40, 1.5, -0.5, 2**62]),
    **dict.fromkeys(["f16", "f32", "f64"], [0.0, -0.0, 1.0, 0.1, math.nan, -math.nan, math.inf, -math.inf, 1, 3e30, 1e300]),
    **dict.fromkeys(["text", "kind", "enum"], ["a", "b", "zz"]),
    "bytes": [b"", b"a", b"zz"],
    "date": [dt.date(2024, 1, 1), dt.date(1, 1, 1), dt.datetime(2024, 1, 1, 1)],
    "time": [dt.time(0), dt.time(12), dt.time(12, 0, 0, 1)],
    **dict.fromkeys(["us", "ms", "ns"], [NOON, NOON + dt.timedelta(microseconds=1), dt.date(2024, 1, 1)]),
    "oslo": [NOON.replace(tzinfo=OSLO), NOON.replace(tzinfo=dt.timezone.utc)],
    "utc": [NOON.replace(tzinfo=dt.timezone.utc), NOON.replace(tzinfo=dt.timezone.utc) + dt.timedelta(microseconds=1)],
    "span": [dt.timedelta(0), dt.timedelta(seconds=5), dt.timedelta(milliseconds=1)],
    "money": [decimal.Decimal("1.5"), decimal.Decimal("1.505"), 1, decimal.Decimal(0), 1.0],
}
NUMBERS = ["i8", "i16", "i32", "i64", "u8", "u64", "f32", "f64"]
PATTERNS = ["", "a", "%", "_", "b%", "\\", "o'", "k\n", "b.c", "^a", "Å", "ck"]


def test_of_one(choose: random.Random) -> pl.Expr:
    """Returns a random condition on one or two columns."""
    name = choose.choice(list(VALUES))
    column = pl.col(name)
    kind = choose.randrange(12)
    if kind <= 4:
        value: Any = choose.choice(VALUES[name])
        if choose.random() < 0.1:
            value = pl.lit(value)
        compare = choose.choice(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "eq_missing", "ne_missing"])
        return getattr(column, compare)(value)
    if kind == 5:
        first = choose.choice(VALUES[name])
        alike = [value for value in VALUES[name] if type(value) is type(first)]
        if isinstance(first, dt.datetime) and first.tzinfo is not None:
            alike = [value for value in alike if value.tzinfo == first.tzinfo]
        listed = [first, *(choose.choice([*alike, None]) for _ in range(choose.randrange(3)))]
        return column.is_in(listed, nulls_equal=choose.random() < 0.3)
    if kind == 6:
        low, high = choose.choice(VALUES[name]), choose.choice(VALUES[name])
        return column.is_between(low, high, closed=choose.choice(["both", "left", "right", "none"]))
    if kind == 7:
        column = choose.choice([column, pl.col("list"), pl.col("part"), pl.col("part").struct.field("x")])
        return column.is_null() if choose.random() < 0.5 else column.is_not_null()
    if kind == 8:
        text, pattern = pl.col("text"), choose.choice(PATTERNS)
        literal = choose.random() < 0.5 or pattern == "\\"
        tests = (text.str.starts_with, text.str.ends_with, lambda p: text.str.contains(p, literal=literal))
        return choose.choice(tests)(pattern)
    if kind == 9:
        number = choose.choice(["f16", "f32", "f64"])
        return choose.choice([pl.col(number).is_nan(), pl.col(number).is_not_nan(), pl.col(number) > pl.col("f64")])
    if kind == 10:
        member = pl.col("part").struct.field(choose.choice(["x", "f"]))
        return choose.choice([pl.col("flag"), member > choose.choice([0, 1, 2.0]), member.is_in([1, 5]), pl.col("i64") % 2 == 1])
    a, b = choose.choice(NUMBERS), choose.choice(NUMBERS)
    return choose.choice([pl.col(a) < pl.col(b), pl.col("text") == pl.col("enum").cast(pl.String), pl.col("us") > pl.col("date")])


test_of_one.__test__ = False  # type: ignore[attr-defined]


def condition(choose: random.Random, depth: int = 0) -> pl.Expr:
    """Returns a random condition."""
    kind = choose.random()
    if depth >= 3 or kind < 0.4:
        return test_of_one(choose)
    if kind < 0.55:
        return ~condition(choose, depth + 1)
    a, b = condition(choose, depth + 1), condition(choose, depth + 1)
    return a & b if kind < 0.8 else a | b if kind < 0.97 else a ^ b


def outcome(lazy: pl.LazyFrame, engine: Any) -> Any:
    """Returns the rows of a query, or the class of its error."""
    try:
        return lazy.collect(engine=engine)
    except pl.exceptions.PolarsError as error:
        return type(error)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return some_rows()


@pytest.fixture(scope="module")
def shard(rows: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("polars") / "rows.amudai.shard")
    sh.write(rows, path, stripe_rows=100)
    return path


def same(a: Any, b: Any) -> bool:
    """Returns whether two outcomes are equal, with NaN equal to NaN."""
    if isinstance(a, pl.DataFrame) and isinstance(b, pl.DataFrame):
        return a.schema == b.schema and a.equals(b)
    return a is b


@pytest.mark.parametrize("part", range(FIRST_SEED, FIRST_SEED + 8))
def test_random_queries_give_the_rows_of_polars_in_memory(part: int, rows: pl.DataFrame, shard: str) -> None:
    choose = random.Random(part)
    over_shard, in_memory = sh.scan_polars(shard), rows.lazy()
    answered = 0
    for number in range(300):
        test = condition(choose)
        columns = choose.sample(rows.columns, choose.randrange(1, 4))
        shape = choose.randrange(5)

        def query(lazy: pl.LazyFrame) -> pl.LazyFrame:
            if shape == 1:
                lazy = lazy.head(choose_rows)
            lazy = lazy.filter(test)
            if shape == 2:
                lazy = lazy.head(choose_rows)
            if shape == 3:
                return lazy.select(pl.len())
            return lazy if shape == 4 and number % 10 == 0 else lazy.select("row", *(c for c in columns if c != "row"))

        choose_rows = choose.choice([0, 1, 7, 250, 10_000])
        engine = "streaming" if number % 7 == 0 else "in-memory"
        found, expected = outcome(query(over_shard), engine), outcome(query(in_memory), "in-memory")
        if isinstance(found, pl.DataFrame) and not isinstance(expected, pl.DataFrame) and rows.filter(test).is_empty():
            # Whether polars refuses a comparison after a condition that leaves no row depends on the query's other columns.
            expected = pl.select(len=pl.lit(0, pl.UInt32)) if shape == 3 else found.clear()
        assert same(found, expected), (part, number, shape, str(test), found, expected)
        answered += isinstance(found, pl.DataFrame)
    assert answered > 250


def test_filters_of_scans_are_conditions_of_polars(rows: pl.DataFrame, shard: str) -> None:
    choose, file = random.Random(70), sh.open(shard)
    for number in range(100):
        test = condition(choose)
        try:
            expected = rows.filter(test)["row"].to_list()
        except pl.exceptions.PolarsError:
            continue
        found = pl.DataFrame(file.scan(columns=["row"], filter=test, threads=1 + number % 2))["row"].to_list()
        assert found == expected, str(test)
    assert file.scan(filter=[pl.col("row") > 10, "row < 13"]).count() == 2
    assert file.scan(filter=pl.lit(False)).count() == 0 and file.scan(filter=pl.lit(True)).count() == COUNT
    assert sh.dataset(shard).count_rows(filter=pl.col("row") < 5) == 5
    for test in (pl.col("row") > pl.col("row").mean(), pl.col("row").cum_sum() > 1, pl.col("row").is_duplicated()):
        with pytest.raises(NotImplementedError, match="single rows"):
            file.scan(filter=test)


HANDED_DOWN = [
    (pl.col("i64") >= 5, "i64 >= 5"),
    (5 > pl.col("i64"), "i64 < 5"),
    (pl.col("text").is_in(["a", "b"]), "text IN ('a', 'b')"),
    (~pl.col("i64").is_in([1, None]), "NOT (i64 IN (1))"),
    (pl.col("text").str.starts_with("a"), "text LIKE 'a%'"),
    (pl.col("text").str.contains("b_", literal=True), r"text LIKE '%b\_%'"),
    (pl.col("us") > NOON, "us > TIMESTAMP '2024-01-01T12:00:00'"),
    (pl.col("part").struct.field("x") == 1, "part.x = 1"),
    (pl.col("kind") == "a", "kind = 'a'"),
    (pl.col("money") >= decimal.Decimal("1.5"), "money >= 1.5"),
    (pl.col("date").is_between(dt.date(2024, 1, 1), dt.date(2024, 1, 2)), "date >= DATE '2024-01-01' AND date <= DATE '2024-01-02'"),
    (pl.col("i64").is_null() | pl.col("flag"), "i64 IS NULL OR flag = true"),
    (pl.col("f64") < 1.0, "f64 < 1.0 AND NOT (f64 < '-inf')"),
]


def handed_down(test: pl.Expr, shard: str) -> tuple[list[str], bool]:
    """Returns the conditions that a shard gets, and whether polars tests the rows as well."""
    from polars.io.plugins import register_io_source

    seen: list[pl.Expr] = []
    file = sh.open(shard, views=True)
    schema = pl.Schema(file.schema)

    def source(columns: Any, predicate: Any, n_rows: Any, batch_size: Any) -> Any:
        seen.append(predicate)
        return iter(())

    register_io_source(source, schema=schema).filter(test).collect()
    conditions, is_left = split(seen[0], schema, file)
    return [str(condition) for condition in conditions], is_left


@pytest.mark.parametrize(("test", "expected"), HANDED_DOWN, ids=[text for _, text in HANDED_DOWN])
def test_conditions_of_the_same_meaning_are_handed_down(test: pl.Expr, expected: str, shard: str) -> None:
    conditions, is_left = handed_down(test, shard)
    assert not is_left and len(conditions) == 1, conditions
    assert conditions[0].lower() == expected.lower()


@pytest.mark.parametrize(
    "test",
    [pl.col("i64") > 1.5, pl.col("f64") > math.nan, pl.col("i64") % 2 == 0, pl.col("enum") > "a",
     pl.col("text").str.contains("a.c"), pl.col("i8") < pl.col("i64")],
    ids=str,
)
def test_other_conditions_are_left_to_polars(test: pl.Expr, shard: str) -> None:
    assert handed_down(test, shard) == ([], True)
    conditions, is_left = handed_down(test & (pl.col("row") < 50), shard)
    assert conditions == ["row < 50"] and is_left


def test_long_scans_give_empty_frames_now_and_then(shard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """polars stops on Ctrl-C between two frames."""
    from arrow_shard import _polars

    def number(value: int) -> pl.Expr:
        return pl.lit(value, dtype=pl.Int64)

    monkeypatch.setattr(_polars, "_FIRST_SLICE", 50)
    ticks = iter(range(1_000))
    monkeypatch.setattr(_polars.time, "monotonic", lambda: next(ticks))
    table = _polars._Table(sh.open(shard, views=True), "n", 0)
    heights = [frame.height for frame in table(["n", "row"], pl.col("row") == number(420), None, None)]
    assert heights == [0] * 8 + [1] + [0] * 3
    heights = [frame.height for frame in table(["text"], pl.col("row") >= number(95), 120, None)]
    assert heights == [0, 5, 20]
    assert list(table(["row"], pl.col("row") < number(0), 0, None))[0].columns == ["row"]


def test_counts_heads_and_batches(rows: pl.DataFrame, shard: str) -> None:
    lazy = sh.scan_polars(shard)
    assert lazy.select(pl.len()).collect().item() == COUNT
    for engine in ("in-memory", "streaming"):
        assert lazy.head(7).collect(engine=engine).equals(rows.head(7))
        assert lazy.slice(250, 9).collect(engine=engine).equals(rows.slice(250, 9))
        assert lazy.tail(3).collect(engine=engine).equals(rows.tail(3))
        assert lazy.collect(engine=engine).equals(rows)
        top = lazy.select("row", "i64").sort("row", descending=True).head(5).collect(engine=engine)
        assert top["row"].to_list() == list(range(COUNT - 1, COUNT - 6, -1))
    assert "SHARD" in lazy.explain() and "600 rows" in lazy.explain()
    sizes = [batch.height for batch in lazy.collect_batches(chunk_size=50)]
    assert sum(sizes) == COUNT


def test_rows_are_counted_by_an_index(rows: pl.DataFrame, shard: str, tmp_path: Path) -> None:
    for deleted in (0, 5):
        expected = rows
        path = shard
        if deleted:
            path = str(Path(shard).with_name("fewer.amudai.shard"))
            sh.delete(shard, f"row < {deleted}", to=path)
            expected = rows.slice(deleted)
        with_index = expected.with_row_index("n", 10)
        for engine in ("in-memory", "streaming"):
            lazy = sh.scan_polars(path, row_index="n", row_index_offset=10)
            assert lazy.collect_schema() == with_index.schema
            assert lazy.collect(engine=engine).equals(with_index)
            for test in (pl.col("n") > 600, pl.col("row") > 590, (pl.col("row") < 20) & (pl.col("i64") % 2 == 1)):
                query = lazy.filter(test).select("row", "n")
                assert query.collect(engine=engine).equals(with_index.filter(test).select("row", "n"))
            assert lazy.select("n").head(3).collect(engine=engine)["n"].to_list() == [10, 11, 12]
            few = lazy.head(20).filter(pl.col("row") > 15).collect(engine=engine)
            assert few.equals(with_index.head(20).filter(pl.col("row") > 15))
            assert lazy.filter(pl.col("row") > 15).head(20).collect(engine=engine).height == 20
    with pytest.raises(ValueError, match="another name"):
        sh.scan_polars(shard, row_index="i64")


def test_frames_are_written_as_they_come(rows: pl.DataFrame, shard: str, tmp_path: Path) -> None:
    lazy = sh.scan_polars(shard).filter(pl.col("row") % 2 == 0)
    path = tmp_path / "even.amudai.shard"
    assert sh.sink(lazy, path, profile="fast", stripe_rows=100).rows == COUNT // 2
    assert sh.scan_polars(path).collect().equals(rows.filter(pl.col("row") % 2 == 0))
    assert sh.write(lazy.filter(pl.col("row") < 0), path, overwrite=True).rows == 0
    assert sh.open(path).schema == sh.open(shard).schema

    # The first batch is written before the last one is made.
    made: list[int] = []

    def numbers(columns: Any, predicate: Any, n_rows: Any, batch_size: Any) -> Any:
        for start in range(0, 1_000_000, 50_000):
            made.append(start)
            yield pl.DataFrame({"n": range(start, start + 50_000)})

    from polars.io.plugins import register_io_source

    class Closed(Exception):
        pass

    class Sink:
        def write(self, data: bytes) -> int:
            raise Closed

    with pytest.raises(Closed):
        sh.sink(register_io_source(numbers, schema={"n": pl.Int64}), Sink(), stripe_rows=1_000, profile="plain")
    assert len(made) < 20, "all batches were made before the first was written"

    def failing(columns: Any, predicate: Any, n_rows: Any, batch_size: Any) -> Any:
        yield pl.DataFrame({"n": [1]})
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        sh.sink(register_io_source(failing, schema={"n": pl.Int64}), tmp_path / "failed.amudai.shard")
    assert not (tmp_path / "failed.amudai.shard").exists()


def test_lazy_frames_are_pickled(rows: pl.DataFrame, shard: str) -> None:
    lazy = sh.scan_polars(shard, row_index="n").filter(pl.col("row") < 3).select("row", "n")
    assert pickle.loads(pickle.dumps(lazy)).collect().equals(lazy.collect())


def test_errors_of_a_scan_arrive(shard: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.amudai.shard"
    content = bytearray(Path(shard).read_bytes())
    content[200:2_000] = bytes(1_800)
    path.write_bytes(content)
    with pytest.raises(sh.ShardError, match="broken"):
        sh.scan_polars(path).collect()
    with pytest.raises(FileNotFoundError):
        sh.scan_polars(tmp_path / "nowhere.amudai.shard")


def test_the_readers_of_polars_would_lose_rows(tmp_path: Path) -> None:
    """The README says so of `scan_pyarrow_dataset`; if this test fails, the warning can go."""
    frame = pl.DataFrame({"n": pl.Series([None], dtype=pl.Int64), "f": [math.nan]})
    sh.write(frame, tmp_path / "t.amudai.shard")
    dataset, lazy = sh.dataset(tmp_path), sh.scan_polars(tmp_path)
    for test in (~pl.col("n").is_in([1]), pl.col("f") > 1.0):
        assert lazy.filter(test).collect().equals(frame.filter(test))
        assert not pl.scan_pyarrow_dataset(dataset).filter(test).collect().equals(frame.filter(test))
