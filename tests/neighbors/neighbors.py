"""pyarrow, DuckDB and polars read the same data from files of arrow-shard as from the original.

    neighbors.py ARROW_SHARD

ARROW_SHARD is the program. Exits with 1 if there are differences, and prints them.
"""

import datetime
import decimal
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet

PROGRAM = Path(sys.argv[1]).resolve()
ROWS = 1000
UTC = datetime.timezone.utc


def table() -> pyarrow.Table:
    """Returns a table of all types that the three libraries support, with nulls."""

    def column(kind, value):
        return pyarrow.array([None if i % 7 == 3 else value(i) for i in range(ROWS)], kind)

    day = datetime.date(1999, 12, 25)
    instant = datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)
    columns = {
        "flag": column(pyarrow.bool_(), lambda i: i % 3 == 0),
        "small": column(pyarrow.int8(), lambda i: i % 100 - 50),
        "number": column(pyarrow.int64(), lambda i: i * 10**15 - 7),
        "unsigned": column(pyarrow.uint64(), lambda i: 2**64 - 1 - i),
        "single": column(pyarrow.float32(), lambda i: i / 8),
        "double": column(pyarrow.float64(), lambda i: i / 3),
        "text": column(pyarrow.string(), lambda i: ["", "a,b", 'c "d"', "ä\nö"][i % 4] + str(i)),
        "bytes": column(pyarrow.binary(), lambda i: bytes([i % 256, 255])),
        "day": column(pyarrow.date32(), lambda i: day + datetime.timedelta(i)),
        "seconds": column(pyarrow.timestamp("s"), lambda i: 10**9 + i),
        "instant": column(
            pyarrow.timestamp("us", "UTC"), lambda i: instant + datetime.timedelta(microseconds=i)
        ),
        "clock": column(pyarrow.time32("s"), lambda i: i),
        "price": column(pyarrow.decimal128(20, 3), lambda i: decimal.Decimal(i - 500) / 8 * 1),
        "list": column(pyarrow.list_(pyarrow.int32()), lambda i: [i, None][: i % 3]),
        "point": column(
            pyarrow.struct([("x", pyarrow.int64()), ("y", pyarrow.string())]),
            lambda i: {"x": i, "y": None if i % 2 else "y"},
        ),
        "word": pyarrow.array([f"w{i % 5}" for i in range(ROWS)]).dictionary_encode(),
    }
    return pyarrow.table(columns).replace_schema_metadata({"origin": "sensor 7"})


def convert(*arguments) -> None:
    subprocess.run([PROGRAM, "convert", "--quiet", "--force", *map(str, arguments)], check=True)


FAILURES = []


def same(what: str, found, wanted) -> None:
    """Records a difference."""
    if found != wanted:
        FAILURES.append(f"{what}\n  found  {found!r:.600}\n  wanted {wanted!r:.600}")


def duck(query: str):
    """Returns the types and rows of a query in DuckDB."""
    result = duckdb.sql(query)
    return [str(kind) for kind in result.types], result.fetchall()


def frame(data: polars.DataFrame):
    """Returns the types and rows of a polars data frame."""
    return data.schema, data.rows()


def parquet(folder: Path) -> None:
    original, copy = folder / "original.parquet", folder / "copy.parquet"
    ours, theirs = pyarrow.parquet.read_table(copy), pyarrow.parquet.read_table(original)
    same("pyarrow, types of Parquet", ours.schema, theirs.schema)
    same("pyarrow, values of Parquet", ours.to_pylist(), theirs.to_pylist())
    metadata = [pyarrow.parquet.read_metadata(path).metadata[b"origin"] for path in (copy, original)]
    same("metadata of Parquet", *metadata)
    same("DuckDB, Parquet", *(duck(f"from '{path}'") for path in (copy, original)))
    same("polars, Parquet", *(frame(polars.read_parquet(path)) for path in (copy, original)))


def ipc(folder: Path, original: pyarrow.Table) -> None:
    with pyarrow.ipc.open_file(folder / "copy.arrow") as reader:
        ours = reader.read_all()
    same("pyarrow, types of IPC", ours.schema, original.schema)
    same("pyarrow, values of IPC", ours.to_pylist(), original.to_pylist())
    with pyarrow.ipc.open_stream(folder / "copy.arrows") as reader:
        same("pyarrow, IPC stream", reader.read_all().to_pylist(), original.to_pylist())
    read = polars.read_ipc(folder / "copy.arrow")
    same("polars, IPC", read.rows(), polars.from_arrow(original).rows())


