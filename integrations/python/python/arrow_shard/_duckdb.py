"""Shards as tables of DuckDB."""

from __future__ import annotations

from typing import Any


def register(connection: Any, name: str, source: Any, **options: Any) -> None:
    """Registers shards as a table of a connection to DuckDB, under a name that all queries of the connection can use.
    ``source`` and the options are the same as in :func:`dataset`, or ``source`` is a dataset. Needs duckdb and pyarrow.
    A query over a registered table starts about half a millisecond sooner than over a variable that is a dataset.

    >>> import duckdb
    >>> con = duckdb.connect()
    >>> sh.register(con, "cities", path)
    >>> con.sql("select name from cities where id > 1").fetchall()
    [('Lima',)]
    """
    from ._dataset import RegisteredDataset, ShardDataset, open_dataset

    if isinstance(source, ShardDataset):
        if options:
            raise TypeError(f"a dataset is open already, and has no use for {sorted(options)}")
        dataset = source
    else:
        dataset = open_dataset(source, **options)
    connection.register(name, RegisteredDataset(dataset))
