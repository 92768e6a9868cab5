"""Compares the values that pyarrow, polars and nanoarrow read from files and streams of arrow-shard, type by type.

    ipc_matrix.py ARROW_SHARD

ARROW_SHARD is the program. pyarrow must read the schema, the metadata and the values that it wrote itself; polars and
nanoarrow must read the same as pyarrow, or refuse a type as REFUSED says. Exits with 1 if anything differs, a refusal
that has gone included.
"""

import contextlib
import datetime
import decimal
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Errors of polars are panics.
os.environ["RUST_BACKTRACE"] = "0"

import nanoarrow.ipc
import polars
import pyarrow

PROGRAM = Path(sys.argv[1]).resolve()
ROWS = 8
# Two stripes, each with its own dictionaries.
STRIPE_ROWS = 4

# The columns that a library cannot read, and a part of its error. It cannot read them in pyarrow's files either.
REFUSED = {
    "polars": {
        "month_day_nano_interval": "could not import from `month_day_nano_interval`",
        "decimal256(60, 4)": "Int256",
        "list_view": "not yet implemented",
        "large_list_view": "not yet implemented",
        "run_end_encoded": "not yet implemented",
        "run_end_dictionary": "not yet implemented",
        "sparse_union": "Union",
        "dense_union": "Union",
        "fixed_size_list_0": "Cannot read zero sized arrays",
        "fixed_size_binary_0": "expects a positive size",
        "dictionary_of_nothing": "expects a positive size",
    },
    "nanoarrow": {
        "string_view": "Utf8View not yet supported",
        "binary_view": "BinaryView not yet supported",
        "list_view": "ListView/LargeListView not yet supported",
        "large_list_view": "ListView/LargeListView not yet supported",
        "run_end_encoded": "RunEndEncoded not yet supported",
        "run_end_dictionary": "RunEndEncoded not yet supported",
        "fixed_size_binary_0": "NANOARROW_TYPE_FIXED_SIZE_BINARY",
        "dictionary_of_nothing": "NANOARROW_TYPE_FIXED_SIZE_BINARY",
    },
}


def numbers(column) -> None:
    """Adds columns with a single buffer of values."""
    day = datetime.date(1999, 12, 25)
    kinds = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
    for kind in kinds:
        column(kind, getattr(pyarrow, kind)(), lambda i: i * 7)
    column("bool", pyarrow.bool_(), lambda i: i % 3 == 0)
    column("fixed_size_binary", pyarrow.binary(3), lambda i: bytes([i, 0, 255]))
    column("fixed_size_binary_0", pyarrow.binary(0), lambda _: b"")
    column("date32", pyarrow.date32(), lambda i: day + datetime.timedelta(i))
    column("date64", pyarrow.date64(), lambda i: day + datetime.timedelta(i))
    for kind in (pyarrow.time32("s"), pyarrow.time32("ms"), pyarrow.time64("us"), pyarrow.time64("ns")):
        column(str(kind), kind, lambda i: i * 1000)
    for unit in ("s", "ms", "us", "ns"):
        for kind in (pyarrow.timestamp(unit), pyarrow.timestamp(unit, "Europe/Oslo"), pyarrow.duration(unit)):
            column(str(kind), kind, lambda i: i * 1000 - 3000)
    interval = pyarrow.month_day_nano_interval()
    column(str(interval), interval, lambda i: pyarrow.MonthDayNano([i, -i, i * 10**9]))
    for digits, width in ((7, 32), (17, 64), (30, 128), (60, 256)):
        kind = getattr(pyarrow, f"decimal{width}")(digits, 4)
        column(str(kind), kind, lambda i: decimal.Decimal(i - 2))


def texts(column) -> None:
    """Adds columns of texts and bytes."""
    words = ["", "a", "ä\nö", "longer than twelve bytes"]
    for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
        column(str(kind), kind, lambda i: words[i % 4] + str(i))
    for kind in (pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()):
        column(str(kind), kind, lambda i: bytes([i, 255]) * (1 + 9 * (i % 2)))