def dictionaries(folder: Path) -> None:
    """Checks dictionaries that differ between stripes and batches, including nested ones."""
    words = pyarrow.array(["a", "b"] * 3 + ["x", "y"] * 3).dictionary_encode()
    pyarrow.parquet.write_table(pyarrow.table({"word": words}), folder / "words.parquet")
    convert("--stripe-rows", "6", folder / "words.parquet", folder / "words.shard")

    def batch(inner):
        inner = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1], pyarrow.int8()), pyarrow.array(inner))
        lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 1, 2], pyarrow.int32()), inner)
        keys = pyarrow.array([0, 1, 0], pyarrow.int8())
        return pyarrow.record_batch({"nested": pyarrow.DictionaryArray.from_arrays(keys, lists)})

    nested = [batch(["a", "b"]), batch(["x", "y"])]
    with pyarrow.ipc.new_stream(folder / "nested.arrows", nested[0].schema) as writer:
        for some in nested:
            writer.write_batch(some)
    convert("--stripe-rows", "3", folder / "nested.arrows", folder / "nested.shard")
    convert(folder / "nested.arrows", folder / "direct.arrow")
    for name in ("words", "nested"):
        for suffix in ("arrow", "arrows"):
            convert(folder / f"{name}.shard", folder / f"{name}-copy.{suffix}")
    wanted = {"words": words.to_pylist(), "nested": pyarrow.Table.from_batches(nested)["nested"].to_pylist()}
    for name, values in wanted.items():
        with pyarrow.ipc.open_file(folder / f"{name}-copy.arrow") as reader:
            same(f"pyarrow, dictionaries of IPC, {name}", reader.read_all().column(0).to_pylist(), values)
        with pyarrow.ipc.open_stream(folder / f"{name}-copy.arrows") as reader:
            same(f"pyarrow, dictionaries of IPC streams, {name}", reader.read_all().column(0).to_pylist(), values)
    with pyarrow.ipc.open_file(folder / "direct.arrow") as reader:
        same("pyarrow, IPC without a shard between", reader.read_all().column(0).to_pylist(), wanted["nested"])
    read = polars.read_ipc(folder / "words-copy.arrow")
    same("polars, dictionaries of IPC", read["word"].to_list(), wanted["words"])
    read = polars.scan_ipc(folder / "words-copy.arrow").collect()
    same("polars, a lazy scan of IPC", read["word"].to_list(), wanted["words"])
    read = polars.read_ipc_stream(folder / "words-copy.arrows")
    same("polars, dictionaries of IPC streams", read["word"].to_list(), wanted["words"])


def text(folder: Path, original: pyarrow.Table) -> None:
    """Checks values of text files, read in the types of the original."""
    flat = [name for name in original.column_names if name not in ("bytes", "list", "point")]
    convert("--columns", ",".join(flat), folder / "original.parquet", folder / "flat.csv")
    convert("--columns", ",".join(flat), folder / "original.parquet", folder / "flat.parquet")
    names = ", ".join(f'"{name}"' for name in flat)
    # An empty text and a null look the same in CSV.
    wanted = duck(f"select * replace (nullif(text, '') as text) from '{folder}/flat.parquet'")
    kinds = dict(zip(flat, wanted[0]))
    types = "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in kinds.items()) + "}"
    csv = f"read_csv('{folder}/flat.csv', types = {types}, header = true)"
    same("DuckDB, CSV", duck(f"select {names} from {csv}"), wanted)
    numbers = ["flag", "small", "number", "unsigned", "double", "word"]
    read = polars.read_csv(folder / "flat.csv", columns=numbers, infer_schema_length=None)
    same("polars, CSV", read.rows(), polars.from_arrow(original.select(numbers)).rows())

    named = [name for name in original.column_names if name != "bytes"]
    convert("--columns", ",".join(named), folder / "original.parquet", folder / "copy.ndjson")
    read = polars.read_ndjson(folder / "copy.ndjson", infer_schema_length=None)
    values = ["flag", "small", "number", "double", "text", "list", "point", "word"]
    wanted = polars.from_arrow(original.select(values))
    same("polars, NDJSON", read.select(values).rows(), wanted.rows())
    wanted = duck(f"select flag, number, double, text, point.x, word from '{folder}/copy.parquet'")
    found = duck(f"select flag, number, double, text, point.x, word from '{folder}/copy.ndjson'")
    same("DuckDB, NDJSON", found[1], wanted[1])


def main() -> int:
    original = table()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pyarrow.parquet.write_table(original, folder / "original.parquet")
        convert(folder / "original.parquet", folder / "t.shard")
        for copy in ("copy.parquet", "copy.arrow", "copy.arrows"):
            convert(folder / "t.shard", folder / copy)
        # Parquet has no unit of seconds. pyarrow reads milliseconds; arrow-shard uses the Arrow schema in the file.
        seconds = {name: original.schema.field(name) for name in ("seconds", "clock")}
        original = pyarrow.parquet.read_table(folder / "original.parquet")
        for name, field in seconds.items():
            place = original.schema.get_field_index(name)
            original = original.set_column(place, field, original[name].cast(field.type))
        parquet(folder)
        ipc(folder, original)
        dictionaries(folder)
        text(folder, original)
    for failure in FAILURES:
        print(failure)
    print(f"{len(FAILURES)} differences")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
