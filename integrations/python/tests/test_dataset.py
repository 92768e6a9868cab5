"""Shards as pyarrow datasets."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import arrow_shard as sh
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest


@pytest.fixture
def both(numbers: str) -> tuple[Any, ds.Dataset]:
    """Returns the same rows as a dataset of shards and as a dataset of pyarrow's own."""
    return sh.dataset(numbers), ds.dataset(pa.table(sh.open(numbers)))


def test_a_dataset_of_shards_behaves_as_one_of_pyarrow(both: tuple[Any, ds.Dataset]) -> None:
    shards, plain = both
    assert isinstance(shards, ds.Dataset) and shards.schema == plain.schema
    late = pc.field("id") > 9_000
    for columns in (None, ["name", "id"], ["id", "id"], {"twice": pc.field("id") * 2, "n": pc.field("name")}):
        for filter in (None, late, late & pc.field("half").is_null(), pc.match_substring(pc.field("name"), "11")):
            options = {"columns": columns, "filter": filter}
            expected = plain.to_table(**options)
            assert shards.to_table(**options).equals(expected)
            assert pa.Table.from_batches(shards.to_batches(**options), expected.schema).equals(expected)
            assert shards.scanner(**options).to_table().equals(expected)
            assert shards.scanner(**options).to_reader().read_all().equals(expected)
            assert shards.scanner(**options).count_rows() == expected.num_rows
            assert shards.scanner(**options).projected_schema == expected.schema
            assert shards.head(7, **options).equals(expected.slice(0, 7))
            places = pa.array([0, 5, 5])
            assert shards.take(places, **options).equals(expected.take(places))
            assert shards.count_rows(filter=filter) == expected.num_rows
    assert shards.filter(late).filter(pc.field("id") < 9_003).to_table(["id"])["id"].to_pylist() == [9_001, 9_002]
    assert shards.filter(late).count_rows() == 999
    assert shards.filter(late).filter(pc.field("id") < 9_003).head(1, ["id"])["id"].to_pylist() == [9_001]
    assert shards.sort_by([("id", "descending")]).head(1)["id"].to_pylist() == [9_999]
    other = ds.dataset(pa.table({"id": [5, 6], "other": ["x", "y"]}))
    assert shards.to_table(columns=[]).num_rows == 10_000
    assert pa.table(shards).num_rows == 10_000


def test_arguments_are_those_of_pyarrow(both: tuple[Any, ds.Dataset]) -> None:
    shards, plain = both
    (fragment,) = shards.get_fragments()
    late = pc.field("id") > 9_997
    for rows in (shards, plain, fragment):
        for read in (rows.to_table, rows.to_batches, rows.scanner, rows.count_rows):
            with pytest.raises(TypeError, match="filters"):
                read(filters=late)
            assert read(filter=late, use_threads=False, fragment_readahead=2) is not None
        with pytest.raises(TypeError, match="offset"):
            rows.head(2, offset=3)
        for read in (rows.to_table, rows.to_batches):
            with pytest.raises(ValueError, match="(?i)batch ?size"):
                read(batch_size=0)
            with pytest.raises(ValueError, match="list or a dict"):
                read(columns="id")
            with pytest.raises((KeyError, ValueError), match="nowhere"):
                read(columns=["nowhere"])
    assert shards.to_table(columns=(name for name in ["id", "name"])).column_names == ["id", "name"]
    assert shards.head(2, columns=map(str, ["id"])).column_names == ["id"]
    assert shards.take([1], columns=iter(["id"])).to_pylist() == [{"id": 1}]
    (batch,) = shards.to_batches(columns=iter(["id"]), filter=late)
    assert batch.to_pydict() == {"id": [9_998, 9_999]}


def test_rows_are_taken_by_their_places(both: tuple[Any, ds.Dataset], numbers: str) -> None:
    shards, plain = both
    late = pc.field("id") > 9_900
    sh.delete(numbers, "id < 3", to=f"{numbers}.fewer")
    # Rows are read by number, or found among the matching rows.
    for rows, filter, count in ((shards, None, 10_000), (shards, late, 99), (sh.dataset(f"{numbers}.fewer"), None, 9_997)):
        assert rows.take([], filter=filter).equals(plain.take(pa.array([], pa.int64())))
        for none in (-1, count):
            with pytest.raises(IndexError):
                rows.take([none], filter=filter)
        for places in ([1, None], [True], [1.0], ["1"]):
            with pytest.raises(TypeError, match="places of rows as integers without nulls"):
                rows.take(places, filter=filter)
        first = count - 1
        for places in ([first, 0], pa.array([first, 0], pa.uint16()), pa.chunked_array([[first], [0]]), range(first, -1, -first)):
            taken = rows.take(places, ["id"], filter=filter)["id"].to_pylist()
            assert taken == [9_999, 9_999 - first]


