"""Changes of shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import arrow_shard as sh
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest


def ids(path: object) -> list[int]:
    return pa.table(sh.open(path).scan(columns=["id"]))["id"].to_pylist()  # type: ignore[no-any-return]


@pytest.fixture
def days(tmp_path: Path) -> list[str]:
    paths = []
    for day in range(3):
        paths.append(str(tmp_path / f"day{day}.amudai.shard"))
        sh.write(pa.table({"id": [day * 10 + i for i in range(10)], "day": [day] * 10}), paths[-1], stripe_rows=5)
    return paths


def test_shards_are_merged_and_appended(days: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.amudai.shard"
    summary = sh.merge(days[:2], out)
    assert (summary.rows, summary.stripes, summary.deleted_rows, summary.changed_rows) == (20, 4, 0, None)
    assert sh.append(out, [days[2]]).rows == 30
    assert ids(out) == list(range(30))
    other = tmp_path / "other.amudai.shard"
    sh.append(days[0], days[1:], to=other)
    assert ids(other) == list(range(30)) and ids(days[0]) == list(range(10))
    with pytest.raises(FileExistsError):
        sh.merge(days, out)
    with pytest.raises(ValueError, match="no shard to merge"):
        sh.merge([], out)
    with pytest.raises(ValueError, match="one store"):
        sh.append(days[0], ["s3://bucket/other.amudai.shard"])


def test_rows_are_deleted_and_come_back(days: list[str]) -> None:
    path = days[0]
    assert sh.delete(path, sh.col("id") > 7).changed_rows == 2
    assert sh.delete(path, "id = 0").changed_rows == 1
    assert sh.delete(path, pc.field("id") == 1).changed_rows == 1
    assert sh.delete(path, pc.bit_wise_and(pc.field("id"), 1) == 1).changed_rows == 3
    assert sh.delete(path, rows=np.array([2])).changed_rows == 1
    f = sh.open(path)
    assert ids(path) == [4, 6] and (f.num_rows, f.num_deleted_rows) == (2, 8)
    assert pa.table(f.scan(deleted_rows=True)).num_rows == 10
    assert pa.table(f.scan(with_row_number="row"))["row"].to_pylist() == [4, 6]
    with pytest.raises(IndexError):
        f.take([0])
    assert sh.undelete(path, rows=[0]).changed_rows == 1
    summary = sh.undelete(path)
    assert (summary.changed_rows, summary.rows) == (7, 10) and ids(path) == list(range(10))
    for wrong in ({}, {"where": "id = 1", "rows": [1]}):
        with pytest.raises(ValueError, match="either a condition or rows"):
            sh.delete(path, **wrong)


def test_compaction_writes_small_and_much_deleted_stripes_anew(days: list[str], tmp_path: Path) -> None:
    path = days[0]
    sh.delete(path, "id < 4")
    summary = sh.compact(path, profile="fast", threads=1)
    assert summary is not None and (summary.rows, summary.deleted_rows, summary.stripes) == (6, 0, 1)
    assert sh.compact(path) is None and ids(path) == [4, 5, 6, 7, 8, 9]
    other = tmp_path / "other.amudai.shard"
    assert sh.compact(days[1], to=other, min_rows=100) is not None
    assert (sh.open(other).num_stripes, sh.open(days[1]).num_stripes) == (1, 2)
    assert sh.compact(days[2], min_rows=0, max_deleted=1.0) is None
    with pytest.raises(ValueError, match="no profile"):
        sh.compact(path, profile="best")


def test_a_shard_of_several_files_becomes_one_that_can_be_moved(days: list[str], tmp_path: Path) -> None:
    path, out = days[0], tmp_path / "packed.amudai.shard"
    assert sh.delete(path, "id < 0").is_unchanged
    changed = sh.delete(path, "id < 4")
    assert changed.other_files > 0 and not changed.is_unchanged
    packed = sh.pack(path, out)
    assert (packed.rows, packed.deleted_rows, packed.other_files) == (6, 4, 0)
    moved = tmp_path / "elsewhere" / "moved.amudai.shard"
    moved.parent.mkdir()
    out.rename(moved)
    assert ids(moved) == [4, 5, 6, 7, 8, 9] and sh.open(moved).num_deleted_rows == 4
    with pytest.raises(FileExistsError):
        sh.pack(path, moved)
    assert sh.pack(path, moved, overwrite=True).rows == 6
    with pytest.raises(ValueError, match="one store"):
        sh.pack(path, "s3://bucket/other.amudai.shard")


def test_a_merge_of_shards_with_the_same_data_is_refused(days: list[str], tmp_path: Path) -> None:
    both = tmp_path / "both.amudai.shard"
    sh.merge(days[:2], both)
    with pytest.raises(ValueError, match="rows twice"):
        sh.merge([both, days[0]], tmp_path / "again.amudai.shard")


def test_files_that_nothing_needs_are_removed(days: list[str], tmp_path: Path) -> None:
    path = days[0]
    sh.delete(path, "id < 4")
    sh.compact(path)
    sh.write(pa.table({"id": [1]}), path, overwrite=True)
    assert sh.vacuum(tmp_path) == []
    unused = sh.vacuum(tmp_path, min_age=0, dry_run=True)
    assert unused and all(name.endswith(".amudai.stripe") and size > 0 for name, size in unused)
    assert sorted(sh.vacuum(tmp_path, min_age=0)) == sorted(unused) and sh.vacuum(tmp_path, min_age=0) == []
    assert ids(path) == [1]
    with pytest.raises(ValueError, match="min_age"):
        sh.vacuum(tmp_path, min_age=-1)


def test_shards_of_a_folder_are_listed(days: list[str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no shard")
    assert [Path(path).resolve() for path in sh.list_shards(tmp_path)] == [Path(path).resolve() for path in days]


def test_who_changes_what_has_changed_is_told(days: list[str], tmp_path: Path) -> None:
    f = sh.open(days[0])
    sh.delete(days[0], rows=[0])
    # An open shard keeps returning its old rows.
    assert pa.table(f).num_rows == 10 and sh.open(days[0]).num_rows == 9


def test_long_calls_tell_of_progress(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"id": list(range(200_000))})
    path, out = str(tmp_path / "t.amudai.shard"), str(tmp_path / "out.amudai.shard")
    told: list[tuple[int, int | None]] = []

    def tell(*done: Any) -> None:
        told.append(done)

    def last() -> tuple[int, int | None]:
        done = told[-1]
        assert told == sorted(told)
        told.clear()
        return done

    sh.write(table, path, stripe_rows=50_000, progress=tell)
    assert last() == (200_000, 200_000)
    sh.write(iter(table.to_batches(max_chunksize=70_000)), out, progress=tell)
    assert last() == (200_000, None)
    sh.write(table, path, overwrite=True, stripe_rows=50_000, progress=False)
    sh.delete(path, "id < 40000", progress=tell)
    with pytest.raises(TypeError, match="progress"):
        sh.delete(path, "id < 0", progress=7)
    assert last() == (200_000, 200_000)
    assert sh.open(path).verify(progress=tell).is_sound
    done, total = last()
    assert done == total
    assert sh.compact(path, progress=tell) is not None
    assert last() == (160_000, 160_000)
    sh.pack(path, out, overwrite=True, progress=tell)
    assert last() == (160_000, 160_000)
    assert sh.vacuum(tmp_path, dry_run=True, progress=tell) == []
    assert last() == (2, 2)

    sh.write(table, path, overwrite=True, progress=True)
    assert "rows" in capfd.readouterr().err


def test_an_exception_of_a_progress_function_ends_the_call(tmp_path: Path) -> None:
    table = pa.table({"id": list(range(1_000))})
    path, out = tmp_path / "t.amudai.shard", tmp_path / "out.amudai.shard"

    def fail(*_done: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sh.write(table, out, progress=fail)
    sh.write(table, path)
    before = path.read_bytes()
    for call in (
        lambda: sh.delete(path, "id < 4", progress=fail),
        lambda: sh.pack(path, out, progress=fail),
        lambda: sh.open(path).verify(progress=fail),
    ):
        with pytest.raises(ZeroDivisionError):
            call()
    assert path.read_bytes() == before and not out.exists()
    with pytest.raises(TypeError, match="progress: expected a bool or a function, found int"):
        sh.write(table, out, progress=3)  # type: ignore[arg-type]
