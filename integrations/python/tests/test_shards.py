"""Write, open, scan, and take rows."""

from __future__ import annotations

import os
import pathlib
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import arrow_shard as sh
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest


def test_rows_come_back_equal_with_schema_and_metadata(tmp_path: Path) -> None:
    schema = pa.schema(
        [pa.field("a", pa.int32(), nullable=False, metadata={"unit": "m"}), pa.field("b", pa.string())],
        metadata={"made by": "a test"},
    )
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]}, schema=schema)
    path = tmp_path / "t.amudai.shard"
    summary = sh.write(table, path)
    assert (summary.rows, summary.stripes) == (3, 1)
    assert summary.bytes == path.stat().st_size
    f = sh.open(path)
    read = pa.table(f)
    assert read.equals(table) and read.schema.equals(schema, check_metadata=True)
    assert f.metadata == {"made by": "a test"}
    assert pa.schema(f.schema).equals(schema, check_metadata=True)
    assert f.schema == sh.open(path).schema
    assert f.schema != sh.open(path).scan(columns=["a"]).schema


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"a": [1, 2]}),
        pa.record_batch({"a": [1, 2]}),
        pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), iter([pa.record_batch({"a": [1, 2]})])),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.chunked_array([[{"a": 1}], [{"a": 2}]]),
        pl.DataFrame({"a": [1, 2]}),
        pd.DataFrame({"a": [1, 2]}),
        ds.dataset(pa.table({"a": [1, 2]})),
        ds.dataset(pa.table({"a": [1, 2, 3]})).scanner(filter=ds.field("a") < 3),
    ],
    ids=lambda rows: f"{type(rows).__module__}.{type(rows).__name__}",
)
def test_rows_are_whatever_gives_arrow_data(rows: object, tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    assert sh.write(rows, path).rows == 2
    assert pa.table(sh.open(path))["a"].to_pylist() == [1, 2]


def test_what_gives_no_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        sh.write(7, path)
    with pytest.raises(sh.InvalidArgumentError, match="named columns"):
        sh.write(pa.array([1, 2]), path)
    with pytest.raises(sh.ArrowError, match="null as a whole"):
        sh.write(pa.array([{"a": 1}, None]), path)
    with pytest.raises(sh.ArrowError, match="null as a whole"):
        sh.write(pa.chunked_array([[{"a": 1}, None]]), path)
    assert list(tmp_path.iterdir()) == []


def test_misaligned_buffers_are_written(tmp_path: Path) -> None:
    memory = pa.py_buffer(b"x" + (5).to_bytes(16, "little") * 4)
    decimals = pa.Array.from_buffers(pa.decimal128(38, 0), 4, [None, memory.slice(1)])
    path = tmp_path / "t.amudai.shard"
    sh.write(pa.table({"d": decimals}), path)
    assert pa.table(sh.open(path))["d"].to_pylist() == [5, 5, 5, 5]


def test_a_scan_narrows_rows_and_columns(numbers: str) -> None:
    f = sh.open(numbers)
    assert (f.num_rows, f.num_deleted_rows, f.num_stripes) == (10_000, 0, 10)
    scan = f.scan(columns=["inner.x", "name"], filter=sh.col("id") >= 9_990, offset=2, limit=3, with_row_number="row")
    assert scan.schema.names == ["inner", "name", "row"]
    assert pa.table(scan).to_pylist() == [
        {"inner": {"x": i}, "name": f"name {i % 100}", "row": i} for i in (9_992, 9_993, 9_994)
    ]
    assert pa.table(f.scan(columns=[2, 0], row_range=(5, 7))).to_pylist() == [
        {"name": "name 05", "id": 5},
        {"name": "name 06", "id": 6},
    ]
    assert pa.table(f.scan(columns="id", row_range=range(3, 5)))["id"].to_pylist() == [3, 4]
    with pytest.raises(sh.InvalidArgumentError, match="step 2"):
        f.scan(row_range=range(0, 10, 2))
    sizes = [batch.num_rows for batch in f.scan(columns=[], batch_size=700, threads=1)]
    assert max(sizes) == 700 and sum(sizes) == 10_000 == f.scan(columns=[]).count()


def test_a_scan_can_be_run_again(numbers: str) -> None:
    scan = sh.open(numbers).scan(columns=["id"], filter="id < 10")
    assert scan.metrics() is None
    assert pa.table(scan).num_rows == 10 == pl.DataFrame(scan).height == sum(len(batch) for batch in scan)
    metrics = scan.metrics()
    assert metrics is not None and metrics.rows == 10_000
    assert metrics.skipped_by_statistics == 9_000 and metrics.stripes_skipped_by_statistics == 9
    assert metrics.rows_matched == 10
    assert "skipped_by_statistics=9000" in repr(metrics)


def test_a_requested_schema_casts(numbers: str) -> None:
    f = sh.open(numbers)
    wanted = pa.schema({"name": pa.large_string(), "id": pa.float64()})
    table = pa.table(f.scan(schema=wanted, limit=2))
    assert table.schema == wanted and table["id"].to_pylist() == [0.0, 1.0]
    strict = f.scan(schema=pa.schema({"half": pa.int64()}), strict_casts=True)
    with pytest.raises(sh.ValueOutOfRangeError, match="strict cast"):
        list(strict)
    with pytest.raises(pa.ArrowInvalid, match="value out of range: .* strict cast"):
        pa.table(strict)
    assert pa.table(f.scan(columns=["id"], limit=1), schema=pa.schema({"id": pa.int32()}))["id"].type == pa.int32()


def test_rows_are_taken_by_number(numbers: str) -> None:
    f = sh.open(numbers)
    for rows in ([9_999, 0, 0], np.array([9_999, 0, 0]), pa.array([9_999, 0, 0]), (9_999, 0, 0), iter([9_999, 0, 0])):
        assert pa.record_batch(f.take(rows, ["id"]))["id"].to_pylist() == [9_999, 0, 0]
    assert f.take(range(3)).num_rows == 3
    assert f.take([]).num_rows == 0
    for none in (10_000, -1):
        with pytest.raises(IndexError):
            f.take([none])
    with pytest.raises(ValueError, match="integers"):
        f.take(pa.array([1.5]))


def test_statistics_need_no_data(numbers: str) -> None:
    f = sh.open(numbers)
    (whole,) = pa.record_batch(f.statistics()).to_pylist()
    assert whole["row_count"] == 10_000
    assert (whole["id"]["min"], whole["id"]["max"], whole["id"]["null_count"]) == (0, 9_999, 0)
    assert whole["half"]["null_count"] == 1_429 and whole["inner.x"]["max"] == 9_999
    stripes = pa.record_batch(f.stripe_statistics(["id"])).to_pylist()
    assert [stripe["id"]["min"] for stripe in stripes] == list(range(0, 10_000, 1_000))
    assert [stripe.row_range for stripe in f.stripes] == [(i, i + 1_000) for i in range(0, 10_000, 1_000)]
    assert f.stripes[3].ordinal == 3 and f.stripes[3].num_rows == 1_000


def test_properties_and_sorting_columns_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    properties = {
        "text": "x", "yes": True, "number": -5, "large": 2**63, "real": 0.5, "bytes": b"\0", "none": None,
        "list": [1, "a"], "dict": {"a": {"b": []}},
    }
    order = [sh.SortingColumn("a", descending=True), "b"]
    sh.write(pa.table({"a": [2, 1], "b": [1, 2]}), path, properties=properties, sorting_columns=order)
    f = sh.open(path)
    assert f.properties == properties
    assert f.sorting_columns == [sh.SortingColumn("a", descending=True), sh.SortingColumn("b")]
    with pytest.raises(sh.UnknownColumnError):
        sh.write(pa.table({"a": [1]}), path, overwrite=True, sorting_columns=["nowhere"])
    with pytest.raises(ValueError, match="a property is"):
        sh.write(pa.table({"a": [1]}), path, overwrite=True, properties={"a": object()})
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="64 levels"):
        sh.write(pa.table({"a": [1]}), path, overwrite=True, properties={"a": endless})


