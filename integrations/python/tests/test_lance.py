"""Conversion to and from Lance."""

from __future__ import annotations

import decimal
import os
import stat
from pathlib import Path

import arrow_shard as sh
import pyarrow as pa
import pytest

lance = pytest.importorskip("lance")

from test_types import ARRAYS, same  # noqa: E402

REFUSED = {
    "decimal32(9, 2)", "decimal64(18, 2)", "month_day_nano", "list view", "large list view", "runs", "sparse union",
    "dense union",
}


@pytest.mark.parametrize("name", ARRAYS)
def test_all_types_that_lance_holds_go_there_and_back(name: str, tmp_path: Path) -> None:
    table = pa.table({"row": range(len(ARRAYS[name])), "x": ARRAYS[name]})
    shard, file, back = tmp_path / "t.amudai.shard", tmp_path / "t.lance", tmp_path / "back.amudai.shard"
    sh.write(table, shard)
    if name in REFUSED:
        with pytest.raises(sh.UnsupportedError, match="column `x`: Lance 2.2 has no"):
            sh.convert(shard, file)
        assert not file.exists()
        return
    assert sh.convert(shard, file) == len(table)
    assert sh.convert(file, back, profile="fast") == len(table)
    read = pa.table(sh.open(back, views=True))
    if "view" in name:  # Lance reads views back as texts and bytes.
        table = table.set_column(1, "x", table["x"].cast(pa.string() if "string" in name else pa.binary()))
    assert read.schema.equals(table.schema) and same(read, table)


def test_what_lance_does_not_hold_is_found_inside_of_columns(tmp_path: Path) -> None:
    shard, file = tmp_path / "t.amudai.shard", tmp_path / "t.lance"
    number = decimal.Decimal("1.5")
    for column in (
        pa.array([{"a": [{"b": number}]}], pa.struct({"a": pa.list_(pa.struct({"b": pa.decimal32(5, 1)}))})),
        pa.array([[("k", number)]], pa.map_(pa.string(), pa.decimal64(5, 1))),
        pa.array([["a", "b"]], pa.list_(pa.string(), 2)),
        pa.array([{}], pa.struct([])),
    ):
        sh.write(pa.table({"fine": [1], "inner": column}), shard, overwrite=True)
        with pytest.raises(NotImplementedError, match="column `inner`"):
            sh.convert(shard, file)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["t.amudai.shard"]


def test_older_versions_hold_less(tmp_path: Path) -> None:
    shard, file = tmp_path / "t.amudai.shard", tmp_path / "t.lance"
    sh.write(pa.table({"a": [1], "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32()))}), shard)
    with pytest.raises(sh.UnsupportedError, match="column `m`: Lance 2.1 has no map"):
        sh.convert(shard, file, lance_version="2.1")
    sh.write(pa.table({"s": pa.array(["a"], pa.string_view())}), shard, overwrite=True)
    with pytest.raises(sh.UnsupportedError, match="column `s`: Lance 2.0 has no string_view"):
        sh.convert(shard, file, lance_version="2.0")
    # Null structs are found only while rows are written, not from the schema.
    sh.write(pa.table({"a": [1, 2], "s": pa.array([{"x": 1}, None])}), shard, overwrite=True)
    with pytest.raises(sh.UnsupportedError, match="column `s`"):
        sh.convert(shard, file, lance_version="2.0")
    assert not file.exists() and sh.convert(shard, file, lance_version="2.1") == 2


def test_datasets_of_lance_become_shards(tmp_path: Path) -> None:
    table = pa.table({"a": range(1_000), "b": [f"b{i}" for i in range(1_000)]})
    lance.write_dataset(table, tmp_path / "t.lance", max_rows_per_file=300)
    assert sh.convert(tmp_path / "t.lance", tmp_path / "t.amudai.shard") == 1_000
    assert pa.table(sh.open(tmp_path / "t.amudai.shard")).equals(table)


def test_names_say_which_is_lance(cities: str, tmp_path: Path) -> None:
    for src, dst in ((cities, "b.amudai.shard"), ("a.lance", "b.lance")):
        with pytest.raises(ValueError, match="is a shard|both shards"):
            sh.convert(src, dst)
    file = tmp_path / "t.lance"
    sh.convert(cities, file)
    with pytest.raises(FileExistsError):
        sh.convert(cities, file)
    assert sh.convert(cities, file, overwrite=True) == 2
    with pytest.raises(ValueError, match="conversion to Lance does not have `profile`"):
        sh.convert(cities, file, overwrite=True, profile="fast")
    with pytest.raises(FileNotFoundError):
        sh.convert(tmp_path / "nowhere.lance", tmp_path / "b.amudai.shard")
    with pytest.raises(FileExistsError):
        sh.convert(file, cities)


def test_files_of_lance_replace_regular_files_alone(cities: str, tmp_path: Path) -> None:
    pipe, link, target = tmp_path / "pipe.lance", tmp_path / "link.lance", tmp_path / "t.lance"
    os.mkfifo(pipe)
    sh.convert(cities, target)
    link.symlink_to(target)
    with pytest.raises(ValueError, match="pipe"):
        sh.convert(cities, pipe, overwrite=True)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    before = target.stat().st_ino
    assert sh.convert(cities, link, overwrite=True) == 2
    assert link.is_symlink() and target.stat().st_ino != before