def nested(column) -> None:
    """Adds nested columns."""
    number, text = pyarrow.int32(), pyarrow.string()
    for kind in ("list_", "large_list", "list_view", "large_list_view"):
        column(kind, getattr(pyarrow, kind)(number), lambda i: [i, None][: i % 3])
    column("fixed_size_list", pyarrow.list_(number, 2), lambda i: [i, None])
    column("fixed_size_list_0", pyarrow.list_(number, 0), lambda _: [])
    point = pyarrow.struct([("x", number), ("y", text)])
    column("struct", point, lambda i: {"x": i, "y": None if i % 2 else "y"})
    column("struct_of_nothing", pyarrow.struct([]), lambda _: {})
    column("map", pyarrow.map_(text, number), lambda i: [("k", i), ("l", None)][: i % 3])
    column("list_of_structs", pyarrow.list_(point), lambda i: [{"x": i, "y": "z"}, None][: i % 3])


def entries(batch: int) -> pyarrow.Array:
    """Returns a dictionary array, with entries in another order in each batch."""
    words = pyarrow.array([["a", "b", "c"], ["c", "x", "a"]][batch])
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2, 0], pyarrow.int8()), words)


def made(batch: int) -> dict:
    """Returns columns that are assembled from arrays."""
    words = entries(batch)
    offsets = pyarrow.array([0, 1, 3, 3, 4], pyarrow.int32())
    lists = pyarrow.ListArray.from_arrays(offsets, words)
    ids = pyarrow.array([5, 7, 5, 7], pyarrow.int8())
    variants = [pyarrow.array([1, None, 3, 4]), pyarrow.array(["u", "v", None, "w"])]
    ends = pyarrow.array([1, 2, 3, 4], pyarrow.int32())
    # Equal entries of the outer dictionary, with other keys of the inner one in each batch.
    turned = [["a", "b"], ["b", "a"]][batch]
    turned = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([turned.index("a"), turned.index("b")], pyarrow.int8()), pyarrow.array(turned)
    )
    turned = pyarrow.ListArray.from_arrays(pyarrow.array([0, 1, 2], pyarrow.int32()), turned)
    keys = pyarrow.array([0, 1, None, 1], pyarrow.int16())
    numbers = pyarrow.array([[10, 20, 30], [10, 30, 20]][batch])
    return {
        "null": pyarrow.nulls(4),
        "dictionary": words,
        "ordered": pyarrow.DictionaryArray.from_arrays(keys, numbers, ordered=True),
        "dictionary_of_nothing": pyarrow.DictionaryArray.from_arrays(
            pyarrow.array([0, None, 1, 0]), pyarrow.array([b"", b""], pyarrow.binary(0))
        ),
        "list_of_dictionaries": lists,
        "dictionary_in_dictionary": pyarrow.DictionaryArray.from_arrays(keys, lists),
        "turned_dictionary": pyarrow.DictionaryArray.from_arrays(keys, turned),
        "struct_of_dictionaries": pyarrow.StructArray.from_arrays([words, words], ["v", "w"]),
        "run_end_encoded": pyarrow.RunEndEncodedArray.from_arrays(
            pyarrow.array([3, 4], pyarrow.int32()), pyarrow.array(["a", None])
        ),
        "run_end_dictionary": pyarrow.RunEndEncodedArray.from_arrays(ends, words),
        "sparse_union": pyarrow.UnionArray.from_sparse(ids, variants, ["i", "s"], [5, 7]),
        "dense_union": pyarrow.UnionArray.from_dense(
            ids, pyarrow.array([0, 0, 1, 3], pyarrow.int32()), variants, ["i", "s"], [5, 7]
        ),
        "uuid": pyarrow.ExtensionArray.from_storage(
            pyarrow.uuid(), pyarrow.array([bytes(range(16))] * 4, pyarrow.binary(16))
        ),
        "json": pyarrow.ExtensionArray.from_storage(pyarrow.json_(), pyarrow.array(['{"a": 1}'] * 4)),
    }


def tables() -> dict:
    """Returns a table for each type, in two batches of one column with nulls; column and table have metadata."""
    columns = {name: [column, made(1)[name]] for name, column in made(0).items()}

    def column(name, kind, value):
        values = pyarrow.array([None if i % 4 == 3 else value(i) for i in range(ROWS)], kind)
        columns[name] = [values[:STRIPE_ROWS], values[STRIPE_ROWS:]]

    for add in (numbers, texts, nested):
        add(column)
    found = {}
    for name, batches in columns.items():
        field = pyarrow.field("c", batches[0].type, metadata={"unit": "m"})
        schema = pyarrow.schema([field], metadata={"origin": "sensor 7"})
        found[name] = [pyarrow.record_batch([batch], schema=schema) for batch in batches]
    return found


