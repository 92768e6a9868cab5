"""Compares arrow-shard-lance with pylance, both ways.

    python tests/pylance.py check PROGRAM    files and datasets of pylance become shards; Lance files of PROGRAM are read
    python tests/pylance.py speed PROGRAM    prints the times of conversions, next to the times of pylance
    python tests/pylance.py golden FOLDER    writes the datasets in tests/data that the tests in Rust read
"""

from __future__ import annotations

import datetime
import decimal
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

VERSIONS = ("2.0", "2.1", "2.2")


def run(program: str, *args: object) -> None:
    subprocess.run([program, *map(str, args)], check=True)


def table(rows: int) -> pa.Table:
    """Plain and nested columns that every version of Lance holds, with nulls."""
    generator = random.Random(rows)
    start = datetime.datetime(2024, 1, 31)

    def some(value: object) -> object:
        return None if generator.random() < 0.1 else value

    number = pa.field("number", pa.float64(), metadata={"unit": "m"})
    columns = {
        "id": pa.array(range(rows), pa.int64()),
        "text": pa.array([some(f"text {generator.randrange(50)}") for _ in range(rows)]),
        "large": pa.array([some("x" * generator.randrange(100)) for _ in range(rows)], pa.large_string()),
        "bytes": pa.array([some(generator.randbytes(generator.randrange(30))) for _ in range(rows)]),
        "number": pa.array([some(generator.gauss(0, 1)) for _ in range(rows)], pa.float64()),
        "bit": pa.array([some(generator.random() < 0.5) for _ in range(rows)]),
        "small": pa.array([some(generator.randrange(100)) for _ in range(rows)], pa.int8()),
        "time": pa.array([some(start + datetime.timedelta(seconds=i)) for i in range(rows)], pa.timestamp("us", "UTC")),
        "price": pa.array([some(decimal.Decimal(i) / 100) for i in range(rows)], pa.decimal128(20, 2)),
        "vector": pa.array([[float(i), 0.5] for i in range(rows)], pa.list_(pa.float32(), 2)),
        "list": pa.array([some([some(j) for j in range(i % 5)]) for i in range(rows)], pa.list_(pa.int32())),
        "point": pa.array([{"x": i, "y": some(f"y{i}")} for i in range(rows)]),
        "code": pa.array([some("abc"[i % 3]) for i in range(rows)]).dictionary_encode(),
    }
    made = pa.table(columns)
    fields = [number if field.name == "number" else field for field in made.schema]
    return made.cast(pa.schema(fields, metadata={"of": "the table"}))


def newer(rows: int) -> pa.Table:
    """Columns that version 2.2 holds."""
    structs = [None if i % 4 == 1 else {"x": i} for i in range(rows)]
    maps = [None if i % 5 == 2 else [(f"k{j}", j) for j in range(i % 3)] for i in range(rows)]
    blob = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    blobs = pa.array([bytes([i % 256]) * (i % 1000) for i in range(rows)], pa.large_binary())
    made = pa.table({
        "struct": pa.array(structs, pa.struct({"x": pa.int32()})),
        "map": pa.array(maps, pa.map_(pa.string(), pa.int32())),
        "list of structs": pa.array([[one] * (i % 3) for i, one in enumerate(structs)]),
    })
    return made.append_column(blob, blobs)


def write_file(path: Path, content: pa.Table, version: str) -> None:
    with LanceFileWriter(str(path), content.schema, version=version) as writer:
        for batch in content.to_batches(max_chunksize=1000):
            writer.write_batch(batch)


def read_file(path: Path) -> pa.Table:
    return LanceFileReader(str(path)).read_all(batch_size=8192).to_table()


def same(found: pa.Table, wanted: pa.Table, what: str) -> None:
    assert found.schema.equals(wanted.schema, check_metadata=True), f"{what}: {found.schema} != {wanted.schema}"
    for name in wanted.column_names:
        mine, theirs = found[name], wanted[name]
        if pa.types.is_dictionary(theirs.type):
            mine, theirs = mine.cast(theirs.type.value_type), theirs.cast(theirs.type.value_type)
        assert mine.equals(theirs) or mine.to_pylist() == theirs.to_pylist(), f"{what}: column {name}"


