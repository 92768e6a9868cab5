"""Writes shards, with named options."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO

from . import _lib
from ._errors import UnsupportedError
from ._progress import known_rows


def _rows(data: Any) -> Any:
    """Returns an object that exports Arrow data, or an iterator of such objects.

    >>> [type(_rows(data)).__name__ for data in ({"id": [1]}, [pa.table({"id": [1]})])]
    ['Table', 'map']
    """
    _check_polars(data)
    if hasattr(data, "collect_batches"):  # a LazyFrame of polars, with its streaming engine
        first = data.head(0).collect()
        return itertools.chain([first], data.collect_batches(engine="streaming", lazy=True))
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return data
    if isinstance(data, Mapping):
        import pyarrow

        return pyarrow.table(dict(data))
    if hasattr(data, "iter_batches") and hasattr(data, "schema_arrow"):  # a ParquetFile of pyarrow
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(data.schema_arrow, data.iter_batches())
    scanner = data.scanner() if hasattr(data, "scanner") else data
    if hasattr(scanner, "to_reader"):
        return scanner.to_reader()
    is_text = isinstance(data, (str, bytes, bytearray, memoryview, os.PathLike))
    return map(_check_polars, data) if isinstance(data, Iterable) and not is_text else data


def _check_polars(data: Any) -> Any:
    """Returns data unless it has a column of polars with a type that Arrow lacks, which is an error.

    polars exports objects as the addresses of their memory.
    """
    if not type(data).__module__.startswith("polars."):
        return data
    import polars

    if isinstance(data, (polars.DataFrame, polars.LazyFrame)):
        for name, kind in data.collect_schema().items():
            found = _without_arrow(kind, polars)
            if found is not None:
                raise UnsupportedError(f"unsupported: column `{name}`: Arrow has no type for {found}; cast the column")
    return data


def _without_arrow(kind: Any, polars: Any) -> Any:
    """Returns the part of a type of polars that Arrow lacks; None if it has the whole type."""
    if kind in (polars.Object, polars.Int128, polars.UInt128):
        return kind
    members = [field.dtype for field in getattr(kind, "fields", ())]
    inner = [getattr(kind, name, None) for name in ("inner", "key", "value")]
    parts = (_without_arrow(part, polars) for part in (*members, *inner) if part is not None)
    return next((part for part in parts if part is not None), None)


def write(
    data: Any,
    path: str | os.PathLike[str] | BinaryIO,
    *,
    store: Any = None,
    overwrite: bool = False,
    profile: str = "balanced",
    threads: int | None = None,
    sorting_columns: Sequence[str | _lib.SortingColumn] = (),
    sorting_columns_checked: bool = False,
    properties: Mapping[str, Any] | None = None,
    stripe_rows: int | None = None,
    stripe_bytes: int | None = None,
    memory_limit: int | None = None,
    block_values: int | None = None,
    layout: str = "single_file",
    wire: str = "spec",
    mapping: str | None = None,
    presence: str = "separate",
    dictionary: bool = True,
    compressor_dictionary: bool = False,
    statistics: bool = True,
    bloom_filter: bool | None = None,
    bloom_filter_fpp: float = 0.01,
    packed_columns: Sequence[Sequence[str]] = (),
    column_options: Mapping[str, Mapping[str, Any]] | None = None,
    ingestion_timestamp: bool | str = False,
    record_identity: bool | str = False,
    progress: bool | Callable[[int, int | None], object] | None = None,
) -> _lib.WriteSummary:
    """Writes rows to a new shard, which becomes visible once all rows are written, or not at all.

    ``data`` is any object with ``__arrow_c_stream__`` or ``__arrow_c_array__``: a table, a record batch or a reader of
    pyarrow, a data frame of polars or pandas, a relation of DuckDB, a scan. A dict from names to values is a table.
    These are read batch by batch: a lazy frame of polars, a pyarrow dataset or scanner, such as
    ``pyarrow.dataset.dataset("folder", format="parquet")``, a ``ParquetFile``, and a list or generator of batches or
    tables, which all have the columns of the first.

    ``path`` is a path, a URL such as ``s3://bucket/t.amudai.shard``, a path in ``store``, or a binary file object, such
    as an ``io.BytesIO``.

    >>> table = pa.table({"id": [1, 2, 3], "name": ["Oslo", "Lima", "Linz"]})
    >>> sh.write(table, out, profile="high_compression", sorting_columns=["id"])  # doctest: +ELLIPSIS
    <WriteSummary rows=3 stripes=1 bytes=...>
    >>> sh.open(out).sorting_columns
    [SortingColumn('id', descending=False, nulls_first=False)]

    * ``overwrite``: whether an existing file may be replaced. Symbolic links are followed; pipes and devices fail.
    * ``profile``: how strongly to compress: ``plain``, ``fast``, ``balanced``, ``high_compression``, ``minimal_size``.
    * ``threads``: the number of threads that encode, by default one per core. The bytes do not depend on it.
    * ``sorting_columns``: the columns that the rows are sorted by, as names or :class:`SortingColumn`. The writer does
      not sort. With ``sorting_columns_checked``, rows in another order are an error that names the column and the row.
    * ``properties``: properties of the shard, by name.
    * ``stripe_rows``, ``stripe_bytes``: the most rows of a stripe, and the bytes of Arrow data after which it ends.
    * ``memory_limit``: the approximate number of bytes that the writer may hold in memory.
    * ``block_values``: values of a block, a multiple of 1,024 up to 65,536.
    * ``layout``: ``single_file``, or ``two_level``: a directory file, and one file for each stripe in the same folder.
    * ``wire``: ``spec``, or ``reference`` for shards that the reference implementation reads.
    * ``mapping``: ``lossless``, or ``amudai`` for times and decimals in the native types of the format.
    * ``presence``: where nulls are stored: ``separate`` or ``embedded``.
    * ``dictionary``, ``compressor_dictionary``: whether columns may get dictionaries where these save space.
    * ``statistics``: whether statistics are collected.
    * ``bloom_filter``: whether all columns get Bloom filters, or none; by default the columns where they are useful.
      ``bloom_filter_fpp`` is their rate of false positives.
    * ``packed_columns``: groups of columns that are read together for single rows.
    * ``column_options``: options of single columns, by name: ``profile``, ``presence``, ``dictionary``,
      ``compressor_dictionary``, ``statistics``, ``bloom_filter``, ``bloom_filter_fpp``, ``block_values``,
      ``packed_group``, ``delimited``, ``properties``.
    * ``ingestion_timestamp``, ``record_identity``: whether the writer generates a time and an identity for each record,
      or the name of the column that contains them.
    * ``progress``: ``True`` shows a bar of tqdm. A function is called with the number of rows written, and the number
      of all rows, None if it is not known; an exception of it ends the call, and no shard is written.
    """
    return _lib.write(
        _rows(data),
        path,
        store=store,
        overwrite=overwrite,
        profile=profile,
        threads=threads,
        sorting_columns=sorting_columns,
        sorting_columns_checked=sorting_columns_checked,
        properties=None if properties is None else dict(properties),
        stripe_rows=stripe_rows,
        stripe_bytes=stripe_bytes,
        memory_limit=memory_limit,
        block_values=block_values,
        layout=layout,
        wire=wire,
        mapping=mapping,
        presence=presence,
        dictionary=dictionary,
        compressor_dictionary=compressor_dictionary,
        statistics=statistics,
        bloom_filter=bloom_filter,
        bloom_filter_fpp=bloom_filter_fpp,
        packed_columns=packed_columns,
        column_options={name: dict(given) for name, given in (column_options or {}).items()},
        ingestion_timestamp=ingestion_timestamp,
        record_identity=record_identity,
        progress=progress,
        num_rows=known_rows(data) if progress else None,
    )
