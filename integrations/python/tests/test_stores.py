"""Shards in object stores: a local server of S3, memory, and local folders as stores."""

from __future__ import annotations

import urllib.parse
import uuid
from pathlib import Path

import arrow_shard as sh
import pyarrow as pa
import pyarrow.compute as pc
import pytest

TABLE = pa.table({"id": range(5_000), "name": [f"name {i % 100}" for i in range(5_000)]})


@pytest.fixture
def folder() -> str:
    """Returns a unique folder of a bucket."""
    return f"tests/{uuid.uuid4()}"


def check(path: str, store: object) -> None:
    """Checks all operations on a shard in a store."""
    summary = sh.write(TABLE, path, store=store, stripe_rows=1_000)
    assert (summary.rows, summary.stripes) == (5_000, 5)
    with pytest.raises(FileExistsError):
        sh.write(TABLE, path, store=store)
    sh.write(TABLE, path, store=store, overwrite=True, stripe_rows=1_000)
    f = sh.open(path, store=store)
    assert pa.table(f).equals(TABLE)
    assert sum(len(batch) for batch in f.scan(columns=["id"], prefetch=1)) == 5_000
    scan = f.scan(columns=["name"], filter=pc.field("id") >= 4_990, limit=5)
    assert pa.table(scan)["name"].to_pylist() == [f"name {i % 100}" for i in range(4_990, 4_995)]
    metrics = scan.metrics()
    assert metrics is not None and metrics.skipped_by_statistics == 4_000
    assert pa.table(f.scan(filter="name = 'name 7'", columns=["id"])).num_rows == 50
    assert pa.record_batch(f.take([4_999, 0], ["id"]))["id"].to_pylist() == [4_999, 0]
    assert pa.record_batch(f.statistics(["id"])).to_pylist()[0]["id"]["max"] == 4_999
    assert pa.record_batch(f.stripe_statistics()).num_rows == 5 == len(f.stripes)
    assert f.properties == {} and f.sorting_columns == []
    assert f.verify(progress=lambda *done: None).is_sound
    dataset = sh.dataset(path, store=store)
    assert dataset.to_table(filter=pc.field("id") < 3)["id"].to_pylist() == [0, 1, 2]
    with pytest.raises(FileNotFoundError):
        sh.open(f"{path}.nowhere", store=store)
    with pytest.raises(sh.UnknownColumnError):
        f.scan(filter="nowhere = 1")


def check_life(folder: str, store: object) -> None:
    """Checks all changes of shards in a folder of a store."""
    first, second, merged = (f"{folder}/{name}.amudai.shard" for name in ("1", "2", "merged"))
    for path in (first, second):
        sh.write(TABLE.slice(0, 100), path, store=store, layout="two_level")
    assert sh.merge([first, second], merged, store=store).rows == 200
    assert sh.delete(merged, "id < 10", store=store).changed_rows == 20
    assert sh.open(merged, store=store).num_rows == 180
    assert sh.undelete(merged, rows=[0], store=store).changed_rows == 1
    compacted = sh.compact(merged, store=store)
    assert compacted is not None and (compacted.rows, compacted.deleted_rows) == (181, 0)
    assert sh.append(merged, [first], store=store).rows == 281
    names = [name.rsplit("/", 1)[1] for name in sh.list_shards(f"{folder}/", store=store)]
    assert names == ["1.amudai.shard", "2.amudai.shard", "merged.amudai.shard"]
    # The merged shard refers to all data of the first shard, and has a copy of the data of the second one, so the first
    # shard is left out of the table.
    assert sh.open_many(f"{folder}/", store=store).num_rows == 381
    assert sh.dataset([first, second], store=store).count_rows() == 200
    assert sh.dataset(f"{folder}/", store=store).count_rows(filter=pc.field("id") == 50) == 4
    # Young files stay, because another directory may refer to them; here only replaced directories did.
    assert sh.vacuum(folder, store=store) == []
    assert all(name.endswith(".amudai.stripe") for name, _ in sh.vacuum(folder, min_age=0, store=store))
    assert pa.table(sh.open(merged, store=store)).num_rows == 281


def test_a_store_of_s3(bucket: sh.store.S3Store, folder: str) -> None:
    check(f"{folder}/t.amudai.shard", bucket)


def test_a_life_in_s3(bucket: sh.store.S3Store, folder: str) -> None:
    check_life(folder, bucket)


@pytest.mark.usefixtures("s3_environment")
def test_urls_of_s3_and_the_environment(folder: str) -> None:
    check(f"s3://tables/{folder}/t.amudai.shard", None)


@pytest.mark.usefixtures("s3_environment")
def test_a_life_by_urls(folder: str) -> None:
    check_life(f"s3://tables/{folder}", None)


@pytest.mark.usefixtures("s3_environment")
def test_a_write_that_fails_leaves_no_object(folder: str, bucket: sh.store.S3Store) -> None:
    def batches():  # type: ignore[no-untyped-def]
        yield pa.record_batch({"a": range(100_000)})
        raise ZeroDivisionError

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), batches())
    with pytest.raises(ZeroDivisionError):
        sh.write(reader, f"s3://tables/{folder}/t.amudai.shard")
    assert sh.list_shards(folder, store=bucket) == []


def test_memory_and_local_folders_are_stores(tmp_path: Path) -> None:
    memory = sh.store.MemoryStore()
    check("t.amudai.shard", memory)
    check("t.amudai.shard", sh.store.LocalStore(tmp_path))
    assert sh.open(tmp_path / "t.amudai.shard").num_rows == 5_000
    assert sh.dataset("", store=memory).count_rows() == 5_000
    from_url = sh.store.from_url(tmp_path.as_uri())
    assert sh.open("t.amudai.shard", store=from_url).num_rows == 5_000
    with pytest.raises(ValueError, match="no path in a store"):
        sh.open("a//b", store=memory)
    with pytest.raises(TypeError, match="expected a store of `arrow_shard.store`"):
        sh.open("t.amudai.shard", store=5)


def test_keys_with_escapes_are_found(s3: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark escapes values in names of folders, so keys of objects have percent signs. A table cannot refer to several."""
    variables = {"AWS_ENDPOINT": s3, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
                 "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    store = sh.store.S3Store("tables", endpoint=s3, access_key_id="key", secret_access_key="secret",
                             region="us-east-1", client_options={"allow_http": True})
    key = f"{folder}/city={urllib.parse.quote('São 1')}/x.shard"
    sh.write({"n": [1]}, key, store=store)
    assert sh.open(key, store=store).num_rows == sh.open(f"s3://tables/{key.replace('%', '%25')}").num_rows == 1
    sources = [(f"{folder}/", store), (f"s3://tables/{folder}/", None), (f"s3://tables/{folder}/**/*.shard", None)]
    for source, where in sources:
        assert sh.dataset(source, store=where).to_table().to_pydict() == {"n": [1], "city": ["São 1"]}, source
    sh.write({"n": [2]}, f"{folder}/city=x/x.shard", store=store)
    for source, where in sources:
        with pytest.raises(sh.UnsupportedError, match=key):
            sh.dataset(source, store=where)
