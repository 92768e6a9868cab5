"""Shards as tables of DataFusion's Python package."""

from __future__ import annotations

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


def test_a_limit_without_an_order_ends_the_scan(numbers: str) -> None:
    whole = set(pa.table(sh.open(numbers))["id"].to_pylist())
    for given in (sh.open(numbers), sh.dataset(numbers), sh.dataset([numbers])):
        # Which rows come first is for the partitions to say: SQL promises none.
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
    path.unlink()
    with pytest.raises(OSError):
        answer("select * from t", t=f)
