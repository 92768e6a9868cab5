"""Shards as tables of DataFusion's Python package."""

from __future__ import annotations

import errno
from pathlib import Path

import arrow_shard as sh
import pyarrow as pa
import pyarrow.compute as pc
import pytest

datafusion = pytest.importorskip("datafusion")

if not hasattr(sh.ShardFile, "__datafusion_table_provider__"):
    pytest.skip("built without DataFusion", allow_module_level=True)


def answer(query: str, **tables: object) -> list[dict[str, object]]:
    context = datafusion.SessionContext()
    for name, table in tables.items():
        context.register_table(name, table)
    return pa.Table.from_batches(context.sql(query).collect()).to_pylist()  # type: ignore[no-any-return]


QUERIES = [
    "select count(*) as n from t",
    "select count(*) as n, sum(id) as s from t where id >= 9500",
    "select name, count(*) as n from t where half is not null group by name order by name limit 3",
    "select id from t where name like 'name 1%' and id < 50 order by id",
    "select t.inner.x as x from t where t.inner.y = '77'",
    "select a.id from t a join t b on a.id = b.id where b.id in (3, 5) order by a.id",
    "select id, name from t order by id desc limit 4",
    "select upper(name) as u from t where round(half) = 1000 order by 1",
    "select min(id) as a, max(half) as b from t",
    "select id from t order by id limit 5",
]


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_a_table_in_memory(query: str, numbers: str) -> None:
    f = sh.open(numbers)
    context = datafusion.SessionContext()
    context.register_record_batches("t", [pa.table(f).to_batches()])
    expected = pa.Table.from_batches(context.sql(query).collect()).to_pylist()
    for given in (f, sh.dataset(numbers), sh.dataset([numbers])):
        assert answer(query, t=given) == expected


def test_shards_that_differ_in_columns_are_one_table(tmp_path: Path) -> None:
    first = pa.table({"id": [1, 2], "old": ["a", None]})
    second = pa.table({"new": [0.5, 1.5], "id": [3, 1 << 40]})
    paths = [str(tmp_path / "1.amudai.shard"), str(tmp_path / "2.amudai.shard")]
    sh.write(first, paths[0])
    sh.write(second, paths[1])
    expected = [
        {"id": 1, "old": "a", "new": None},
        {"id": 2, "old": None, "new": None},
        {"id": 3, "old": None, "new": 0.5},
        {"id": 1 << 40, "old": None, "new": 1.5},
    ]
    for given in (sh.open_many(paths), sh.open_many(paths[::-1]), sh.open_many(tmp_path), sh.dataset(tmp_path)):
        assert answer("select id, old, new from t order by id", t=given) == expected
        assert answer("select new from t where id > 2 and old is null order by 1", t=given) == [{"new": 0.5}, {"new": 1.5}]
        assert answer("select max(id) as m, count(old) as o, min(new) as n from t", t=given) == [
            {"m": 1 << 40, "o": 1, "n": 0.5}
        ]


def test_a_limit_without_an_order_ends_the_scan(numbers: str) -> None:
    whole = set(pa.table(sh.open(numbers))["id"].to_pylist())
    for given in (sh.open(numbers), sh.dataset(numbers), sh.dataset([numbers])):
        # SQL does not define which rows come first, so it depends on the partitions.
        ids = [row["id"] for row in answer("select id from t limit 5", t=given)]
        assert len(ids) == len(set(ids)) == 5 and whole.issuperset(ids), ids


def test_filters_reach_the_shard(numbers: str) -> None:
    context = datafusion.SessionContext()
    context.register_table("t", sh.open(numbers))
    plan = context.sql("explain select name from t where id > 9000 and name like '%7' limit 3").collect()
    text = "\n".join(str(row) for batch in plan for row in batch.to_pylist())
    assert "ShardScan" in text and "full_filters=[" in text and "FilterExec" not in text, text


def test_datasets_with_a_filter_are_read_as_those_of_pyarrow(numbers: str) -> None:
    filtered = sh.dataset(numbers).filter(pc.field("id") < 10)
    assert answer("select count(*) as n from t", t=filtered) == [{"n": 10}]
    context = datafusion.SessionContext()
    context.register_dataset("t", sh.dataset(numbers))
    assert context.sql("select id from t where id > 9997").to_arrow_table()["id"].to_pylist() == [9998, 9999]


