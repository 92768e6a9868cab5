"""Tables of many shards: folders, patterns, columns for folders and files, and more shards than descriptors."""

from __future__ import annotations

import datetime
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import arrow_shard as sh
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Writes shards and the same Parquet files into folders of years and days."""
    for year in (2024, 2025):
        for day in ("01", "02"):
            folder = Path(f"year={year}") / f"day={year}-01-{day}"
            table = pa.table({"a": [year, int(day)], "s": [f"{year}", day]})
            for root in ("shards", "parquet"):
                (tmp_path / root / folder).mkdir(parents=True)
            sh.write(table, tmp_path / "shards" / folder / "x.amudai.shard")
            pq.write_table(table, tmp_path / "parquet" / folder / "x.parquet")
    (tmp_path / "shards" / "_hidden").mkdir()
    (tmp_path / "shards" / "_hidden" / "x.amudai.shard").write_text("no shard")
    (tmp_path / "shards" / "year=2024" / "notes.txt").write_text("no shard either, but long enough to be opened as one")
    return tmp_path


def test_folders_are_columns(lake: Path) -> None:
    root = lake / "shards"
    dataset = sh.dataset(root)
    assert dataset.schema.names == ["a", "s", "year", "day"]
    assert dataset.schema.field("year").type == pa.int64() and dataset.schema.field("day").type == pa.date32()
    theirs = pl.scan_parquet(lake / "parquet" / "**/*.parquet", hive_partitioning=True).collect()
    assert pl.DataFrame(dataset.to_table()).equals(theirs)
    assert sh.scan_polars(root).collect().equals(theirs)
    assert duckdb.sql("select a, s, year, day from dataset order by year, day, a desc").fetchall() == duckdb.sql(
        f"select a, s, year, day from read_parquet('{lake}/parquet/**/*.parquet') order by year, day, a desc"
    ).fetchall()
    assert len(dataset.files) == 4 and dataset.files == sorted(dataset.files)
    assert sh.list_shards(root) == [] and sh.list_shards(root, recursive=True) == dataset.files


def test_filters_on_folders_skip_shards(lake: Path) -> None:
    dataset = sh.dataset(lake / "shards")
    assert dataset.count_rows(filter=pc.field("year") == 2025) == 4
    assert dataset.metrics().skipped_by_statistics == 4
    assert duckdb.sql("select sum(a) from dataset where day = '2024-01-02'").fetchall() == [(2026,)]
    assert dataset.metrics().skipped_by_statistics == 6
    lazy = sh.scan_polars(lake / "shards").filter(pl.col("day") == datetime.date(2025, 1, 1), pl.col("a") > 1)
    assert lazy.collect()["a"].to_list() == [2025]
    f = sh.open_many(dataset.files, columns=[("n", [1, 2, None, 4])])
    assert f.scan(filter="n IS NULL").count() == 2 and f.scan(filter="n > 1 AND s = '02'").count() == 2
    assert pa.table(f.scan(columns=["n"]))["n"].to_pylist() == [1, 1, 2, 2, None, None, 4, 4]
    assert pa.record_batch(f.take([7, 4, 0], ["n", "a"]))["n"].to_pylist() == [4, None, 1]
    assert f.verify().is_sound


def test_patterns_and_lists(lake: Path) -> None:
    root = lake / "shards"
    assert sh.dataset(f"{root}/year=2025/**/*.shard").schema.names == ["a", "s", "day"]
    assert sh.dataset(f"{root}/year=*/day=*-02/*").schema.names == ["a", "s", "year", "day"]
    assert sh.dataset(root / "year=202[45]" / "*" / "*.shard").count_rows() == 8
    files = sh.dataset(root).files
    assert sh.dataset(files).schema.names == ["a", "s"]
    assert sh.dataset(files, hive=True).schema.names == ["a", "s", "year", "day"]
    assert sh.dataset([f"{root}/year=2024", f"{root}/year=2025/*/*.shard"]).count_rows() == 8
    assert sh.dataset(root, hive=False).schema.names == ["a", "s"]
    assert sh.dataset(files[0], hive=True).to_table()["year"].to_pylist() == [2024, 2024]
    for none in (f"{root}/*.shard", f"{root}/_hidden/y*"):
        with pytest.raises(sh.InvalidArgumentError, match="pattern .* has no shard"):
            sh.dataset(none)
    odd = root / "a[1].amudai.shard"
    sh.write({"a": [1]}, odd)
    assert sh.dataset(odd).count_rows() == 1


def test_types_of_folders(tmp_path: Path) -> None:
    values = {"i": ["01", "-2"], "f": ["1.5", "-0.5"], "d": ["2024-02-30", "2024-01-01"], "s": ["a%2Fb", "__HIVE_DEFAULT_PARTITION__"]}
    for n in range(2):
        folder = tmp_path.joinpath(*(f"{key}={value[n]}" for key, value in values.items()))
        folder.mkdir(parents=True)
        sh.write({"a": [n]}, folder / "x.amudai.shard")
    table = sh.dataset(tmp_path).to_table().sort_by("a")
    assert table.to_pydict() == {"a": [0, 1], "i": [1, -2], "f": [1.5, -0.5], "d": values["d"], "s": ["a/b", None]}
    typed = sh.dataset(tmp_path, hive={"i": str, "f": float}).to_table().sort_by("a")
    assert typed["i"].to_pylist() == ["01", "-2"]
    with pytest.raises(sh.InvalidArgumentError, match="column 'd'"):
        sh.dataset(tmp_path, hive={"d": datetime.date})
    with pytest.raises(sh.InvalidArgumentError, match="nowhere"):
        sh.dataset(tmp_path, hive={"nowhere": int})
    with pytest.raises(sh.InvalidArgumentError, match="int, float"):
        sh.dataset(tmp_path, hive={"i": list})


def test_shards_in_different_folders_have_no_columns_of_them(lake: Path) -> None:
    root = lake / "shards"
    sh.write({"a": [1]}, root / "top.amudai.shard")
    assert sh.dataset(root).count_rows() == 9 and sh.dataset(root).schema.names == ["a", "s"]
    with pytest.raises(sh.InvalidArgumentError, match="in folders for"):
        sh.dataset(root, hive=True)


def test_stored_columns_take_precedence_over_folders(tmp_path: Path) -> None:
    for year in (1, 2):
        (tmp_path / f"year={year}").mkdir()
        sh.write({"year": [year * 10]}, tmp_path / f"year={year}" / "x.amudai.shard")
    assert sh.dataset(tmp_path).to_table()["year"].to_pylist() == [10, 20]
    with pytest.raises(sh.InvalidArgumentError, match="year"):
        sh.dataset(tmp_path, include_file_paths="year")


def test_hive_demands_folders(tmp_path: Path, cities: str) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    sh.write({"year": [1]}, folder / "x.amudai.shard")
    for source in (cities, folder, str(folder / "*.shard"), [cities]):
        with pytest.raises(sh.InvalidArgumentError, match="in no folder with a name such as"):
            sh.dataset(source, hive=True)
    (folder / "year=2").mkdir()
    (folder / "x.amudai.shard").rename(folder / "year=2" / "x.amudai.shard")
    assert sh.dataset(folder).to_table().to_pydict() == {"year": [1]} == sh.dataset(folder, hive=False).to_table().to_pydict()
    for hive in (True, {"year": str}):
        with pytest.raises(sh.InvalidArgumentError, match="store a column 'year' themselves"):
            sh.dataset(folder, hive=hive)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1.5", "2"], [1.5, 2.0]), (["1", "2"], [1, 2]), (["-3", "0.25"], [-3.0, 0.25]), (["1.5", "x"], ["1.5", "x"]),
        (["1.5", "9007199254740993"], ["1.5", "9007199254740993"]), (["1.5", "__HIVE_DEFAULT_PARTITION__"], [1.5, None]),
    ],
)
def test_numbers_in_names_of_folders(texts: list[str], values: list[Any], tmp_path: Path) -> None:
    for n, text in enumerate(texts):
        (tmp_path / f"x={text}").mkdir()
        sh.write({"n": [n]}, tmp_path / f"x={text}" / "t.amudai.shard")
    found = sh.dataset(tmp_path).to_table().sort_by("n")["x"].to_pylist()
    assert found == values and [type(value) for value in found] == [type(value) for value in values]


HIDDEN = ["a.shard", "_b.shard", ".c.shard", "x/a.shard", "x/_b.shard", "_t/a.shard", ".u/a.shard", "x/_t/y/a.shard"]
PATTERNS = {
    "*.shard": ["a.shard"],
    "[_a]*.shard": ["a.shard"],
    "?*.shard": ["a.shard"],
    "_*.shard": ["_b.shard"],
    ".*.shard": [".c.shard"],
    "**/*.shard": ["a.shard", "x/a.shard"],
    "**": ["a.shard", "x/a.shard"],
    "*/*": ["x/a.shard"],
    "_t/*.shard": ["_t/a.shard"],
    "_*/*": ["_t/a.shard"],
    "**/_t/**/*.shard": ["_t/a.shard", "x/_t/y/a.shard"],
    "**/_b.shard": ["_b.shard", "x/_b.shard"],
    "*//[!b].shard": ["x/a.shard"],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_skip_hidden_names_everywhere(pattern: str, tmp_path: Path) -> None:
    for path in HIDDEN:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        sh.write({"a": [1]}, tmp_path / path)
    assert sh.dataset(f"{tmp_path}/{pattern}").files == sorted(f"{tmp_path}/{path}" for path in PATTERNS[pattern])
    store = sh.store.LocalStore(str(tmp_path.parent))
    source = f"{tmp_path.name}/{pattern}"
    if "_" in pattern.replace("[_a]", "") and not pattern.startswith("_t/") or pattern.startswith(".*"):
        with pytest.raises(sh.InvalidArgumentError, match="only before the first wildcard"):
            sh.dataset(source, store=store)
    else:
        assert sh.dataset(source, store=store).files == sorted(f"{tmp_path.name}/{path}" for path in PATTERNS[pattern])


def test_open_files_are_sources(numbers: str, cities: str) -> None:
    f = sh.open(numbers)
    assert sh.dataset(f).count_rows(filter="id < 7") == 7
    assert sh.scan_polars(f, columns=["id"]).filter(pl.col("id") < 7).collect().height == 7
    connection = duckdb.connect()
    sh.register(connection, "numbers", f)
    assert connection.sql("select count(*) from numbers").fetchall() == [(10_000,)]
    assert sh.dataset([f, sh.open(numbers)]).count_rows() == 20_000
    assert sh.scan_polars([f, numbers], include_file_paths="file").collect()["file"].unique().to_list() == [numbers]
    for options in ({"hive": True}, {"include_file_paths": "file"}, {"unify": "widen"}):
        with pytest.raises(sh.InvalidArgumentError, match="pass its path"):
            sh.dataset(f, **options)
    for other in (sh.open(Path(cities).read_bytes()), sh.open_many([cities, numbers])):
        with pytest.raises(sh.InvalidArgumentError, match="pass its paths"):
            sh.dataset([other])
        assert sh.dataset(other).count_rows() == other.num_rows
    f.close()
    with pytest.raises(ValueError, match="closed"):
        sh.dataset(f).to_table()
    with pytest.raises(TypeError, match="memory is a table alone") as error:
        sh.dataset([Path(numbers).read_bytes()])
    assert len(str(error.value)) < 200


def test_rows_know_their_files(lake: Path, cities: str) -> None:
    root = lake / "shards"
    dataset = sh.dataset(root, include_file_paths="from")
    assert dataset.schema.names[-1] == "from"
    assert dataset.to_table()["from"].to_pylist() == [path for path in dataset.files for _ in range(2)]
    lazy = sh.scan_polars(root, include_file_paths="from")
    assert lazy.filter(pl.col("from").str.ends_with("day=2025-01-02/x.amudai.shard")).collect().height == 2
    assert [fragment.path for fragment in dataset.get_fragments()] == dataset.files
    assert sh.dataset(cities, include_file_paths="from").to_table()["from"].to_pylist() == [cities] * 2
    with pytest.raises(sh.InvalidArgumentError, match="in memory"):
        sh.dataset(Path(cities).read_bytes(), include_file_paths="from")


def test_folders_without_shards_are_tables_without_rows(tmp_path: Path) -> None:
    schema = pa.schema({"a": pa.int8(), "t": pa.timestamp("us", "UTC")})
    with pytest.raises(sh.InvalidArgumentError, match="has no shard; pass `schema`"):
        sh.dataset(tmp_path)
    dataset = sh.dataset(tmp_path, schema=schema)
    assert dataset.schema == schema and dataset.to_table().num_rows == 0 == dataset.count_rows()
    assert duckdb.sql("select count(*) from dataset where a > 5").fetchall() == [(0,)]
    lazy = sh.scan_polars(tmp_path, schema=schema)
    assert lazy.filter(pl.col("a") > 1).collect().schema == pl.Schema(schema)
    for same in ({"a": pl.Int8, "t": pl.Datetime("us", "UTC")}, [("a", pl.Int8()), ("t", pl.Datetime("us", "UTC"))]):
        assert sh.scan_polars(tmp_path, schema=same).collect_schema() == pl.Schema(schema)
    with pytest.raises(TypeError, match="schema of pyarrow or polars"):
        sh.scan_polars(tmp_path, schema={"a": 5})
    hive = {"year": int, "day": datetime.date, "x": float, "s": str}
    lazy = sh.scan_polars(tmp_path, schema=schema, hive=hive, include_file_paths="file")
    assert lazy.select("file", "year").collect().schema == {"file": pl.String, "year": pl.Int64}
    assert lazy.collect_schema().names() == ["a", "t", "year", "day", "x", "s", "file"]
    whole = sh.dataset(tmp_path, schema=pa.schema([*schema, ("year", pa.int64())]), hive={"year": int})
    assert whole.schema.names == ["a", "t", "year"]
    with pytest.raises(sh.InvalidArgumentError, match="int, float"):
        sh.dataset(tmp_path, schema=schema, hive={"year": list})
    sh.write({"b": [1]}, tmp_path / "t.amudai.shard")
    assert sh.dataset(tmp_path, schema=schema).schema.names == ["b"]


def test_stores_have_folders_and_patterns_too(bucket: sh.store.S3Store, s3_environment: None) -> None:
    for year in (2024, 2025):
        sh.write({"a": [year]}, f"lake/year={year}/x.amudai.shard", store=bucket, overwrite=True)
    for source, store in (("lake/", bucket), ("s3://tables/lake/", None)):
        dataset = sh.dataset(source, store=store)
        assert dataset.to_table().sort_by("a").to_pydict() == {"a": [2024, 2025], "year": [2024, 2025]}
    assert sh.dataset("lake/**/*.shard", store=bucket).count_rows() == 2
    assert sh.dataset("s3://tables/lake/year=2025/*.shard").to_table()["a"].to_pylist() == [2025]
    lazy = sh.scan_polars("s3://tables/lake/*/x*.shard").filter(pl.col("year") > 2024)
    assert lazy.collect().to_dicts() == [{"a": 2025, "year": 2025}]


def test_contained_shards_are_left_out_of_trees(tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    paths = [str(tmp_path / "days" / f"{n}.amudai.shard") for n in range(3)]
    for n, path in enumerate(paths):
        sh.write({"a": [n, n + 10, n + 5]}, path)
    sh.merge(paths[:2], tmp_path / "two.amudai.shard")
    with pytest.warns(UserWarning, match="left out"):
        dataset = sh.dataset(tmp_path, include_file_paths="from")
    assert dataset.to_table()["a"].to_pylist() == [2, 12, 7, 0, 10, 5, 1, 11, 6]
    names = [Path(path).name for path in dataset.to_table()["from"].to_pylist()]
    assert names == ["2.amudai.shard"] * 3 + ["two.amudai.shard"] * 6


def test_duckdb_gets_tables_by_name(lake: Path) -> None:
    connection = duckdb.connect()
    sh.register(connection, "lake", lake / "shards")
    assert connection.sql("select year, count(*) from lake group by year order by year").fetchall() == [
        (2024, 4), (2025, 4)
    ]
    sh.register(connection, "lake", sh.dataset(lake / "shards").filter("a > 2000"))
    assert connection.sql("select count(*) from lake").fetchall() == [(4,)]
    with pytest.raises(TypeError, match="hive"):
        sh.register(connection, "lake", sh.dataset(lake / "shards"), hive=True)


def test_there_may_be_more_shards_than_descriptors(tmp_path: Path) -> None:
    script = """
    import resource, sys
    import arrow_shard as sh, polars as pl, pyarrow as pa
    folder = sys.argv[1]
    for i in range(80):
        sh.write({"i": [i]}, f"{folder}/{i:03}.amudai.shard", profile="plain")
    pl.DataFrame({"a": [1]}).lazy().collect()
    pa.table(sh.open(f"{folder}/000.amudai.shard"))
    import os
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, used + 20))
    assert sh.dataset(folder).to_table()["i"].to_pylist() == list(range(80))
    assert sh.scan_polars(folder, include_file_paths="from").filter(pl.col("i") > 70).collect().height == 9
    assert sh.merge([f"{folder}/{i:03}.amudai.shard" for i in range(80)], f"{folder}/all.shard").rows == 80
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(tmp_path)], check=True, timeout=300)