def check_files(program: str, folder: Path) -> int:
    """pylance -> shard -> Lance -> pylance."""
    count = 0
    for version in VERSIONS:
        for rows in (0, 1, 5_000):
            tables = [table(rows)]
            if version == "2.2":
                tables.append(newer(rows))
            for content in tables:
                theirs, shard, ours = folder / "theirs.lance", folder / "t.amudai.shard", folder / "ours.lance"
                write_file(theirs, content, version)
                run(program, "convert", "--quiet", "--force", theirs, shard)
                run(program, "convert", "--quiet", "--force", "--lance-version", version, shard, ours)
                same(read_file(ours), read_file(theirs), f"{version}, {rows} rows")
                same(read_file(ours), content, f"{version}, {rows} rows, what was written")
                count += 1
    return count


def datasets(folder: Path, version: str, rows: int = 1_000) -> dict[str, Path]:
    """Datasets with everything that changes them."""
    made = {}

    def new(name: str) -> str:
        made[name] = folder / f"{name}.lance"
        return str(made[name])

    def dataset(name: str) -> lance.LanceDataset:
        return lance.write_dataset(table(rows), new(name), data_storage_version=version, max_rows_per_file=rows * 3 // 10)

    dataset("plain")
    dataset("deleted").delete("id % 3 = 1 OR id BETWEEN 500 AND 700")
    # A fragment without rows, and a list of deleted rows as a bitmap.
    dataset("deleted fragment").delete(f"id < {rows * 3 // 10} OR id % 2 = 0")
    one = dataset("columns")
    one.add_columns({"twice": "id * 2", "text again": "text"})
    one.drop_columns(["bytes", "text"])
    one.alter_columns({"path": "number", "name": "amount"})
    lance.write_dataset(one.to_table(), new("columns"), mode="append")
    one = lance.dataset(new("columns"))
    one.add_columns(pa.field("empty", pa.int32()))
    one = dataset("appended")
    lance.write_dataset(table(7), new("appended"), mode="append")
    lance.dataset(new("appended")).delete("id = 3")
    dataset("none").delete("true")
    lance.write_dataset(table(5).slice(0, 0), new("empty"), data_storage_version=version)
    dataset("versions").delete("id > 10")
    dataset("updated").update({"text": "'new'", "small": "7"}, where="id % 5 = 0")
    changes = pa.table({"id": pa.array([3, 4, rows - 1], pa.int64()), "small": pa.array([1, None, 2], pa.int8())})
    dataset("merged").merge_insert("id").when_matched_update_all().execute(changes)
    one = dataset("compacted")
    one.delete("id % 2 = 0")
    one.optimize.compact_files(materialize_deletions_threshold=0.1)
    one = lance.write_dataset(table(rows), new("stable ids"), data_storage_version=version, enable_stable_row_ids=True)
    one.delete("id < 7")
    one = dataset("cloned")
    one.delete("id % 3 = 0")
    one.shallow_clone(str(folder / "clone.lance"), one.version)
    made["clone"] = folder / "clone.lance"
    # A member of a struct that was added later, and one that was removed.
    one = dataset("members")
    one.drop_columns(["point.y"])
    lance.write_dataset(one.to_table(), new("members"), mode="append")
    return made


def check_refused(program: str, folder: Path) -> None:
    """Unsupported datasets end as errors with a reason."""
    blob = lance.blob_field("blob", nullable=True)
    blobs = pa.table([lance.blob_array([b"abc", None])], pa.schema([blob]))
    lance.write_dataset(blobs, folder / "blobs.lance", data_storage_version="2.2")
    lance.write_dataset(table(3).select(["id"]), folder / "old.lance", data_storage_version="legacy")
    for name, reason in (("blobs", "column `blob`: it holds blobs of version 2"), ("old", "of Lance version 0.1")):
        args = [program, "convert", str(folder / f"{name}.lance"), str(folder / f"{name}.amudai.shard")]
        done = subprocess.run(args, capture_output=True, text=True)
        assert done.returncode == 1 and reason in done.stderr, done.stderr
        assert not (folder / f"{name}.amudai.shard").exists()


def check_blobs(program: str, folder: Path) -> None:
    """Blobs of a dataset, which pylance shows as positions and sizes, are bytes in a shard."""
    for version in VERSIONS[:2]:
        content = newer(50).select(["blob"])
        path, shard, ours = folder / f"blob {version}.lance", folder / "b.amudai.shard", folder / "b.lance"
        lance.write_dataset(content, path, data_storage_version=version)
        run(program, "convert", "--quiet", "--force", path, shard)
        run(program, "convert", "--quiet", "--force", "--lance-version", version, shard, ours)
        same(read_file(ours), content, f"blobs, {version}")


def check_datasets(program: str, folder: Path) -> int:
    """Dataset of pylance -> shard -> Lance -> pylance."""
    count = 0
    for version in VERSIONS:
        below = folder / version
        below.mkdir()
        for name, path in datasets(below, version).items():
            shard, ours = folder / "t.amudai.shard", folder / "ours.lance"
            run(program, "convert", "--quiet", "--force", path, shard)
            run(program, "convert", "--quiet", "--force", "--lance-version", version, shard, ours)
            same(read_file(ours), lance.dataset(str(path)).to_table(), f"dataset {name}, {version}")
            count += 1
        run(program, "convert", "--quiet", "--force", "--dataset-version", 1, below / "versions.lance", shard)
        run(program, "convert", "--quiet", "--force", "--lance-version", version, shard, ours)
        same(read_file(ours), lance.dataset(str(below / "versions.lance"), version=1).to_table(), f"version 1, {version}")
    return count


def check(program: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = check_files(program, Path(folder))
        found = check_datasets(program, Path(folder))
        check_refused(program, Path(folder))
        check_blobs(program, Path(folder))
        print(f"{files} files and {found} datasets of pylance are the same after a shard and a file of ours")


def golden(target: Path) -> None:
    """Writes some datasets, and their rows as Arrow IPC files."""
    names = ("deleted", "deleted fragment", "columns", "members", "versions")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        made = datasets(Path(folder), "2.1", 40)
        for name in names:
            content = lance.dataset(str(made[name])).to_table()
            ignored = shutil.ignore_patterns("_transactions")
            shutil.copytree(made[name], target / f"{name}.lance".replace(" ", "-"), ignore=ignored)
            path = str(target / f"{name}.arrow".replace(" ", "-"))
            with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, content.schema) as file:
                for batch in content.unify_dictionaries().to_batches():
                    file.write_batch(batch)


def speed(program: str) -> None:
    rows = 2_000_000
    generator = random.Random(1)
    content = pa.table({
        "id": pa.array(range(rows), pa.int64()),
        "number": pa.array([generator.gauss(0, 1) for _ in range(rows)]),
        "text": pa.array([f"value {generator.randrange(100_000)}" for _ in range(rows)]),
        "code": pa.array([generator.randrange(20) for _ in range(rows)], pa.int32()),
    })
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, shard, back = folder / "t.lance", folder / "t.amudai.shard", folder / "back.lance"
        write_file(source, content, "2.2")

        def timed(what: str, work: object) -> float:
            best = min(one(work) for _ in range(3))
            print(f"{what}: {best:.2f} s, {content.nbytes / best / 1e6:.0f} MB/s")
            return best

        def one(work: object) -> float:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start

        def copy() -> None:
            reader = LanceFileReader(str(source))
            with LanceFileWriter(str(back), content.schema, version="2.2") as writer:
                for batch in reader.read_all(batch_size=8192).to_batches():
                    writer.write_batch(batch)

        print(f"{rows} rows, {content.nbytes / 1e6:.0f} MB in Arrow, {source.stat().st_size / 1e6:.0f} MB as Lance")
        timed("pylance reads", lambda: [0 for _ in LanceFileReader(str(source)).read_all(batch_size=8192).to_batches()])
        timed("pylance copies to Lance", copy)
        timed("Lance to a shard", lambda: run(program, "convert", "--quiet", "--force", source, shard))
        timed("Lance to a shard, fast", lambda: run(program, "convert", "--quiet", "--force", "--profile", "fast", source, shard))
        timed("a shard to Lance", lambda: run(program, "convert", "--quiet", "--force", shard, back))
        print(f"{shard.stat().st_size / 1e6:.0f} MB as a shard")


if __name__ == "__main__":
    what, argument = sys.argv[1:]
    {"check": check, "speed": speed, "golden": lambda path: golden(Path(path))}[what](argument)