def test_folders_and_deleted_rows(tmp_path: Path) -> None:
    for i in range(3):
        sh.write(pa.table({"a": range(i * 10, i * 10 + 10)}), tmp_path / f"{i}.amudai.shard")
    (tmp_path / "notes.txt").write_text("no shard")
    sh.delete(tmp_path / "1.amudai.shard", "a < 15")
    assert answer("select count(*) as n, sum(a) as s from t", t=sh.open_many(tmp_path)) == [
        {"n": 25, "s": sum(range(30)) - sum(range(10, 15))}
    ]


def test_shards_that_are_given_several_times_count_each_time(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{i}.amudai.shard") for i in range(2)]
    for i, path in enumerate(paths):
        sh.write(pa.table({"a": range(i * 10, i * 10 + 10), "b": ["x"] * 10}), path, sorting_columns=["a"])
    link = tmp_path / "link.amudai.shard"
    link.symlink_to(paths[0])
    given = [paths[0], paths[0], paths[1], str(link)]
    f = sh.open_many(given)
    queries = {
        "select count(*) as n from t": [{"n": 40}],
        "select count(*) as n, sum(a) as s from t where a >= 8 and b = 'x'": [{"n": 16, "s": 3 * 17 + 145}],
        "select min(a) as a, max(a) as z, count(b) as n from t": [{"a": 0, "z": 19, "n": 40}],
        "select a from t order by a limit 4": [{"a": 0}] * 3 + [{"a": 1}],
        "select a, count(*) as n from t where a in (9, 10) group by a order by a": [{"a": 9, "n": 3}, {"a": 10, "n": 1}],
    }
    for query, rows in queries.items():
        assert answer(query, t=f) == answer(query, t=sh.dataset(given)) == rows, query
    for limit in (25, 45):
        assert len(answer(f"select b from t limit {limit}", t=f)) == min(limit, 40)
    context = datafusion.SessionContext()
    context.register_table("t", f)
    plan = context.sql("explain select b from t where a > 3 limit 3").collect()
    text = "\n".join(str(row) for batch in plan for row in batch.to_pylist())
    assert "ShardScan" in text and "full_filters=[" in text and "FilterExec" not in text, text


def test_objects_that_are_given_several_times_count_each_time() -> None:
    memory = sh.store.MemoryStore()
    for i in range(2):
        sh.write(pa.table({"a": [i, i]}), f"{i}.amudai.shard", store=memory)
    f = sh.open_many(["0.amudai.shard", "1.amudai.shard", "1.amudai.shard"], store=memory)
    assert answer("select count(*) as n, sum(a) as s from t", t=f) == [{"n": 6, "s": 4}]
    assert answer("select count(*) as n from t where a = 1", t=f) == [{"n": 4}]


def test_shards_in_stores(numbers: str, bucket: sh.store.S3Store) -> None:
    memory = sh.store.MemoryStore()
    for store in (memory, bucket):
        sh.write(sh.open(numbers), "datafusion/t.amudai.shard", store=store, overwrite=True)
        f = sh.open("datafusion/t.amudai.shard", store=store)
        assert answer("select sum(id) as s from t where id > 9990", t=f) == [{"s": sum(range(9_991, 10_000))}]


def test_errors_say_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "t.amudai.shard"
    sh.write(pa.table({"a": [1]}), path)
    f = sh.open(path)
    path.write_text("no shard at all, but long enough to have a footer of some kind")
    with pytest.raises(sh.NotAShardError, match="t.amudai.shard") as caught:
        answer("select * from t", t=f)
    assert str(caught.value).count("not a shard") == 1
    path.unlink()
    with pytest.raises(FileNotFoundError, match="t.amudai.shard") as missing:
        answer("select * from t", t=f)
    assert missing.value.errno == errno.ENOENT


def test_objects_that_are_gone_are_not_found(tmp_path: Path) -> None:
    store = sh.store.LocalStore(str(tmp_path))
    sh.write(pa.table({"a": [1]}), "t.amudai.shard", store=store)
    f = sh.open("t.amudai.shard", store=store)
    (tmp_path / "t.amudai.shard").unlink()
    with pytest.raises(FileNotFoundError, match="t.amudai.shard"):
        answer("select * from t", t=f)
