"""Conversions to and from files of other formats, by their names."""

from __future__ import annotations

import math
from pathlib import Path

import arrow_shard as sh
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TABLE = pa.table(
    {
        "id": range(5_000),
        "s": [None if i % 7 == 0 else "" if i % 7 == 1 else f't"{i},' for i in range(5_000)],
        "x": [i / 2 for i in range(5_000)],
    }
)


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "t.amudai.shard"
    sh.write(TABLE, path, stripe_rows=1_024)
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "A.ARROW", "a.feather", "a.ipc", "a.arrows", "a.csv", "a.csv.gz"])
def test_a_file_comes_back_with_the_same_rows(name: str, shard: Path, tmp_path: Path) -> None:
    file, back = tmp_path / name, tmp_path / "back.amudai.shard"
    before = len(list(tmp_path.iterdir()))
    assert sh.convert(shard, file) == 5_000
    assert sh.convert(file, back, profile="fast") == 5_000
    assert pa.table(sh.open(back)) == TABLE and sh.open(back).writers[0][1] == "Fast"
    assert len(list(tmp_path.iterdir())) == before + 2
    with pytest.raises(sh.AlreadyExistsError, match="overwrite=True"):
        sh.convert(shard, file)
    with pytest.raises(sh.AlreadyExistsError):
        sh.convert(file, back)
    assert sh.convert(shard, file, overwrite=True) == sh.convert(file, back, overwrite=True)


def test_what_cannot_be_converted_is_an_error_and_no_file(shard: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    (tmp_path / "bad.csv").write_text("id\n1,2\n")
    before = sorted(tmp_path.iterdir())
    for source, target, options, kind, word in [
        (shard, "u.shard", {}, sh.InvalidArgumentError, "both shards"),
        ("a.csv", "a.parquet", {}, sh.InvalidArgumentError, "they are CSV and Parquet"),
        (shard, "u.csv", {"profile": "fast"}, sh.InvalidArgumentError, "`profile`"),
        ("none.csv", "u.shard", {}, FileNotFoundError, "none.csv"),
        ("none.shard", "u.csv", {}, sh.NotFoundError, "none.shard"),
        ("bad.csv", "u.shard", {}, pa.ArrowInvalid, "columns"),
    ]:
        with pytest.raises(kind, match=word):
            sh.convert(tmp_path / source, tmp_path / target, **options)
        assert sorted(tmp_path.iterdir()) == before


def test_a_type_that_a_format_lacks_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "t.shard"
    sh.write(pa.table({"l": [[1], [2]]}), path)
    with pytest.raises(pa.ArrowInvalid):
        sh.convert(path, tmp_path / "t.csv")
    assert sorted(tmp_path.iterdir()) == [path]


def test_only_empty_values_of_csv_are_null(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('code,x\nNA,nan\nnull,1.5\n,\n"",2\n')
    assert sh.convert(tmp_path / "a.csv", tmp_path / "a.shard") == 4
    [codes, numbers] = pa.table(sh.open(tmp_path / "a.shard")).to_pydict().values()
    assert codes == ["NA", "null", None, ""]
    assert math.isnan(numbers[0]) and numbers[1:] == [1.5, None, 2]
    sh.convert(tmp_path / "a.shard", tmp_path / "b.csv")
    sh.convert(tmp_path / "b.csv", tmp_path / "b.shard")
    assert repr(pa.table(sh.open(tmp_path / "b.shard")).to_pydict()) == repr({"code": codes, "x": numbers})


@pytest.mark.parametrize("name", ["a.arrow", "a.arrows", "a.parquet", "a.csv"])
def test_dictionaries_that_differ_between_stripes_are_united(name: str, tmp_path: Path) -> None:
    words = [f"word {i // 100}" for i in range(5_000)]
    table = pa.table({"d": pa.array(words).dictionary_encode(), "l": pa.array([[word] for word in words])})
    table = table if name != "a.csv" else table.select(["d"])
    sh.write(table, tmp_path / "t.shard", stripe_rows=1_024)
    assert sh.convert(tmp_path / "t.shard", tmp_path / name) == 5_000
    assert sh.convert(tmp_path / name, tmp_path / "back.shard") == 5_000
    assert pa.table(sh.open(tmp_path / "back.shard"))["d"].to_pylist() == words


def test_row_groups_of_parquet_are_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"a": pa.array(range(1_100_000), pa.int64())})
    sh.write(table, tmp_path / "t.shard")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sh.convert("~/t.shard", "~/t.parquet") == sh.convert("~/t.parquet", "~/b.shard") == 1_100_000
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [1 << 20, 1_100_000 - (1 << 20)]