def test_datafusion_opens_only_what_is_in_files(lake: Path, cities: str) -> None:
    """It would find neither the columns of folders nor shards in memory; it reads these as datasets of pyarrow."""
    provider = "__datafusion_table_provider__"
    for dataset in (sh.dataset(lake / "shards"), sh.dataset(Path(cities).read_bytes())):
        assert not hasattr(dataset, provider)
    assert hasattr(sh.dataset(cities), provider) == hasattr(sh.ShardFile, provider)


def test_pyarrow_agrees_about_hive_columns(lake: Path) -> None:
    theirs = ds.dataset(lake / "parquet", partitioning="hive").to_table()
    ours = sh.dataset(lake / "shards").to_table()
    assert ours["a"].to_pylist() == theirs["a"].to_pylist() and ours["year"].to_pylist() == theirs["year"].to_pylist()


def test_unify_widens_types(tmp_path: Path) -> None:
    day = datetime.date(2026, 1, 1)
    noon = datetime.datetime(2026, 1, 2, 12, 0)
    tables = [
        pa.table({"n": pa.array([1, None], pa.int32()), "t": pa.nulls(2), "d": pa.array([day, None])}),
        pa.table({"n": [2.5, 7.0], "t": ["x", None], "d": pa.array([noon, None], pa.timestamp("us"))}),
        pa.table({"n": pa.array([3, 4], pa.int64()), "t": ["y", "z"], "d": pa.nulls(2)}),
    ]
    for i, table in enumerate(tables):
        sh.write(table, tmp_path / f"{i}.amudai.shard")
    for call in (sh.dataset, sh.scan_polars, sh.open_many):
        with pytest.raises(sh.SchemaMismatchError, match=r"0\.amudai.*`unify`|`unify`.*0\.amudai"):
            call(tmp_path)
    with pytest.raises(sh.InvalidArgumentError, match="strict"):
        sh.dataset(tmp_path, unify="other")  # type: ignore[arg-type]
    with pytest.raises(sh.InvalidArgumentError, match="strict"):
        sh.open_many(tmp_path, unify="other")  # type: ignore[arg-type]

    dataset = sh.dataset(tmp_path, unify="widen")
    schema = pa.schema([("n", pa.float64()), ("t", pa.string()), ("d", pa.timestamp("us"))])
    assert dataset.schema.equals(schema)
    midnight = datetime.datetime(2026, 1, 1)
    rows = {
        "n": [1.0, None, 2.5, 7.0, 3.0, 4.0],
        "t": [None, None, "x", None, "y", "z"],
        "d": [midnight, None, noon, None, None, None],
    }
    assert dataset.to_table().to_pydict() == rows
    assert pickle.loads(pickle.dumps(dataset)).to_table().to_pydict() == rows
    lazy = sh.scan_polars(tmp_path, unify="widen")
    frame = pl.DataFrame(pa.table(rows, schema=schema))
    assert lazy.collect().equals(frame)
    assert pa.table(sh.open_many(tmp_path, unify="widen").scan()).to_pydict() == rows
    paths = sorted(tmp_path.iterdir())
    assert sh.dataset(paths, unify="widen", include_file_paths="from").to_table().num_columns == 4
    assert dataset.take([4, 0], ["n"])["n"].to_pylist() == [3.0, 1.0]

    for condition in (
        pl.col("n") == 3, pl.col("n") < 2.75, pl.col("n") != 7.0, pl.col("n").is_null(), pl.col("t") == "y",
        pl.col("n").is_in([1.0, 2.5, 4.0]), pl.col("t").is_null(), pl.col("d") > midnight, pl.col("d") <= midnight,
    ):
        assert lazy.filter(condition).collect().equals(frame.filter(condition)), condition
    for where in ("n = 3", "n < 2.75", "n <> 7", "n IS NULL", "n IN (1, 2.5, 4)", "t LIKE 'y%'", "t IS NOT NULL",
                  "d > '2026-01-01'"):
        ours = dataset.to_table(filter=where).to_pydict()
        widened = pa.table(rows, schema=schema)
        theirs = duckdb.sql(f"select * from widened where {where}").to_arrow_table().to_pydict()
        assert ours == theirs, where
        assert duckdb.sql(f"select * from dataset where {where}").to_arrow_table().to_pydict() == theirs, where