@pytest.mark.parametrize(
    "options",
    [
        {"profile": "plain"}, {"profile": "fast"}, {"profile": "high_compression"}, {"profile": "minimal_size"},
        {"layout": "two_level", "stripe_rows": 1_000}, {"wire": "reference"}, {"mapping": "amudai"},
        {"presence": "embedded", "dictionary": False, "statistics": False, "bloom_filter": True},
        {"compressor_dictionary": True, "block_values": 1_024, "memory_limit": 1 << 20, "stripe_bytes": 1 << 16},
        {"packed_columns": [["a", "f"]], "threads": 1, "bloom_filter_fpp": 0.1},
        {"column_options": {"s": {"profile": "plain", "dictionary": False, "bloom_filter": False}}},
        {"ingestion_timestamp": True, "record_identity": True},
    ],
    ids=str,
)
def test_options_change_the_file_and_not_the_rows(options: dict[str, object], tmp_path: Path) -> None:
    count = 5_000
    table = pa.table(
        {"a": range(count), "f": pa.array([i * 0.1 for i in range(count)]), "s": [f"s{i % 50}" for i in range(count)]}
    )
    path = tmp_path / "t.amudai.shard"
    summary = sh.write(table, path, **options)
    assert pa.table(sh.open(path)).equals(table)
    assert sh.open(path).verify().is_sound
    if options.get("layout") == "two_level":
        assert len(summary.stripe_files) == 5
    if "record_identity" in options:
        scan = sh.open(path).scan(internal_fields=True)
        assert len(scan.schema) == 5 and pa.schema(scan.schema).field(0) == table.schema.field(0)


