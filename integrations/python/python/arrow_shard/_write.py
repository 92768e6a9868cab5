"""Writes shards, with named options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _lib


def _rows(data: Any) -> Any:
    """Returns an object that exports Arrow data; for pyarrow datasets and scanners, their reader."""
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return data
    scanner = data.scanner() if hasattr(data, "scanner") else data
    return scanner.to_reader() if hasattr(scanner, "to_reader") else data


def write(
    data: Any,
    path: str | os.PathLike[str],
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
) -> _lib.WriteSummary:
    """Writes rows to a new shard, which becomes visible once all rows are written, or not at all.

    ``data`` is any object with ``__arrow_c_stream__`` or ``__arrow_c_array__``: a table, a record batch or a reader of
    pyarrow, a data frame of polars or pandas, a relation of DuckDB, a scan. It may also be a pyarrow dataset or
    scanner, such as ``pyarrow.dataset.dataset("folder", format="parquet")``, which is read batch by batch. ``path`` is
    a path, a URL such as ``s3://bucket/t.amudai.shard``, or a path in ``store``.

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
    )