def test_filters_of_all_kinds_follow_each_other(numbers: str) -> None:
    filters = ("id > 9000", sh.col("id") < 9_100, pc.field("name") == "name 50")
    for first in filters:
        for second in filters:
            dataset = sh.dataset(numbers).filter(first).filter(second)
            expected = pa.table(sh.open(numbers).scan(filter=[first, second]))
            assert dataset.to_table().equals(expected) and expected.num_rows > 0
            with pytest.raises(TypeError, match="None"):
                dataset.filter(None)
            assert sum(fragment.count_rows(filter="id < 9060") for fragment in dataset.get_fragments()) > 0


def test_datasets_are_joined_in_memory(cities: str) -> None:
    shards = sh.dataset(cities)
    other = ds.dataset(pa.table({"id": [2, 3], "other": ["x", "y"]}))
    assert shards.join(other, "id", join_type="inner").to_table()["other"].to_pylist() == ["x"]
    nearest = shards.join_asof(other, on="id", by=[], tolerance=1).to_table().sort_by("id")
    assert nearest["other"].to_pylist() == ["x", "x"]


def test_all_that_a_dataset_can_do_is_done_here() -> None:
    """A method that is not overridden would use the unreadable dataset of pyarrow."""
    from arrow_shard._dataset import ShardDataset, ShardFragment

    for ours, theirs in ((ShardDataset, ds.Dataset), (ShardFragment, ds.Fragment)):
        for name in dir(theirs):
            if not name.startswith("_"):
                assert getattr(ours, name) is not getattr(theirs, name), f"{ours.__name__}.{name}"


def test_whoever_looks_behind_it_gets_an_error(both: tuple[Any, ds.Dataset], cities: str, tmp_path: Path) -> None:
    shards, _ = both
    others = ds.dataset(pa.table({"id": [1]}))
    for look in (
        lambda: ds.Scanner.from_dataset(shards).to_table(),
        lambda: others.join(sh.dataset(cities), "id"),
        lambda: ds.dataset([shards, shards]).count_rows(),
    ):
        with pytest.raises(NotImplementedError, match=r"give them its scanner\(\)"):
            look()
    with pytest.raises(NotImplementedError, match="ShardFile.scan"):
        shards.replace_schema(pa.schema({"id": pa.int8()}))
    assert shards.children == [] and shards.partition_expression.equals(pc.scalar(True))
    # Writing a dataset works, because it uses the dataset's scanner.
    ds.write_dataset(shards, tmp_path / "out", format="parquet")
    assert ds.dataset(tmp_path / "out").count_rows() == 10_000


def test_several_shards_and_folders_are_datasets(tmp_path: Path) -> None:
    paths = []
    for i in range(3):
        paths.append(str(tmp_path / f"{i}.amudai.shard"))
        sh.write(pa.table({"a": range(i * 10, i * 10 + 10)}), paths[-1])
    for source in (tmp_path, str(tmp_path), paths, iter(paths)):
        dataset = sh.dataset(source)
        assert dataset.to_table()["a"].to_pylist() == list(range(30))
        fragments = list(dataset.get_fragments(filter=pc.field("a") >= 15))
        assert [fragment.count_rows() for fragment in fragments] == [0, 5, 10]
    fragments = list(dataset.filter(pc.field("a") < 12).get_fragments())
    assert [fragment.to_table().num_rows for fragment in fragments] == [10, 2, 0]
    first = fragments[0]
    assert first.physical_schema == dataset.schema and first.head(2)["a"].to_pylist() == [0, 1]
    assert first.partition_expression.equals(pc.scalar(True))
    assert sum(batch.num_rows for batch in first.to_batches()) == 10 == first.scanner().count_rows()
    assert fragments[1].take(pa.array([1]))["a"].to_pylist() == [11]
    schema = dataset.schema
    assert first.scanner(schema, columns=["a"]).to_table().num_rows == first.to_table(schema, ["a"]).num_rows == 10
    assert sum(batch.num_rows for batch in first.to_batches(schema, filter=pc.field("a") > 5)) == 4
    with pytest.raises(NotImplementedError):
        first.to_table(pa.schema({"a": pa.int8()}))
    with pytest.raises(TypeError, match="pickle the dataset"):
        pickle.dumps(first)


