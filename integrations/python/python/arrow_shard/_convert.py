"""Converts between shards and files of other formats."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from . import _lib
from ._errors import InvalidArgumentError
from ._write import write

if TYPE_CHECKING:
    import pyarrow as pa

# Rows in a row group of Parquet, and about its bytes in memory, at most.
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 256 << 20

# The formats by the suffixes of names. A file with any other name is a shard.
_FORMATS = {
    ".parquet": "Parquet",
    ".parq": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow IPC",
    ".feather": "Arrow IPC",
    ".ipc": "Arrow IPC",
    ".arrows": "Arrow IPC stream",
    ".csv": "CSV",
    ".csv.gz": "CSV",
    ".lance": "Lance",
}


def convert(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    lance_version: str = "2.2",
    **options: Any,
) -> int:
    """Converts a file of another format to a shard, or a shard to a file of another format, and returns the number of
    rows. The names show the formats: ``.parquet``, ``.parq``, ``.pq``; ``.arrow``, ``.feather``, ``.ipc``;
    ``.arrows`` (a stream of Arrow IPC); ``.csv``, ``.csv.gz``; ``.lance`` (a file, or a dataset to read). A file with any
    other name is a shard. The function needs pyarrow, and pylance for Lance.

    ``options`` are passed to :func:`write`, and are errors for a conversion to another format. The types of CSV are those
    that pyarrow infers from its first block. Lance does not support some types, which are errors that name the column, and
    reads views back as strings and binaries. The new file appears once it is complete.

    >>> sh.convert(path, out + ".parquet"), sh.convert(out + ".parquet", out, profile="fast")
    (2, 2)
    >>> pa.table(sh.open(out)) == pa.table(sh.open(path))
    True
    """
    source, target = (os.path.expanduser(os.fspath(path)) for path in (src, dst))
    read, written = _format(source.rstrip("/")), _format(target)
    if written is None:
        if read is None:
            raise InvalidArgumentError(
                f"invalid argument: `{source}` and `{target}` are both shards by their names; `write(open(...))` copies "
                "the rows of a shard"
            )
        return write(_reader(source, read), target, overwrite=overwrite, **options).rows
    if read is not None:
        raise InvalidArgumentError(
            f"invalid argument: one of `{source}` and `{target}` is a shard; by their names, they are {read} and {written}"
        )
    if options:
        unknown = ", ".join(f"`{name}`" for name in options)
        raise InvalidArgumentError(
            f"invalid argument: a conversion to {written} does not have {unknown}, options of `write`"
        )
    target = _lib.output_file(target, overwrite=overwrite)
    folder = os.path.dirname(os.path.abspath(target))
    # The file gets its final name once it is complete.
    with tempfile.TemporaryDirectory(dir=folder, prefix=".convert-") as hidden:
        new = os.path.join(hidden, "rows" + _suffix(target))
        rows = _written(source, new, written, lance_version)
        os.replace(new, target)
    return rows


def _suffix(path: str) -> str:
    """Returns the end of a name that shows a format other than a shard's, or an empty text.

    >>> _suffix("a/B.CSV.gz"), _suffix("x.parquet"), _suffix("t.amudai.shard"), _suffix(".csv")
    ('.csv.gz', '.parquet', '', '')
    """
    name = os.path.basename(path).lower()
    ends = [end for end in _FORMATS if name.endswith(end) and name != end]
    return max(ends, key=len, default="")


def _format(path: str) -> str | None:
    return _FORMATS.get(_suffix(path))


def _reader(path: str, kind: str) -> Any:
    """Returns the rows of a file, to be read batch by batch."""
    if kind == "Lance":
        from ._lance import read_lance

        return read_lance(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}")
    import pyarrow as pa

    if kind == "Parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetFile(path)
    if kind == "CSV":
        import pyarrow.csv

        # Only an empty value without quotes is null, as in the files that pyarrow writes.
        nulls = pyarrow.csv.ConvertOptions(
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        )
        return pyarrow.csv.open_csv(path, convert_options=nulls)
    if kind == "Arrow IPC stream":
        return pa.ipc.open_stream(path)
    file = pa.ipc.open_file(pa.memory_map(path))
    batches = (file.get_batch(i) for i in range(file.num_record_batches))
    return pa.RecordBatchReader.from_batches(file.schema, batches)


def _written(source: str, path: str, kind: str, lance_version: str) -> int:
    """Writes the rows of a shard to a new file, and returns their number."""
    if kind == "Lance":
        from ._lance import write_lance

        return write_lance(source, path, lance_version)
    import pyarrow as pa

    scan = _lib.open(source).scan()
    schema, rows = pa.schema(scan.schema), 0
    with ExitStack() as stack:
        writer = _writer(path, schema, kind, stack)
        for table in _tables(map(pa.record_batch, scan), schema, kind):
            # A row group of Parquet.
            writer.write_table(table)
            rows += table.num_rows
    return rows


def _tables(batches: Iterable[pa.RecordBatch], schema: pa.Schema, kind: str) -> Iterator[pa.Table]:
    """Combines batches to the tables that are written at once."""
    import pyarrow as pa

    # A file of Arrow IPC has one dictionary for each column, and a shard has one for each stripe.
    if kind == "Arrow IPC" and any(_has_dictionary(field.type) for field in schema):
        yield pa.Table.from_batches(batches, schema=schema).unify_dictionaries()
        return
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        is_full = rows + batch.num_rows > _GROUP_ROWS or size >= _GROUP_BYTES
        if group and (is_full or kind != "Parquet"):
            yield pa.Table.from_batches(group, schema=schema)
            group, rows, size = [], 0, 0
        group.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if group:
        yield pa.Table.from_batches(group, schema=schema)


def _has_dictionary(data_type: pa.DataType) -> bool:
    """Returns whether a type is a dictionary or contains one.

    >>> [_has_dictionary(kind) for kind in (pa.int8(), pa.list_(pa.dictionary(pa.int8(), pa.string())))]
    [False, True]
    """
    import pyarrow as pa

    if pa.types.is_dictionary(data_type):
        return True
    return any(_has_dictionary(data_type.field(i).type) for i in range(data_type.num_fields))


def _writer(path: str, schema: pa.Schema, kind: str, stack: ExitStack) -> Any:
    """Returns a writer, which ends with the stack."""
    import pyarrow as pa

    if kind == "Parquet":
        import pyarrow.parquet

        return stack.enter_context(pyarrow.parquet.ParquetWriter(path, schema, compression="zstd"))
    if kind == "CSV":
        import pyarrow.csv

        compression = "gzip" if path.endswith(".gz") else None
        stream = stack.enter_context(pa.output_stream(path, compression=compression))
        return stack.enter_context(pyarrow.csv.CSVWriter(stream, schema))
    create = pa.ipc.new_stream if kind == "Arrow IPC stream" else pa.ipc.new_file
    return stack.enter_context(create(path, schema))
