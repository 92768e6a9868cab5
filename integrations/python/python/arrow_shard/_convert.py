"""Converts between shards and files of other formats."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from . import _lib
from ._errors import InvalidArgumentError
from ._write import write

if TYPE_CHECKING:
    import pyarrow as pa

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
    source, target = os.fspath(src), os.fspath(dst)
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

        # An empty value is null, and a text in quotes is not, as in the files that pyarrow writes.
        nulls = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
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
        for batch in map(pa.record_batch, scan):
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


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