def test_values_that_a_wider_type_does_not_hold_are_errors(tmp_path: Path) -> None:
    sh.write({"n": [0.5]}, tmp_path / "floats.amudai.shard")
    sh.write({"n": [1, 2**53 + 1]}, tmp_path / "integers.amudai.shard")
    dataset = sh.dataset(tmp_path, unify="widen")
    with pytest.raises(sh.ValueOutOfRangeError, match="integers.amudai.shard") as error:
        dataset.to_table()
    assert "`n`" in str(error.value) and str(2**53 + 1) in str(error.value)
    assert dataset.to_table(filter="n < 1").num_rows == 1
    sh.write({"n": ["text"]}, tmp_path / "texts.amudai.shard")
    with pytest.raises(sh.SchemaMismatchError, match="no type holds the values of both"):
        sh.dataset(tmp_path, unify="widen")


def test_names_of_folders_may_have_characters_of_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "run[1]" / "env=prod"
    for year in (1, 2):
        below = here / "days" / f"year={year}" / "deep"
        below.mkdir(parents=True)
        sh.write({"a": [year]}, below / "x.shard")
    monkeypatch.chdir(here)
    sources = ["days", "./days", "../env=prod/days", "days/**/*.shard", "./days/**/**/*.shard", "days/*/deep/x.shard"]
    for source in [*sources, f"file://{here}/days/".replace("[", "%5B")]:
        table = sh.dataset(source).to_table()
        assert table.to_pydict() == {"a": [1, 2], "year": [1, 2]}, source
    assert sh.dataset(["days/year=1", "days/year=2/deep/x.shard"]).to_table().to_pydict() == {"a": [1, 2]}
    (tmp_path / "run[1]").rename(tmp_path / "run")
    assert sh.dataset(f"file://{tmp_path}/run/env=prod/days/**/*.shard").count_rows() == 2
    monkeypatch.chdir(tmp_path / "run" / "env=prod")
    with pytest.raises(sh.InvalidArgumentError, match="folders that the source names do not count"):
        sh.dataset("days/year=1", hive=True)


def test_a_type_of_a_folder_holds_without_values(tmp_path: Path) -> None:
    folder = tmp_path / "year=__HIVE_DEFAULT_PARTITION__"
    folder.mkdir()
    sh.write({"a": [1]}, folder / "x.shard")
    for kind, arrow in ((int, pa.int64()), (float, pa.float64()), (datetime.date, pa.date32()), (str, pa.string())):
        dataset = sh.dataset(tmp_path, hive={"year": kind})
        assert dataset.schema.field("year").type == arrow and dataset.to_table()["year"].to_pylist() == [None]
        assert pickle.loads(pickle.dumps(dataset)).schema == dataset.schema
