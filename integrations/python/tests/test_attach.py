"""Shards over Parquet files of several writers."""

from __future__ import annotations

import datetime
import decimal
import pickle
from pathlib import Path

import arrow_shard as sh
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 5_000


def table() -> pa.Table:
    """Returns a table of many types, with nulls."""
    def some(value: object, i: int) -> object:
        return None if i % 5 == 0 else value

    numbers = range(ROWS)
    day = datetime.date(2024, 1, 1)
    return pa.table({
        "id": pa.array(numbers, pa.int64()),
        "text": pa.array([some(f"text {i % 300}", i) for i in numbers]),
        "small": pa.array([some(i % 100, i) for i in numbers], pa.int16()),
        "price": pa.array([some(i / 7, i) for i in numbers]),
        "exact": pa.array([some(decimal.Decimal(i) / 4, i) for i in numbers], pa.decimal128(12, 2)),
        "flag": pa.array([some(i % 3 == 0, i) for i in numbers]),
        "day": pa.array([some(day + datetime.timedelta(days=i % 900), i) for i in numbers]),
        "time": pa.array([some(i * 1_000_003, i) for i in numbers], pa.timestamp("us", "UTC")),
        "words": pa.array([some([f"w{j}" for j in range(i % 4)], i) for i in numbers]),
        "place": pa.array([some({"x": i, "y": some(f"y{i % 9}", i + 1)}, i) for i in numbers]),
    })


def check(path: Path, target: Path) -> None:
    """Compares an attached file with the rows that pyarrow reads."""
    sh.attach([path], target, page_map=True)
    shard = sh.open(target)
    expected = pq.read_table(path)
    read = pa.table(shard.scan())
    assert read.num_rows == ROWS
    for name in expected.column_names:
        assert read[name].to_pylist() == expected[name].to_pylist(), name
    rows = [4_999, 0, 17, 2_500]
    assert pa.table(shard.take(rows)).to_pylist() == [
        {name: expected[name][row].as_py() for name in expected.column_names} for row in rows
    ]
    found = pa.table(shard.scan(filter=sh.col("id").between(1_000, 1_009)))
    assert found["id"].to_pylist() == list(range(1_000, 1_010))
    assert shard.verify().is_sound


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip", "brotli", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_files_of_pyarrow_are_attached(codec: str, version: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        table(), path, compression=codec, data_page_version=version, row_group_size=2_000, data_page_size=4_000,
        write_page_index=version == "2.0",
    )
    check(path, tmp_path / "t.amudai.shard")


