"""Shards as lazy frames of polars."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import _lib
from ._errors import UnknownColumnError
from ._polars_types import check, named, readable
from ._sources import Hive, Unify, open_table
from ._write import write

if TYPE_CHECKING:
    import polars as pl

_BATCH_SIZE = 131_072
# Rows of the first slice of a scan with a filter.
_FIRST_SLICE = 1 << 20

Source = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def scan_polars(
    source: Source | Any,
    *,
    store: Any = None,
    columns: Iterable[str] | None = None,
    hive: Hive = None,
    include_file_paths: str | None = None,
    row_index: str | None = None,
    row_index_offset: int = 0,
    schema: Any = None,
    unify: Unify = "strict",
) -> pl.LazyFrame:
    """Returns shards as a lazy frame of polars, like ``polars.scan_parquet``. Needs polars.

    ``source`` is a path or URL, a pattern such as ``days/**/*.shard``, a folder, which is searched with its
    subfolders, a list of these, or a shard in memory. URLs, and paths in a ``store``, that end in ``/`` are folders.
    The shards are one table, as in :func:`open_many`. An open :class:`ShardFile` is a source as well; the lazy frame
    can be read until the file is closed.

    * ``columns``: the names of the columns of the frame, by default all. polars has no types for intervals, unions,
      run-end encoding, list views, and decimals of more than 38 digits: such a column must be left out here, because
      the types of a lazy frame are known before its query.
    * ``hive``: whether folders named ``key=value`` are columns: by default in folders and patterns where all shards are
      in folders of the same keys. A dict from names to ``int``, ``float``, ``str`` or ``datetime.date`` sets types.
    * ``include_file_paths``: the name of a last column with the path of the shard.
    * ``row_index``, ``row_index_offset``: the name of a first column that counts rows, and its first value.
    * ``schema``: the schema of the table if a folder has no shard; otherwise unused.
    * ``unify``: what happens if the types of a column differ between the shards, as in :func:`dataset`.

    Projections, limits, and those parts of filters whose meaning is the same in polars are handed down; polars applies
    the rest of a filter to the rows that are read. So the rows are the same as those of polars in memory.

    >>> lazy = sh.scan_polars(path).filter(pl.col("id") > 1).select("name")
    >>> lazy.collect()["name"].to_list()
    ['Lima']
    """
    from polars.io.plugins import register_io_source

    file = open_table(
        source,
        store=store,
        views=True,
        hive=hive,
        include_file_paths=include_file_paths,
        schema=schema,
        unify=unify,
    )
    table = _Table(file, row_index, row_index_offset, columns)
    return register_io_source(
        table, schema=table.schema(), is_pure=True, explain_name="SHARD", explain_detail=repr(table.file).strip("<>")
    )


def sink(lazy: pl.LazyFrame, path: str | os.PathLike[str], **options: Any) -> _lib.WriteSummary:
    """Runs a lazy frame of polars with its streaming engine, and writes the rows to a shard as they come. The options
    are the options of :func:`write`.

    >>> lazy = pl.LazyFrame({"id": [1, 2, 3]}).filter(pl.col("id") > 1)
    >>> sh.sink(lazy, out).rows
    2
    """
    return write(lazy, path, **options)


class _Table:
    """The source of a lazy frame, which can be pickled."""

    def __init__(
        self, file: _lib.ShardFile, row_index: str | None, offset: int, columns: Iterable[str] | None = None
    ) -> None:
        names = file.schema.names
        if row_index is not None and row_index in names:
            raise ValueError(f"the shards have a column {row_index!r}; choose another name for `row_index`")
        if isinstance(columns, str):
            raise TypeError(f"expected a list of names for `columns`, found {columns!r}")
        self.file = file
        self._columns = None if columns is None else list(dict.fromkeys(columns))
        for name in self._columns or ():
            # Not a path to a member of a struct.
            if name not in names:
                raise UnknownColumnError(f"unknown column: {name!r}; the columns are {names}")
        self._row_index = row_index
        self._offset = offset
        self._schema: pl.Schema | None = None

    def schema(self) -> pl.Schema:
        """Returns the columns and their types."""
        if self._schema is None:
            self._schema = self._known_schema()
        return self._schema

    def _known_schema(self) -> pl.Schema:
        import polars as pl

        file, columns = self.file, self._columns
        arrow = file.schema if columns is None else file.scan(columns=columns).schema
        check(arrow, "leave the column out with `columns`")
        stored = pl.Schema(arrow)
        if self._row_index is None:
            return stored
        return pl.Schema({self._row_index: pl.get_index_type(), **stored})

    def __call__(
        self, columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        from ._polars_filter import split

        file, index = self.file, self._row_index
        schema = self.schema()
        names = schema.names() if columns is None else columns
        conditions: list[Any] = []
        is_left = predicate is not None
        # In polars, deleted rows do not count for limits and indexes; in shards they keep their numbers.
        is_numbered = file.num_deleted_rows == 0
        if predicate is not None and (is_numbered or (n_rows is None and index is None)):
            types = {name: dtype for name, dtype in schema.items() if name != index}
            conditions, is_left = split(predicate, type(schema)(types), file)
        tested: list[str] = []
        if predicate is not None and is_left:
            tested = predicate.meta.root_names()
            # Types that polars cannot compare are an error without rows, too.
            schema.to_frame().filter(predicate)
        read = list(dict.fromkeys([*names, *tested]))
        options: dict[str, Any] = {
            "columns": [name for name in read if name != index],
            "filter": conditions or None,
            "batch_size": min(max(batch_size or _BATCH_SIZE, 1), _BATCH_SIZE),
        }
        schema_read = readable(file.scan(columns=options["columns"]).schema)
        if schema_read is not None:
            del options["columns"]
            options |= {"schema": schema_read, "strict_casts": True}
        if index in read and is_numbered:
            options["with_row_number"] = index
        if conditions:
            # The rows are limited before they are filtered.
            count = file.row_ranges[-1][1]
            count = count if n_rows is None else min(n_rows, count)
            batches: Iterator[_lib.RecordBatch | None] = _in_slices(file, count, options)
        else:
            batches = iter(file.scan(limit=n_rows, **options))
        counts = index in read and not is_numbered
        yield from self._frames(batches, names, predicate if is_left else None, counts)

    def _frames(
        self,
        batches: Iterator[_lib.RecordBatch | None],
        names: list[str],
        predicate: pl.Expr | None,
        counts: bool,
    ) -> Iterator[pl.DataFrame]:
        import polars as pl

        index, before = self._row_index, self._offset
        for batch in batches:
            if batch is None:
                yield _selected(self.schema().to_frame(), names)
                continue
            if batch.num_columns > 0:
                frame = named(pl.DataFrame(batch), batch.column_names)
            else:
                frame = pl.DataFrame(height=batch.num_rows)
            if counts and index is not None:
                frame = frame.with_row_index(index, before)
                before += batch.num_rows
            elif index is not None and index in frame.columns:
                numbers = frame.get_column(index) + self._offset
                frame = frame.with_columns(numbers.cast(pl.get_index_type()))
            if predicate is not None:
                frame = frame.filter(predicate)
            yield _selected(frame, names)


def _selected(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Returns the columns with these names. ``select`` takes names such as ``*`` and ``^a.*$`` for patterns."""
    return frame[names] if names else frame.select([])


def _in_slices(file: _lib.ShardFile, count: int, options: dict[str, Any]) -> Iterator[_lib.RecordBatch | None]:
    """Scans the first rows of a file slice by slice, and yields None for a slice without rows.

    polars stops on Ctrl-C between two batches, and a filter may match no row for a long time. A slice takes a part of a
    second to read; where statistics skip all rows, slices become longer and longer.
    """
    start, length = 0, _FIRST_SLICE
    while True:
        end = min(start + length, count)
        scan = file.scan(row_range=(start, end), **options)
        begin, is_empty = time.monotonic(), True
        for batch in scan:
            is_empty = False
            yield batch
        if is_empty:
            yield None
        start = end
        if start == count:
            return
        length = length * 4 if time.monotonic() - begin < 0.05 else max(length // 2, _FIRST_SLICE)
