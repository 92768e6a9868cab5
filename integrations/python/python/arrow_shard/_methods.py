"""Methods of the compiled classes that are written in Python."""

from __future__ import annotations

import functools
import inspect
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _lib, _show
from ._errors import InvalidArgumentError

if TYPE_CHECKING:
    import polars as pl


class _ShardFile:
    """Methods of ``ShardFile``."""

    scan: Callable[..., _lib.Scan]
    num_rows: int

    def count_rows(self, filter: Any = None) -> int:
        """Counts the rows that match. Without a filter, the number comes from metadata.

        >>> f = sh.open(path)
        >>> f.count_rows(), f.count_rows("id > 1")
        (2, 1)
        """
        return self.num_rows if filter is None else self.scan(columns=[], filter=filter).count()

    def to_pandas(self, **options: Any) -> Any:
        """Returns the rows as a pandas data frame. Needs pandas and pyarrow. The options are the options of
        :meth:`scan`, and those of ``pyarrow.Table.to_pandas``, such as ``types_mapper``.

        >>> sh.open(path).to_pandas(columns=["name"], filter="id > 1")["name"].tolist()
        ['Lima']
        """
        names = inspect.signature(_lib.ShardFile.scan).parameters
        of_scan = {name: option for name, option in options.items() if name in names}
        others = {name: option for name, option in options.items() if name not in names}
        return _show.to_pandas(self.scan(**of_scan), **others)

    def to_polars(self, **options: Any) -> pl.DataFrame:
        """Returns the rows as a data frame of polars. The options are the options of :meth:`scan`. Decimals of all
        widths are right, see :meth:`Scan.to_polars`.

        >>> sh.open(path).to_polars(columns=["name"], filter="id > 1")["name"].to_list()
        ['Lima']
        """
        return self.scan(**options).to_polars()


class _Scan:
    """Methods of ``Scan``."""

    def head(self: Any, rows: int = 5) -> _lib.RecordBatch:
        """Returns the first rows of the scan, at most ``rows``.

        >>> pa.record_batch(sh.open(path).scan(filter="id > 1").head(1)).to_pylist()
        [{'id': 2, 'name': 'Lima'}]
        """
        _, (file, options) = self.__reduce__()
        limit = options["limit"]
        limited = file.scan(**{**options, "limit": rows if limit is None else min(rows, limit)})
        memory = io.BytesIO()
        # One batch of several: only a file joins them without pyarrow.
        _lib.write(limited, memory, profile="plain")
        return _lib.open(memory.getvalue(), views=True).head(rows)

    def to_pandas(self: Any, **options: Any) -> Any:
        """Returns the rows as a pandas data frame. Needs pandas and pyarrow. The options are the options of
        ``pyarrow.Table.to_pandas``, such as ``types_mapper``.

        >>> sh.open(path).scan(filter="id > 1").to_pandas()["name"].tolist()
        ['Lima']
        """
        return _show.to_pandas(self, **options)

    def to_polars(self: Any) -> pl.DataFrame:
        """Returns the rows as a data frame of polars.

        ``polars.DataFrame(scan)`` returns the same, except for decimals of 32, 64 and 256 bits: polars reads random
        values from these, or ends in a panic. This method converts them to 128 bits, which needs pyarrow.

        >>> sh.open(path).scan(filter="id > 1").to_polars()["name"].to_list()
        ['Lima']
        """
        from ._polars_types import frame

        return frame(self)


class _RecordBatch:
    """Methods of ``RecordBatch``."""

    def to_polars(self: Any) -> pl.DataFrame:
        """Returns the rows as a data frame of polars. Decimals of all widths are right, see :meth:`Scan.to_polars`.

        >>> sh.open(path).take([1, 0]).to_polars()["name"].to_list()
        ['Lima', 'Oslo']
        """
        from ._polars_types import frame

        return frame(self)


def _without_none(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns a comparison of columns that raises an error for None, which would match no row."""

    @functools.wraps(compare)
    def checked(self: Any, other: Any, /) -> Any:
        if other is None:
            raise InvalidArgumentError(
                "invalid argument: a comparison with None matches no row; use is_null() or is_not_null()"
            )
        return compare(self, other)

    return checked


def attach() -> None:
    """Adds the methods to the classes."""
    for target, source in ((_lib.ShardFile, _ShardFile), (_lib.Scan, _Scan), (_lib.RecordBatch, _RecordBatch)):
        for name, method in vars(source).items():
            if inspect.isfunction(method):
                method.__qualname__ = f"{target.__name__}.{name}"
                setattr(target, name, method)
    for name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        setattr(_lib.Column, name, _without_none(getattr(_lib.Column, name)))
