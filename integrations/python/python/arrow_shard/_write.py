"""Writing shards, with options by their names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _lib


def _rows(data: Any) -> Any:
    """What gives Arrow data: of datasets and scanners of pyarrow, their reader."""
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
    """Writes rows to a new shard, which appears when all of them are written, or not at all.

    ``data`` is anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: a table, a record batch or a reader of
    pyarrow, a data frame of polars or pandas, a relation of DuckDB, a scan; or a dataset or scanner of pyarrow, such as
    ``pyarrow.dataset.dataset("folder", format="parquet")``, which is read piece by piece. ``path`` is a path, a URL such as
    ``s3://bucket/t.amudai.shard``, or a path in ``store``.

    >>> table = pa.table({"id": [1, 2, 3], "name": ["Oslo", "Lima", "Linz"]})
    >>> sh.write(table, out, profile="high_compression", sorting_columns=["id"])  # doctest: +ELLIPSIS
    <WriteSummary rows=3 stripes=1 bytes=...>
    >>> sh.open(out).sorting_columns
    [SortingColumn('id', descending=False, nulls_first=False)]

    * ``overwrite``: whether a file may be replaced. Symbolic links are followed; pipes and devices are refused.
    * ``profile``: how hard to compress: ``plain``, ``fast``, ``balanced``, ``high_compression``, ``minimal_size``.
    * ``threads``: how many encode, as many as there are cores by default. The bytes do not depend on it.
    * ``sorting_columns``: the columns that the rows are sorted by, as names or :class:`SortingColumn`. Rows are not
      sorted. With ``sorting_columns_checked``, rows in another order are an error that names the column and the row.
    * ``properties``: properties of the shard, by their names.
    * ``stripe_rows``, ``stripe_bytes``: most rows of a stripe, and bytes of Arrow data after which one ends.
    * ``memory_limit``: about how many bytes the writer may hold.
    * ``block_values``: values of a block, a multiple of 1,024 up to 65,536.
    * ``layout``: ``single_file``, or ``two_level``: a directory file, and one file for each stripe beside it.
    * ``wire``: ``spec``, or ``reference`` for shards that the reference implementation reads.
    * ``mapping``: ``lossless``, or ``amudai`` for times and decimals in the native types of the format.
    * ``presence``: where nulls are stored, ``separate`` or ``embedded``.
    * ``dictionary``, ``compressor_dictionary``: whether columns may get dictionaries where they pay.
    * ``statistics``: whether statistics are collected.
    * ``bloom_filter``: whether all columns get Bloom filters, or none; where they pay by default.
      ``bloom_filter_fpp`` is their rate of false positives.
    * ``packed_columns``: groups of columns of which single rows are read together.
    * ``column_options``: options of single columns by their names: ``profile``, ``presence``, ``dictionary``,
      ``compressor_dictionary``, ``statistics``, ``bloom_filter``, ``bloom_filter_fpp``, ``block_values``,
      ``packed_group``, ``delimited``, ``properties``.
    * ``ingestion_timestamp``, ``record_identity``: whether each record gets its time and an identity, or the column
      that holds them.
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
