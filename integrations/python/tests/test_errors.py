"""Exceptions for each kind of error."""

from __future__ import annotations

import builtins
import errno
import os
import pickle
from pathlib import Path

import arrow_shard as sh
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.compute as pc
import pytest
from arrow_shard import _errors


def test_errors_are_of_their_kind_and_of_pythons(tmp_path: Path, cities: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        sh.open(tmp_path / "nowhere")
    error = caught.value
    assert isinstance(error, sh.NotFoundError) and isinstance(error, sh.ShardError)
    assert error.kind == "not found" and error.errno == errno.ENOENT and "nowhere" in error.element
    assert str(error).startswith("not found: file `")
    (tmp_path / "text").write_text("no shard at all, but long enough to have a footer of some kind")
    with pytest.raises(sh.NotAShardError):
        sh.open(tmp_path / "text")
    with pytest.raises(FileExistsError):
        sh.write(pa.table({"a": [1]}), cities)
    f = sh.open(cities)
    with pytest.raises(KeyError) as unknown:
        f.scan(columns=["nam"])
    assert "`nam`" in str(unknown.value) and not str(unknown.value).startswith("'")
    with pytest.raises(IndexError):
        f.take([2])
    with pytest.raises(TypeError):
        f.scan(filter=sh.col("id") > "x")
    with pytest.raises(ValueError):
        f.scan(batch_size=0)
    with pytest.raises(sh.ForbiddenUrlError):
        (tmp_path / "below").mkdir()
        sh.merge([cities], tmp_path / "below" / "out.amudai.shard")


def test_numbers_below_zero_are_named(cities: str, tmp_path: Path) -> None:
    f = sh.open(cities)
    for rows in ([-1], [0, -1], pa.array([0, -1]), pa.array([-1], pa.int8()), [1 << 70], iter([-1])):
        with pytest.raises(sh.RowOutOfRangeError, match="found (-1|1180591620717411303424)"):
            f.take(rows)
    with pytest.raises(IndexError, match="found -1"):
        sh.delete(cities, rows=[-1])
    for name in ("limit", "offset", "batch_size", "threads", "prefetch"):
        with pytest.raises(sh.InvalidArgumentError, match="whole number from 0 on, found -2"):
            f.scan(**{name: -2})
    for rows in (range(-2, 1), (-2, 1)):
        with pytest.raises(ValueError, match="found -2"):
            f.scan(row_range=rows)
    for name in ("stripe_rows", "stripe_bytes", "memory_limit", "block_values", "threads"):
        with pytest.raises(ValueError, match=f"option `{name}`: .*found -2"):
            sh.write(f, tmp_path / "t.amudai.shard", **{name: -2})
    with pytest.raises(ValueError, match="found -2"):
        sh.compact(cities, min_rows=-2)
    with pytest.raises(ValueError, match="1180591620717411303424 is too large"):
        f.scan(limit=1 << 70)
    with pytest.raises(ValueError, match="option `bloom_filter_fpp`: 1000.* is too large"):
        sh.write(f, tmp_path / "t.amudai.shard", bloom_filter_fpp=10**400)


def test_arguments_of_other_kinds_are_named(cities: str, tmp_path: Path) -> None:
    f = sh.open(cities)
    with pytest.raises(TypeError, match="found bytes"):
        f.scan(columns=b"id")
    with pytest.raises(TypeError, match="option `stripe_rows`"):
        sh.write(f, tmp_path / "t.amudai.shard", stripe_rows="many")
    with pytest.raises(TypeError, match="option `packed_columns`"):
        sh.write(f, tmp_path / "t.amudai.shard", packed_columns=["id"])
    with pytest.raises(TypeError, match="option `block_values`"):
        sh.write(f, tmp_path / "t.amudai.shard", column_options={"id": {"block_values": "few"}})
    for change in (lambda: sh.merge(cities, tmp_path / "out"), lambda: sh.append(cities, cities)):
        with pytest.raises(TypeError, match="expected a list of paths"):
            change()


def test_whoever_reads_a_stream_is_told_why_it_failed(tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    sh.write(pa.table({"s": ["1", "x"]}), path)
    scan = sh.open(path).scan(filter=pc.field("s").cast(pa.int32()) > 1)
    for read in (pa.table, pl.DataFrame, lambda scan: list(scan)):
        with pytest.raises(Exception, match="Failed to parse string: 'x'"):
            read(scan)


def test_permissions_are_errors_of_the_system(cities: str) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    os.chmod(cities, 0)
    with pytest.raises(OSError) as caught:
        sh.open(cities)
    assert caught.value.errno == errno.EACCES


def test_every_kind_of_the_library_has_a_class() -> None:
    source = Path(__file__).parents[3] / "src" / "error.rs"
    text = source.read_text()
    kinds = text.split("pub fn as_str(self)")[1].split("}\n    }")[0].split('=> "')[1:]
    assert {kind.split('"')[0] for kind in kinds} == set(_errors._CLASSES)


def test_classes_are_pickled_and_have_names() -> None:
    for name, error in vars(_errors).items():
        if not name.startswith("_") and isinstance(error, type) and issubclass(error, sh.ShardError):
            assert getattr(sh, name) is error and error.__module__ == "arrow_shard" and error.__doc__
            again = pickle.loads(pickle.dumps(_errors.error_of(error.kind, "text", "", None)))
            assert str(again) == "text" and isinstance(again, sh.ShardError)
            assert not hasattr(builtins, name)


def test_what_a_reader_of_rows_raises_ends_the_write(tmp_path: Path) -> None:
    def batches():  # type: ignore[no-untyped-def]
        yield pa.record_batch({"a": [1]})
        raise ZeroDivisionError("in the middle")

    def reader() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), batches())

    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return reader().__arrow_c_stream__()

    with pytest.raises(ZeroDivisionError, match="in the middle"):
        sh.write(reader(), tmp_path / "t.amudai.shard")
    # A C stream can pass on only the text of an exception.
    with pytest.raises(sh.ArrowError, match="in the middle"):
        sh.write(Stream(), tmp_path / "t.amudai.shard")
    assert list(tmp_path.iterdir()) == []