def test_scans_of_internal_fields_return_no_views(tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    sh.write(pa.table({"s": pa.array(["a", None], pa.string_view())}), path, record_identity=True)
    f = sh.open(path)
    scan = pa.table(f.scan(internal_fields=True))
    assert scan.schema.types[0] == pa.string() == pa.schema(f.schema).types[0] and scan.num_columns == 2
    assert scan["s"].to_pylist() == ["a", None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "best"}, "there is no profile `best`: there are plain, fast, balanced"),
        ({"column_options": {"a": {"color": 1}}}, "a column has no option `color`"),
        ({"stripe_rows": 0}, "stripe"),
        ({"block_values": 1000}, "1,?024"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        sh.write(pa.table({"a": [1]}), tmp_path / "t.amudai.shard", **options)


def test_a_file_is_replaced_only_if_that_is_asked_for(cities: str) -> None:
    with pytest.raises(FileExistsError):
        sh.write(pa.table({"a": [1]}), cities)
    sh.write(pa.table({"a": [1]}), cities, overwrite=True)
    assert sh.open(cities).schema.names == ["a"]


def test_views_are_read_as_what_every_library_takes(tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    inner = pa.struct({"v": pa.binary_view(), "l": pa.list_(pa.string_view())})
    table = pa.table(
        {
            "s": pa.array(["a", None, "a text that is not inlined"], pa.string_view()),
            "n": pa.array([{"v": b"x", "l": ["y"]}, None, {"v": None, "l": None}], inner),
            "i": [1, 2, 3],
        }
    )
    sh.write(table, path)
    f = sh.open(path)
    plain = {"s": pa.string(), "n": pa.struct({"v": pa.binary(), "l": pa.list_(pa.string())}), "i": pa.int64()}
    assert pa.schema(f.schema) == pa.schema(plain)
    read = pa.table(f.scan(filter=sh.col("s").is_not_null(), with_row_number="row"))
    assert read.column_names == ["s", "n", "i", "row"] and read["s"].to_pylist() == ["a", "a text that is not inlined"]
    assert pa.table(f).to_pylist() == table.to_pylist()
    assert pa.record_batch(f.take([2], ["n.l", "s"])).schema.field("s").type == pa.string()
    assert pa.record_batch(f.statistics()).schema.field("s").type.field("min").type == pa.string()
    assert pa.schema(sh.open(path, views=True).schema) == table.schema
    assert pa.table(sh.open(path, views=True)).equals(table)
    # polars writes views.
    sh.write(pl.DataFrame({"s": ["a", "b"]}), path, overwrite=True)
    assert pa.schema(sh.open(path).schema).field("s").type == pa.string()


def test_module_functions_open_and_read(numbers: str) -> None:
    assert pa.table(sh.scan(numbers, columns=["id"], limit=1)).to_pylist() == [{"id": 0}]
    assert pa.record_batch(sh.take(numbers, [7], ["id"])).to_pylist() == [{"id": 7}]
    assert pa.record_batch(sh.statistics(numbers, ["id"])).to_pylist()[0]["id"]["max"] == 9_999


def test_several_shards_are_one_table(tmp_path: Path) -> None:
    sh.write(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "1.amudai.shard")
    sh.write(pa.table({"a": [3], "c": [0.5]}), tmp_path / "2.amudai.shard")
    (tmp_path / "notes.txt").write_text("no shard")
    for opened in (sh.open_many(tmp_path), sh.open_many(sorted(tmp_path.glob("*.shard")))):
        assert opened.row_ranges == [(0, 2), (2, 3)]
        assert pa.table(opened).to_pylist() == [
            {"a": 1, "b": "x", "c": None}, {"a": 2, "b": "y", "c": None}, {"a": 3, "b": None, "c": 0.5},
        ]
        assert pa.table(opened.scan(filter=sh.col("c") > 0, columns=["a"])).to_pylist() == [{"a": 3}]
    with pytest.raises(ValueError, match="no shard"):
        sh.open_many([])


def test_paths_are_texts_path_objects_and_file_urls(cities: str) -> None:
    for path in (cities, pathlib.Path(cities), pathlib.Path(cities).as_uri()):
        assert sh.open(path).num_rows == 2
    with pytest.raises(TypeError, match="a path or a URL"):
        sh.open(5)
    with pytest.raises(ValueError, match="no kind of URL"):
        sh.open("nfs://host/t.amudai.shard")
    with pytest.raises(ValueError, match="without a user"):
        sh.open("https://user:secret@host/t.amudai.shard")


def test_verify_finds_a_flipped_byte_and_tells_of_progress(numbers: str) -> None:
    f = sh.open(numbers)
    told: list[tuple[int, int]] = []
    report = f.verify(progress=lambda *done: told.append(done))
    assert report.is_sound and report.rows == 10_000 and report.stripes == 10
    assert len(told) == told[-1][0] == told[-1][1]
    with pytest.raises(ZeroDivisionError):
        f.verify(progress=lambda *done: 1 / 0)
    content = bytearray(pathlib.Path(numbers).read_bytes())
    # Padding between buffers has no checksum.
    at = next(i for i in range(len(content) // 3, len(content)) if content[i])
    content[at] ^= 1
    pathlib.Path(numbers).write_bytes(content)
    report = sh.open(numbers).verify(threads=1)
    assert not report.is_sound and "checksum" in report.problems[0]
    with pytest.raises(sh.ChecksumError):
        for _ in sh.open(numbers).scan():
            pass


def test_other_threads_run_while_a_scan_works(numbers: str) -> None:
    f = sh.open(numbers)
    totals: list[int] = []

    def count() -> None:
        totals.append(sum(len(batch) for batch in f.scan(filter=sh.col("half") > 10, threads=2)))

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(totals) == 8 and len(set(totals)) == 1


def test_scans_count_the_bytes_that_they_read(tmp_path: Path) -> None:
    path = str(tmp_path / "noise.amudai.shard")
    noise = np.random.default_rng(1).integers(-(1 << 62), 1 << 62, size=(2, 100_000))
    sh.write(pa.table({"a": noise[0], "b": noise[1]}), path)
    scan = sh.open(path).scan()
    assert scan.bytes_read == 0
    pa.table(scan)
    whole = scan.bytes_read
    assert 1_500_000 < whole <= Path(path).stat().st_size
    scan = sh.open(path).scan(columns=["a"], row_range=(0, 10))
    pa.table(scan)
    assert 0 < scan.bytes_read < whole / 2
    scan = sh.open(path).scan(filter=sh.col("a") >= 0, with_row_number="row")
    assert scan.count() == (noise[0] >= 0).sum() and 0 < scan.bytes_read < 0.6 * whole
    scan = sh.open(path).scan(offset=10, schema=pa.schema([("b", pa.string())]))
    assert scan.count() == 99_990 and scan.bytes_read == 0


def test_metrics_are_asked_while_others_begin_scans(numbers: str) -> None:
    """Runs in a process with a timeout: threads that wait for each other and for the interpreter's lock would hang."""
    script = """
        import sys, threading, time
        import arrow_shard as sh
        sys.setswitchinterval(1e-5)
        scan = sh.open(sys.argv[1]).scan(filter=sh.col("half") > 10, threads=1)
        end = time.monotonic() + 2

        def read():
            while time.monotonic() < end:
                scan.count()

        def ask():
            while time.monotonic() < end:
                scan.metrics()

        threads = [threading.Thread(target=work, daemon=True) for work in (read, ask) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), numbers], check=True, timeout=60)


def test_reprs_say_what_it_is(cities: str) -> None:
    f = sh.open(cities)
    assert repr(f).endswith("cities.amudai.shard: 2 rows, 2 columns, 1 stripe>")
    assert repr(f.scan()) == "<Scan of id: Int64, name: Utf8>"
    assert repr(next(iter(f.scan()))) == "<RecordBatch of 2 rows: id: Int64, name: Utf8>"
    assert repr(f.stripes) == "[<StripeInfo 0: rows 0..2>]"


@pytest.mark.parametrize("overwrite", [False, True])
def test_outputs_replace_regular_files_alone(tmp_path: Path, overwrite: bool) -> None:
    table = pa.table({"a": [1, 2]})
    pipe, link, lost = tmp_path / "pipe", tmp_path / "link", tmp_path / "lost"
    os.mkfifo(pipe)
    target = tmp_path / "below" / "t.amudai.shard"
    target.parent.mkdir()
    sh.write(pa.table({"a": [0]}), target)
    link.symlink_to(target)
    lost.symlink_to(tmp_path / "nowhere")
    for path, said in ((pipe, "pipe"), (lost, "link to nothing"), (target.parent, "folder")):
        with pytest.raises(sh.ShardError, match=said):
            sh.write(table, path, overwrite=overwrite)
    assert stat.S_ISFIFO(pipe.lstat().st_mode) and lost.is_symlink()
    if overwrite:
        sh.write(table, link, overwrite=True)
        assert pa.table(sh.open(target)).num_rows == 2
    else:
        with pytest.raises(sh.AlreadyExistsError):
            sh.write(table, link)
    assert link.is_symlink()
    with pytest.raises(sh.ShardError, match="pipe"):
        sh.merge([target], pipe)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["below", "link", "lost", "pipe"]


def test_a_declared_order_is_checked(tmp_path: Path) -> None:
    path, table = tmp_path / "t.amudai.shard", pa.table({"a": [1, 3, 2]})
    with pytest.raises(ValueError, match="row 2 of the shard.*`a`"):
        sh.write(table, path, sorting_columns=["a"], sorting_columns_checked=True)
    assert not path.exists()
    sh.write(table, path, sorting_columns=["a"])
    report = sh.open(path).verify()
    assert "row 2 of the stripe" in str(report.problems[0])
    sh.write(table, path, sorting_columns=["a"], overwrite=True)


def test_a_batch_is_a_table_in_notebooks(tmp_path: Path) -> None:
    path = tmp_path / "t.shard"
    columns = {f"c{i}": list(range(30)) for i in range(25)}
    columns |= {"c0": ["<b>"] + ["x" * 100] * 29, "c1": [None, *range(29)]}
    sh.write(pa.table(columns), path)
    text = sh.open(path).head(30)._repr_html_()
    assert "<td>&lt;b&gt;</td><td>null</td><td>0</td>" in text and "x" * 60 not in text
    assert text.count("<tr>") == 12 and text.endswith("<p>30 rows, 25 columns</p>")
    one = next(iter(sh.open(path).scan(columns=["c2"], limit=1)))
    assert repr(one) == "<RecordBatch of 1 row: c2: Int64>"
    assert "<th>c2<br>Int64</th>" in one._repr_html_() and "…" not in one._repr_html_()
