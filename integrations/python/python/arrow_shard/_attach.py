"""Shards over Parquet files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _lib
from ._sources import parquet_files


def attach(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    hive: bool | Mapping[str, type] = False,
    include_file_paths: str | None = None,
    stripe_rows: int | None = None,
    page_map: bool = False,
    checksum: bool = False,
    statistics: Sequence[str] | None = None,
    index: Sequence[str] | None = None,
    external_files: Iterable[str | os.PathLike[str]] | None = None,
    progress: bool | Callable[[int, int | None], object] | None = None,
    store: Any = None,
) -> _lib.EditSummary:
    """Writes a shard with the rows of Parquet files, one after the other. It refers to their column chunks, so no row is
    copied. ``source`` is a file, a pattern such as ``lake/**/*.parquet``, a folder, which is searched with its
    subfolders, or a list of these. The files must be in the folder of ``out``, or in its subfolders, and stay as they
    are.

    * ``hive``: whether folders named ``key=value`` are columns; filters skip folders with other values. A dict from
      names to ``int``, ``float``, ``str`` or ``datetime.date`` sets types.
    * ``include_file_paths``: the name of a last column with the path of the file.
    * ``stripe_rows``: row groups of a file are combined into stripes of up to this many rows.
    * ``page_map``: whether to read all column chunks once to list their pages, in files that have no page index.
    * ``checksum``: whether to read all column chunks once for a checksum of each page, which readers verify.
    * ``statistics``, ``index``: names of columns that are read once, for bounds and distinct counts, or also for Bloom
      filters and indexes of their pages.
    * ``external_files``: folders outside of the folder of ``out`` where the files may be; :func:`open` needs the same
      list.
    * ``progress`` counts files, see :func:`write`.

    >>> import os, pyarrow.parquet as pq
    >>> os.makedirs(folder + "/lake/year=2026")
    >>> pq.write_table(pa.table({"id": [1, 2]}), folder + "/lake/year=2026/ids.parquet")
    >>> sh.attach(folder + "/lake", out, hive=True).rows
    2
    >>> pa.table(sh.scan(out, filter="year = 2026")).to_pylist()
    [{'id': 1, 'year': 2026}, {'id': 2, 'year': 2026}]
    """
    paths, columns = parquet_files(source, store, hive, include_file_paths)
    return _lib.attach(
        paths,
        out,
        columns=columns,
        stripe_rows=stripe_rows,
        page_map=page_map,
        checksum=checksum,
        statistics=statistics,
        index=index,
        external_files=external_files,
        progress=progress,
        store=store,
    )