def test_files_of_duckdb_are_attached(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = table()
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute(f"COPY rows TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    check(path, tmp_path / "t.amudai.shard")


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "zstd", "gzip", "brotli", "lz4"])
def test_files_of_polars_are_attached(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = pl.from_arrow(table())
    rows.write_parquet(path, compression=codec, row_group_size=2_000, data_page_size=4_000)
    check(path, tmp_path / "t.amudai.shard")


def test_a_filter_of_polars_reads_an_attached_file(tmp_path: Path) -> None:
    path, target = tmp_path / "t.parquet", tmp_path / "t.amudai.shard"
    rows = pl.from_arrow(table())
    rows.write_parquet(path, row_group_size=1_000)
    sh.attach([path], target)
    lazy = pl.scan_pyarrow_dataset(sh.dataset(target))
    found = lazy.filter(pl.col("text") == "text 42").select("id").collect()
    assert found["id"].to_list() == rows.filter(pl.col("text") == "text 42")["id"].to_list()


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path, target = tmp_path / "t.parquet", tmp_path / "t.amudai.shard"
    pq.write_table(table(), path)
    sh.attach([path], target)
    pq.write_table(table().slice(1), path)
    with pytest.raises(sh.ShardError, match="t.parquet"):
        sh.open(target).take([0])


def test_compact_rewrites_stripes_over_parquet_files(tmp_path: Path) -> None:
    path, target = tmp_path / "t.parquet", tmp_path / "t.amudai.shard"
    pq.write_table(table(), path, row_group_size=1_000)
    sh.attach([path], target)
    assert sh.compact(target, min_rows=0) is None
    assert sh.compact(target, external=True) is not None
    path.unlink()
    assert pa.table(sh.open(target)).equals(table())


def test_files_elsewhere_need_a_folder_that_both_sides_allow(tmp_path: Path) -> None:
    lake, home = tmp_path / "lake", tmp_path / "home"
    lake.mkdir()
    home.mkdir()
    path, target = lake / "t.parquet", home / "t.amudai.shard"
    pq.write_table(table(), path)
    with pytest.raises(sh.ForbiddenUrlError, match="external"):
        sh.attach([path], target)
    sh.attach([path], target, external_files=[lake])
    with pytest.raises(sh.ForbiddenUrlError, match="external"):
        sh.open(target).take([0])
    f = sh.open(target, external_files=[lake])
    assert pa.table(f.scan()).num_rows == table().num_rows
    assert pa.table(pickle.loads(pickle.dumps(f)).scan()).num_rows == table().num_rows
    with sh.open_many([target, target], external_files=[lake]) as both:
        assert both.num_rows == 2 * table().num_rows
    with pytest.raises(TypeError, match="a list of folders"):
        sh.open(target, external_files=lake)


def test_pages_have_checksums_and_columns_have_indexes_on_request(tmp_path: Path) -> None:
    path, target = tmp_path / "t.parquet", tmp_path / "t.amudai.shard"
    pq.write_table(table(), path, write_statistics=False, compression="none")
    sh.attach([path], target, checksum=True, statistics=["id"], index=["text"])
    [found] = pa.record_batch(sh.open(target).statistics(["id"])).to_pylist()
    assert (found["id"]["min"], found["id"]["max"]) == (0, ROWS - 1)
    bytes_ = bytearray(path.read_bytes())
    at = bytes_.index(b"text 42")
    bytes_[at] ^= 1
    path.write_bytes(bytes_)
    with pytest.raises(pa.ArrowInvalid, match="checksum mismatch"):
        pa.table(sh.open(target).scan(columns=["text"]))


def lake(root: Path) -> Path:
    """Writes Parquet files below folders of years, and other files."""
    folder = root / "lake"
    for year, rows in (("2023", [1, 2]), ("2024", [3]), ("__HIVE_DEFAULT_PARTITION__", [4])):
        below = folder / f"year={year}"
        below.mkdir(parents=True)
        pq.write_table(pa.table({"id": rows}), below / "part.parquet")
        (below / "notes.txt").write_text("not a table")
    return folder


def test_folders_become_columns(tmp_path: Path) -> None:
    folder, target = lake(tmp_path), tmp_path / "t.amudai.shard"
    sh.attach(folder, target, hive=True, include_file_paths="file")
    rows = pa.table(sh.scan(target)).to_pylist()
    assert [(row["id"], row["year"]) for row in rows] == [(1, 2023), (2, 2023), (3, 2024), (4, None)]
    assert rows[2]["file"] == str(folder / "year=2024" / "part.parquet")
    with sh.open(target) as f:
        scan = f.scan(filter="year = 2024")
        assert pa.table(scan)["id"].to_pylist() == [3]
        assert f.verify().is_sound
    typed = tmp_path / "typed.amudai.shard"
    sh.attach(f"{folder}/year=202*/*.parquet", typed, hive={"year": str})
    assert pa.table(sh.scan(typed))["year"].to_pylist() == ["2023", "2023", "2024"]
    plain = tmp_path / "plain.amudai.shard"
    sh.attach([folder / "year=2024" / "part.parquet", folder / "year=2023"], plain)
    assert pa.table(sh.scan(plain)).to_pydict() == {"id": [3, 1, 2]}


def test_sources_without_files_and_columns_that_exist_are_refused(tmp_path: Path) -> None:
    folder, target = lake(tmp_path), tmp_path / "t.amudai.shard"
    (tmp_path / "empty").mkdir()
    with pytest.raises(sh.InvalidArgumentError, match="folder '.*empty' has no Parquet file"):
        sh.attach(tmp_path / "empty", target)
    with pytest.raises(sh.InvalidArgumentError, match="pattern .* has no Parquet file"):
        sh.attach(f"{folder}/*/*.txt", target)
    with pytest.raises(sh.InvalidArgumentError, match="id"):
        sh.attach(folder, target, include_file_paths="id")
    with pytest.raises(sh.InvalidArgumentError, match="no folder is named `month=...`"):
        sh.attach(folder, target, hive={"month": int})
    assert not target.exists()