def test_the_damaged_file_of_several_is_named(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.amudai.shard" for name in "abc"]
    for path in paths:
        sh.write(pa.table({"id": list(range(2000))}), path)
    data = bytearray(paths[1].read_bytes())
    data[len(data) // 8] ^= 1
    paths[1].write_bytes(data)
    tables = (sh.open(paths[1]), sh.open_many(paths), sh.open_many(tmp_path))
    for table in tables:
        with pytest.raises(sh.ChecksumError) as caught:
            list(table.scan())
        assert f"file `{paths[1]}`" in caught.value.element
    with pytest.raises(sh.UnknownColumnError) as unknown:
        sh.open(paths[2]).scan(columns=["nothing"])
    assert unknown.value.element == f"file `{paths[2]}`"


def test_a_file_that_was_replaced_is_told_from_one_that_cannot_be_read() -> None:
    assert not issubclass(sh.ReplacedError, OSError) and issubclass(sh.ShardIOError, OSError)
    assert issubclass(sh.ExternalError, sh.ArrowError)


def test_messages_name_options_of_python(tmp_path: Path) -> None:
    for folder in ("parquet", "shards", "empty"):
        (tmp_path / folder).mkdir()
    source, target = tmp_path / "parquet" / "t.parquet", tmp_path / "shards" / "t.amudai.shard"
    pq.write_table(pa.table({"a": [1]}), source)
    with pytest.raises(sh.ForbiddenUrlError) as attached:
        sh.attach([source], target)
    sh.attach([source], target, external_files=[source.parent])
    with pytest.raises(sh.ForbiddenUrlError) as opened:
        sh.open(target).head()
    for error in (attached, opened):
        text = str(error.value)
        assert "by `external_files=`" in text and "--" not in text and "::" not in text
    with pytest.raises(sh.InvalidArgumentError, match="the folder '.*empty' has no shard"):
        sh.open_many(tmp_path / "empty")