def test_fragments_are_those_that_folders_leave(tmp_path: Path) -> None:
    for year in ("2024", "2025", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"year={year}").mkdir()
        for n in range(2):
            sh.write({"a": [n, n + 1]}, tmp_path / f"year={year}" / f"{n}.amudai.shard")
    dataset, year = sh.dataset(tmp_path, include_file_paths="from"), pc.field("year")
    cases: list[tuple[Any, int]] = [
        (None, 6), (year == 2025, 2), ((year == 2025) & (pc.field("a") > 1), 2), (year.is_null(), 2),
        (year.isin([2024, 2026]), 2), (pc.field("from") == dataset.files[3], 1), (pc.field("a") > 5, 6),
        ("year = 2025", 2), ("year = 2025 AND a > 1", 6), (sh.col("year").is_null(), 2), (pl.col("year") > 2024, 2),
        (pl.col("a") > 5, 6), ([sh.col("year") == 2024], 2), ("year = 1", 0),
    ]
    for filter, count in cases:
        fragments = list(dataset.get_fragments(filter))
        assert len(fragments) == count, filter
        assert sum(fragment.count_rows() for fragment in fragments) == dataset.count_rows(filter=filter)
        if filter is not None:
            assert len(list(dataset.filter(filter).get_fragments())) == count
    assert len(list(dataset.filter(year == 2025).get_fragments("a > 1"))) == 2
    for fragment in dataset.get_fragments():
        assert fragment.to_table(filter=fragment.partition_expression).num_rows == 2
        keys = ds.get_partition_keys(fragment.partition_expression)
        assert keys["from"] == fragment.path and f"year={keys['year'] or '__HIVE'}" in fragment.path


def test_pyarrow_refuses_fragments_of_shards(cities: str) -> None:
    (fragment,) = sh.dataset(cities).get_fragments()
    with pytest.raises(TypeError, match="ShardFragment"):
        ds.Scanner.from_fragment(fragment).to_table()
    assert fragment.scanner().to_table().num_rows == 2


def test_deleted_rows_are_not_there(numbers: str) -> None:
    sh.delete(numbers, "id < 9995")
    dataset = sh.dataset(numbers)
    assert dataset.count_rows() == 5 == dataset.to_table().num_rows
    assert dataset.take(pa.array([0, 4]), ["id"])["id"].to_pylist() == [9_995, 9_999]
    (fragment,) = dataset.get_fragments()
    assert fragment.count_rows() == 5


def test_a_dataset_is_pickled_by_where_it_is(numbers: str) -> None:
    dataset = sh.dataset(numbers).filter(pc.field("id") < 3).filter("id < 2")
    again = pickle.loads(pickle.dumps(dataset))
    assert again.to_table().equals(dataset.to_table()) and again.count_rows() == 2
    again = pickle.loads(pickle.dumps(dataset.filter(sh.col("id") < 1)))
    assert again.count_rows() == 1


def test_a_pickled_dataset_is_opened_from_another_folder(numbers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(numbers)
    monkeypatch.chdir(path.parent)
    for source in (path.name, Path(path.name), ".", [path.name, f"./{path.name}"]):
        pickled = pickle.dumps(sh.dataset(source))
        with monkeypatch.context() as elsewhere:
            elsewhere.chdir("/")
            assert pickle.loads(pickled).count_rows() in (10_000, 20_000)


def test_paths_lead_where_the_system_says(numbers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(numbers).parent
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "link").symlink_to(folder / "deep" / "deeper")
    sh.write(pa.table({"id": [1]}), folder / "deep" / Path(numbers).name)
    monkeypatch.chdir(folder)
    # `link/..` is the parent of the folder that the link leads to, not the folder of the link.
    assert sh.dataset(f"link/../{Path(numbers).name}").count_rows() == 1
    assert sh.dataset("deep/").count_rows() == 1 == sh.dataset([f"deep/{Path(numbers).name}"]).count_rows()
    with pytest.raises(FileNotFoundError):
        sh.dataset("")
    with pytest.raises(sh.NotAShardError):
        sh.dataset(b"deep")
    for source in ([b"deep"], 7):
        with pytest.raises(TypeError, match="path|iterable"):
            sh.dataset(source)


def test_metrics_tell_of_the_last_scan(numbers: str) -> None:
    dataset = sh.dataset(numbers)
    assert dataset.metrics() is None
    dataset.to_table(filter=pc.field("id") == 5_000)
    metrics = dataset.metrics()
    assert metrics.skipped_by_statistics == 9_000 and metrics.rows_matched == 1
