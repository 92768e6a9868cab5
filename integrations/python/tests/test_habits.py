"""What users of polars, pandas and pyarrow expect of files: closing, memory, data of all kinds, pickles, notebooks."""

from __future__ import annotations

import signal
import io
import os
import pickle
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import arrow_shard as sh
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

TABLE = pa.table({"id": [1, 2, 3], "name": ["Oslo", "Lima", None]})


def rows_of(source: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pa.table(sh.open(source)).to_pylist()
    return rows


def test_files_are_closed(cities: str) -> None:
    with sh.open(cities) as f:
        assert f.num_rows == 2 and not f.closed
        scan, batches = f.scan(), iter(f.scan())
    assert f.closed and "closed" in repr(f) and "closed" in f._repr_html_()
    for use in (lambda: f.num_rows, f.scan, lambda: f.take([0]), lambda: f.stripes, f.verify, f.statistics, f.head):
        with pytest.raises(ValueError, match="the shard is closed"):
            use()
    # Scans that were made before hold the file.
    assert scan.count() == 2 and next(batches).num_rows == 2
    assert f.schema.names == ["id", "name"] and f.files == [cities]
    f.close()
    with pytest.raises(KeyError), sh.open(cities) as f:
        raise KeyError("passed on")
    assert f.closed


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts the descriptors of Linux")
def test_closing_gives_the_descriptor_back(numbers: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    files = [sh.open(numbers) for _ in range(20)]
    assert len(os.listdir("/proc/self/fd")) >= before
    for file in files:
        file.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_shards_in_memory_are_read(cities: str, tmp_path: Path) -> None:
    content = Path(cities).read_bytes()
    expected = rows_of(cities)
    sources: list[Callable[[], Any]] = [
        lambda: content, lambda: bytearray(content), lambda: memoryview(content), lambda: io.BytesIO(content),
        lambda: Path(cities).open("rb"), lambda: pa.py_buffer(content), lambda: pa.BufferReader(content),
    ]
    for source in sources:
        assert rows_of(source()) == expected
        assert sh.dataset(source()).to_table().to_pylist() == expected
        assert sh.scan_polars(source()).collect().to_dicts() == expected
    f = sh.open(content)
    assert "in memory" in repr(f) and f.files == [] and pickle.loads(pickle.dumps(f)).num_rows == 2
    assert [fragment.path for fragment in sh.dataset(content).get_fragments()] == [None]
    with pytest.raises(sh.NotAShardError):
        sh.open(b"no shard, but a text that is long enough to be one")
    with pytest.raises(TypeError, match="binary"):
        sh.open(io.StringIO("text"))
    with pytest.raises(TypeError, match="path or a URL"):
        sh.open(7)


def test_shards_are_written_to_file_objects(cities: str, tmp_path: Path) -> None:
    memory = io.BytesIO()
    summary = sh.write(TABLE, memory, stripe_rows=1)
    assert summary.rows == 3 and summary.bytes == len(memory.getvalue())
    assert rows_of(memory.getvalue()) == TABLE.to_pylist()
    path = tmp_path / "t.amudai.shard"
    with path.open("wb") as file:
        sh.write(TABLE, file)
    assert rows_of(path) == TABLE.to_pylist()

    class Raw(io.RawIOBase):
        """A raw stream takes a part of what it is given."""

        def __init__(self) -> None:
            self.taken = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.taken += bytes(data[:100])
            return min(len(data), 100)

    raw = Raw()
    sh.write(TABLE, raw)
    assert rows_of(raw.taken) == TABLE.to_pylist()

    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(28, "full")

    with pytest.raises(OSError, match="full"):
        sh.write(TABLE, Full())


def generated() -> Iterator[pa.RecordBatch]:
    for start in range(3):
        yield pa.record_batch({"a": [start, start + 10]})


def lazily(tmp_path: Path) -> pl.LazyFrame:
    return pl.LazyFrame({"a": [0, 10, 1, 11, 2, 12, 99]}).filter(pl.col("a") < 99)


def parquet(tmp_path: Path) -> pq.ParquetFile:
    pq.write_table(pa.table({"a": [0, 10, 1, 11, 2, 12]}), tmp_path / "t.parquet", row_group_size=2)
    return pq.ParquetFile(tmp_path / "t.parquet")


DATA: dict[str, Callable[[Path], Any]] = {
    "generator": lambda _: generated(),
    "list of batches": lambda _: list(generated()),
    "tuple of tables": lambda _: tuple(pa.Table.from_batches([batch]) for batch in generated()),
    "list of data frames": lambda _: [pl.DataFrame(batch) for batch in generated()],
    "dict": lambda _: {"a": [0, 10, 1, 11, 2, 12]},
    "dict of arrays": lambda _: {"a": pa.array([0, 10, 1, 11, 2, 12])},
    "pandas": lambda _: pd.DataFrame({"a": [0, 10, 1, 11, 2, 12]}),
    "polars": lambda _: pl.DataFrame({"a": [0, 10, 1, 11, 2, 12]}),
    "lazy": lazily,
    "relation": lambda _: duckdb.sql("select unnest([0, 10, 1, 11, 2, 12])::bigint a"),
    "parquet": parquet,
    "parquet by batches": lambda path: parquet(path).iter_batches(batch_size=4),
    "scans": lambda _: [sh.open(in_memory()).scan()],
}


def in_memory() -> bytes:
    memory = io.BytesIO()
    sh.write({"a": [0, 10, 1, 11, 2, 12]}, memory)
    return memory.getvalue()


@pytest.mark.parametrize("kind", DATA)
def test_data_of_all_kinds_are_written(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    assert sh.write(DATA[kind](tmp_path), path).rows == 6
    assert [row["a"] for row in rows_of(path)] == [0, 10, 1, 11, 2, 12]


def test_batches_have_the_columns_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    for second in (pa.record_batch({"b": [1]}), pa.record_batch({"a": ["x"]}), pa.record_batch({"a": [1], "b": [1]})):
        with pytest.raises(sh.SchemaMismatchError, match="the first one a: Int64"):
            sh.write([pa.record_batch({"a": [1]}), second], path)
    with pytest.raises(sh.InvalidArgumentError, match="at least one batch"):
        sh.write([], path)
    for nothing in ([1, 2], "text", b"bytes", 7, None):
        with pytest.raises(TypeError, match="Arrow data"):
            sh.write(nothing, path)

    def failing() -> Iterator[Any]:
        yield from generated()
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        sh.write(failing(), path)
    assert list(tmp_path.iterdir()) == []


def test_types_of_polars_that_arrow_lacks_are_errors_with_their_column(tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    frames = [
        pl.DataFrame({"a": [1], "odd": pl.Series([object()], dtype=pl.Object)}),
        pl.DataFrame({"a": [1], "odd": pl.Series([2**100], dtype=pl.Int128)}),
        pl.DataFrame({"a": [1], "odd": pl.Series([2**100], dtype=pl.UInt128)}),
        pl.DataFrame({"a": [1], "odd": pl.Series([[2**100]], dtype=pl.List(pl.Int128))}),
        pl.DataFrame({"a": [1], "odd": pl.Series([[2**100]], dtype=pl.Array(pl.Int128, 1))}),
        pl.DataFrame({"a": [1], "odd": pl.Series([{"x": 1}], dtype=pl.Struct({"x": pl.Int128}))}),
    ]
    for frame in frames:
        for data in (frame, [frame], (frame for _ in range(1)), frame.lazy()):
            with pytest.raises(sh.UnsupportedError, match="column `odd`: Arrow has no type for .*; cast"):
                sh.write(data, path)
        with pytest.raises(sh.UnsupportedError, match="column `odd`"):
            sh.sink(frame.lazy(), path)
        assert not path.exists()
    later = (pl.DataFrame({"a": [1]}) if n == 0 else frames[0] for n in range(2))
    with pytest.raises(sh.UnsupportedError, match="column `odd`"):
        sh.write(later, path)
    assert sh.write(frames[1].with_columns(pl.col("odd").cast(pl.Decimal(38, 0))), path).rows == 1


def test_paths_begin_with_the_home_folder(cities: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(Path(cities).parent))
    for path in ("~/cities.amudai.shard", Path("~/cities.amudai.shard")):
        assert sh.open(path).num_rows == 2 and sh.dataset(path).count_rows() == 2
        assert sh.scan_polars(path).collect().height == 2 and sh.take(path, [1]).num_rows == 1
    sh.write(TABLE, "~/written.amudai.shard")
    assert sh.dataset("~").count_rows() == 5 == sh.open_many("~").num_rows == sh.dataset("~/*.shard").count_rows()
    assert len(sh.list_shards("~")) == 2
    # A tilde elsewhere is a part of a name.
    other = Path(cities).with_name("a~b.amudai.shard")
    sh.write(TABLE, other)
    assert sh.open(other).num_rows == 3


def test_files_and_scans_are_pickled(cities: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = sh.store.LocalStore(str(Path(cities).parent))
    monkeypatch.chdir(Path(cities).parent)
    name = Path(cities).name
    opened = [
        sh.open(name), sh.open(Path(name), views=True), sh.open(name, store=store), sh.open_many([name, cities]),
        sh.open_many("."), sh.open_many([name], columns=[("year", [2024])]),
    ]
    pickled = pickle.dumps(opened)
    scans = pickle.dumps([f.scan(columns=["id"], filter=sh.col("id") > 1, limit=1, with_row_number="n") for f in opened])
    monkeypatch.chdir("/")
    for before, after in zip(opened, pickle.loads(pickled)):
        assert after.schema == before.schema and after.num_rows == before.num_rows
        assert pa.table(after).equals(pa.table(before)) and after.row_ranges == before.row_ranges
    for scan in pickle.loads(scans):
        assert pa.table(scan).to_pylist() == [{"id": 2, "n": 1}]


def test_conditions_are_pickled(numbers: str) -> None:
    import datetime
    import decimal

    a = sh.col("a")
    conditions = [
        a == 1, a != "x", a < 1.5, a <= decimal.Decimal("1.5"), a > b"x", a >= datetime.datetime(2024, 1, 1), a != 0,
        a == float("nan"), a.is_in(iter([1, 2])), a.is_null(), a.is_not_null(), a.is_nan(), a.between(1, 2),
        a.starts_with("o'"), a.like("%_"), a.ilike("A%"), a == sh.col("b.c"), a & (a > 1), (a < 1) | a, ~a, ~(a > 1),
        sh.Expression.parse("a > 1 AND b LIKE 'x%'"), (a > pa.scalar(1, pa.int8())),
    ]
    for condition, again in zip(conditions, pickle.loads(pickle.dumps(conditions))):
        assert type(again) is sh.Expression and str(again) == str(condition)
    assert repr(pickle.loads(pickle.dumps(a))) == repr(a)
    f = sh.open(numbers)
    both = (sh.col("id") < 5) | ~sh.col("name").is_in(["name 01"])
    assert f.scan(filter=pickle.loads(pickle.dumps(both))).count() == f.scan(filter=both).count() == 9_901
    dataset = sh.dataset(numbers).filter(both).filter(pc.field("id") < 3)
    assert pickle.loads(pickle.dumps(dataset)).count_rows() == 3


def test_heads_and_data_frames(numbers: str) -> None:
    f = sh.open(numbers)
    assert f.head().num_rows == 5 and f.head(0).num_rows == 0
    assert pa.record_batch(f.head(1_500, ["id"]))["id"].to_pylist() == list(range(1_500))
    assert f.head(10**9).num_rows == 10_000
    with pytest.raises(sh.InvalidArgumentError):
        f.head(-1)
    frame = f.to_pandas(columns=["id", "half"], filter="id < 3")
    assert isinstance(frame, pd.DataFrame) and frame["id"].tolist() == [0, 1, 2] and frame["half"].isna().sum() == 1
    assert f.to_pandas().shape == (10_000, 4)


def test_notebooks_show_files(numbers: str, tmp_path: Path) -> None:
    sh.delete(numbers, rows=[1, 2])
    text = sh.open(numbers)._repr_html_()
    for part in ("9,998", "deleted rows</th><td>2", "stripes</th><td>10", "half</td><td>Float64", "data in memory", "B</td>"):
        assert part in text, text
    path = tmp_path / "<b>&.amudai.shard"
    sh.write({"<i>": [1], **{f"c{i}": [i] for i in range(80)}}, path, sorting_columns=["<i>"])
    text = sh.open(path)._repr_html_()
    assert "<b>" not in text and "<i>" not in text and "&lt;i&gt;" in text and "21 more" in text
    assert "shards</th><td>2" in sh.open_many([path, path])._repr_html_()


def lazily_exported(make: Callable[[], Any]) -> Any:
    """Returns an object that makes its rows when they are exported, as relations of DuckDB do."""

    class Lazy:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return make().__arrow_c_stream__(requested_schema)

    return Lazy()


# Within `sh.write`, each of these releases the interpreter's lock and reads a scan, whose filter calls Python code.
READERS: dict[str, Callable[[sh.Scan], Any]] = {
    "pyarrow": lambda scan: lazily_exported(lambda: pa.table(scan)),
    "polars": lambda scan: lazily_exported(lambda: pl.DataFrame(scan)),
    "reader": lambda scan: pa.RecordBatchReader.from_stream(scan),
    "generator": lambda scan: (pa.table(scan) for _ in range(1)),
    "duckdb": lambda scan: duckdb.sql("select id from scan order by id"),
    "scan": lambda scan: scan,
}


@pytest.mark.parametrize("name", READERS)
def test_scans_are_read_by_libraries_while_rows_are_written(name: str, tmp_path: Path) -> None:
    """In a process of its own, because an error would end it."""
    import subprocess
    import sys

    script = f"""
    import sys
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import io, pyarrow.compute as pc, arrow_shard as sh
    from test_habits import READERS
    source = io.BytesIO()
    sh.write({{"id": range(300_000)}}, source, stripe_rows=50_000, profile="fast")
    file = sh.open(source.getvalue())
    for threads in (1, 2):
        for filter in (None, "id >= 10", pc.bit_wise_and(pc.field("id"), 1) == 0):
            scan = file.scan(filter=filter, threads=threads)
            out = io.BytesIO()
            assert sh.write(READERS[{name!r}](scan), out, profile="fast").rows == scan.count()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
def test_metrics_can_be_read_by_a_handler_of_a_signal(numbers: str) -> None:
    many = sh.open_many([numbers] * 200)
    scan = many.scan(filter=sh.col("name").like("%9%"))
    seen: list[int] = []

    def look(*_: object) -> None:
        metrics = scan.metrics()
        seen.append(-1 if metrics is None else metrics.rows_matched)
        assert scan.bytes_read >= 0

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        while len(seen) < 5:
            assert scan.count() == 200 * 1_900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen == sorted(seen) or len(seen) > 5


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    store = sh.store.MemoryStore()
    with pytest.raises(sh.InvalidArgumentError, match="a file object is not in a store"):
        sh.write({"a": [1]}, io.BytesIO(), store=store)
    content = io.BytesIO()
    sh.write({"a": [1]}, content)
    with pytest.raises(sh.InvalidArgumentError, match="in memory is not in a store"):
        sh.open(content.getvalue(), store=store)
    with pytest.raises(TypeError, match="expected a list of names for `sorting_columns`, found 'id'"):
        sh.write({"id": [1]}, tmp_path / "t.shard", sorting_columns="id")
