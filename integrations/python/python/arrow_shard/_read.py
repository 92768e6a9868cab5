"""Functions that read a shard with one call."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, ParamSpec

from . import _lib
from ._errors import InvalidArgumentError

P = ParamSpec("P")


def _with_folder(function: Callable[P, _lib.ShardFile]) -> Callable[P, _lib.ShardFile]:
    """Returns a function that opens a folder, and names the folder if it has no shard."""

    @functools.wraps(function)
    def opened(*arguments: P.args, **options: P.kwargs) -> _lib.ShardFile:
        try:
            return function(*arguments, **options)
        except InvalidArgumentError as error:
            source = arguments[0] if arguments else options.get("paths")
            if not isinstance(source, (str, os.PathLike)) or "there is no shard" not in str(error):
                raise
            raise InvalidArgumentError(
                f"invalid argument: the folder {os.fspath(source)!r} has no shard to make a table of; subfolders are "
                "searched by `dataset` and `scan_polars`"
            ) from None

    return opened


open_many = _with_folder(_lib.open_many)


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
