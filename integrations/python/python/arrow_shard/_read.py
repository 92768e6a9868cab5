"""Functions that read a shard with one call."""

from __future__ import annotations

import os
from typing import Any

from . import _lib


def scan(path: str | os.PathLike[str], *, store: Any = None, views: bool = False, **options: Any) -> _lib.Scan:
    """Returns a scan of the shard at a path or URL, with the options of :meth:`ShardFile.scan`.

    >>> pa.table(sh.scan(path, columns=["id"], filter="name = 'Lima'")).to_pylist()
    [{'id': 2}]
    """
    return _lib.open(path, store=store, views=views).scan(**options)


def take(
    path: str | os.PathLike[str],
    rows: Any,
    columns: Any = None,
    *,
    store: Any = None,
    views: bool = False,
) -> _lib.RecordBatch:
    """Returns rows of the shard at a path or URL, by their numbers.

    >>> pa.record_batch(sh.take(path, [1])).to_pylist()
    [{'id': 2, 'name': 'Lima'}]
    """
    return _lib.open(path, store=store, views=views).take(rows, columns)


def statistics(path: str | os.PathLike[str], columns: Any = None, *, store: Any = None) -> _lib.RecordBatch:
    """Returns statistics of the shard at a path or URL, like :meth:`ShardFile.statistics`.

    >>> pa.record_batch(sh.statistics(path, ["name"])).to_pylist()[0]["name"]["max"]
    'Oslo'
    """
    return _lib.open(path, store=store).statistics(columns)