FAILURES = []


def note(what: str, found, wanted) -> None:
    FAILURES.append(f"{what}\n  found  {found!s:.600}\n  wanted {wanted!s:.600}")


def convert(*arguments) -> None:
    command = [PROGRAM, "convert", "--quiet", "--force", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, text=True)


@contextlib.contextmanager
def quiet():
    """Suppresses the messages of a library's panics."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def with_pyarrow(path: Path) -> pyarrow.Table:
    if path.suffix == ".arrow":
        with pyarrow.ipc.open_file(path) as reader:
            return reader.read_all()
    with pyarrow.ipc.open_stream(path) as reader:
        return reader.read_all()


def with_polars(path: Path) -> polars.DataFrame:
    return polars.read_ipc(path) if path.suffix == ".arrow" else polars.read_ipc_stream(path)


def with_nanoarrow(path: Path) -> pyarrow.Table:
    # nanoarrow's own conversion to Python objects does not support maps and negative decimals.
    with nanoarrow.ipc.InputStream.from_path(path) as stream:
        return pyarrow.RecordBatchReader.from_stream(nanoarrow.c_array_stream(stream)).read_all()


def compare(library: str, name: str, path: Path, wanted: pyarrow.Table) -> None:
    """Compares the values of a library with the values of pyarrow, or its error with the expected one."""
    what = f"{library}, {name}, {path.name}"
    refusal = REFUSED[library].get(name)
    try:
        with quiet():
            if library == "polars":
                found = with_polars(path)
                same = found.equals(polars.from_arrow(wanted)) and found.schema == polars.from_arrow(wanted).schema
            else:
                found = with_nanoarrow(path)
                same = found.schema.equals(wanted.schema, check_metadata=True)
                same = same and found.to_pylist() == wanted.to_pylist()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # A panic of polars is no Exception.
        if refusal is None or refusal not in str(error):
            note(what, error, refusal or wanted)
        return
    if refusal is not None:
        note(f"{what}: it is read now", found, f"a refusal: {refusal}")
    elif not same:
        note(what, found, wanted)


def check(folder: Path, name: str, batches: list) -> None:
    schema, whole = batches[0].schema, pyarrow.Table.from_batches(batches)
    source = folder / "t.arrows"
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd" if len(name) % 2 else "lz4")
    with pyarrow.ipc.new_stream(source, schema, options=options) as writer:
        for number, batch in enumerate(batches):
            writer.write_batch(batch, custom_metadata={"batch": str(number)})
    convert("--stripe-rows", STRIPE_ROWS, source, folder / "t.shard")
    convert(folder / "t.shard", folder / "shard.arrow")
    convert(folder / "t.shard", folder / "shard.arrows")
    convert(source, folder / "direct.arrow")
    convert(source, folder / "direct.arrows")
    for copy in ("shard.arrow", "shard.arrows", "direct.arrow", "direct.arrows"):
        path = folder / copy
        found = with_pyarrow(path)
        found.validate(full=True)
        if not found.schema.equals(schema, check_metadata=True):
            note(f"pyarrow, {name}, {copy}, schema", found.schema, schema)
        if found.to_pylist() != whole.to_pylist():
            note(f"pyarrow, {name}, {copy}", found, whole)
        compare("polars", name, path, found)
        # nanoarrow reads only streams, no files.
        if path.suffix == ".arrows":
            compare("nanoarrow", name, path, found)


def main() -> int:
    columns = tables()
    for library, names in REFUSED.items():
        for name in names.keys() - columns.keys():
            note(library, name, "the name of a column")
    with tempfile.TemporaryDirectory() as name:
        for column, batches in columns.items():
            try:
                check(Path(name), column, batches)
            except subprocess.CalledProcessError as error:
                note(f"arrow-shard, {column}, {error.cmd[-1]}", error.stderr, "a copy")
    for failure in FAILURES:
        print(failure)
    print(f"{len(columns)} types, {len(FAILURES)} differences")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
