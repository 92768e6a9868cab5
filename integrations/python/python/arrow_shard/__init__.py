"""Columnar files for Apache Arrow: Amudai shards store rows and return them unchanged, including types and metadata.
The package exchanges rows with any library that supports Arrow's PyCapsule interface: pyarrow, polars, pandas, DuckDB,
DataFusion. None of them is required.

>>> table = pa.table({"id": [1, 2, 3], "name": ["Oslo", "Lima", "Linz"]})
>>> sh.write(table, out).rows
3
>>> f = sh.open(out)
>>> pa.table(f.scan(columns=["name"], filter=sh.col("id") > 1)).to_pylist()
[{'name': 'Lima'}, {'name': 'Linz'}]
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _methods, store
from ._attach import attach
from ._convert import convert
from ._errors import (
    AlreadyExistsError,
    AmbiguousColumnError,
    ArrowError,
    ChecksumError,
    ConflictError,
    CorruptError,
    ExternalError,
    ForbiddenUrlError,
    InvalidArgumentError,
    LimitExceededError,
    NotAShardError,
    NotFoundError,
    OffsetOverflowError,
    PoisonedError,
    ReplacedError,
    RowOutOfRangeError,
    SchemaMismatchError,
    ShardError,
    ShardIOError,
    StoppedError,
    UnknownColumnError,
    UnsupportedError,
    UnsupportedVersionError,
    ValueOutOfRangeError,
    WrongFileError,
)
from ._duckdb import register
from ._lib import (
    BatchIterator,
    Column,
    EditSummary,
    Expression,
    RecordBatch,
    Scan,
    ScanMetrics,
    Schema,
    ShardFile,
    SortingColumn,
    StripeInfo,
    VerifyReport,
    WriteSummary,
    __version__,
    append,
    col,
    compact,
    delete,
    list_shards,
    merge,
    open,
    pack,
    undelete,
    vacuum,
)
from ._polars import scan_polars, sink
from ._read import open_many, scan, statistics, take
from ._write import write

if TYPE_CHECKING:
    from ._dataset import ShardDataset
    from ._sources import Hive, Unify

_methods.attach()

__all__ = [
    "AlreadyExistsError",
    "AmbiguousColumnError",
    "ArrowError",
    "BatchIterator",
    "ChecksumError",
    "Column",
    "ConflictError",
    "CorruptError",
    "EditSummary",
    "Expression",
    "ExternalError",
    "ForbiddenUrlError",
    "InvalidArgumentError",
    "LimitExceededError",
    "NotAShardError",
    "NotFoundError",
    "OffsetOverflowError",
    "PoisonedError",
    "RecordBatch",
    "ReplacedError",
    "RowOutOfRangeError",
    "Scan",
    "ScanMetrics",
    "Schema",
    "SchemaMismatchError",
    "ShardError",
    "ShardFile",
    "ShardIOError",
    "SortingColumn",
    "StoppedError",
    "StripeInfo",
    "UnknownColumnError",
    "UnsupportedError",
    "UnsupportedVersionError",
    "ValueOutOfRangeError",
    "VerifyReport",
    "WriteSummary",
    "WrongFileError",
    "__version__",
    "append",
    "attach",
    "col",
    "compact",
    "convert",
    "dataset",
    "delete",
    "list_shards",
    "merge",
    "open",
    "open_many",
    "pack",
    "register",
    "scan",
    "scan_polars",
    "sink",
    "statistics",
    "store",
    "take",
    "undelete",
    "vacuum",
    "write",
]


def dataset(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Any,
    *,
    store: Any = None,
    views: bool = False,
    hive: Hive = None,
    include_file_paths: str | None = None,
    schema: Any = None,
    unify: Unify = "strict",
) -> ShardDataset:
    """Returns one or more shards as a ``pyarrow.dataset.Dataset``. Needs pyarrow.

    ``source`` is a path or URL, a pattern such as ``days/**/*.shard``, a folder, which is searched with its
    subfolders, a list of these, a shard in memory, or an open :class:`ShardFile`. URLs, and paths in a ``store``, that
    end in ``/`` are folders. Folders and patterns skip names that begin with ``_`` or ``.``.

    * ``hive``: whether folders named ``key=value`` are columns: by default in folders and patterns where all shards are
      in folders of the same keys. A dict from names to ``int``, ``float``, ``str`` or ``datetime.date`` sets types.
    * ``include_file_paths``: the name of a last column with the path of the shard.
    * ``schema``: the schema of the dataset if a folder has no shard; otherwise unused.
    * ``unify``: what happens if a column has different types in the shards. With ``"strict"``, that is an error. With
      ``"widen"``, the column gets the narrowest type that holds the values of all shards: of integers and floats
      float64, of nulls and any type that type, of dates and timestamps timestamps, of two time zones UTC. Filters
      compare values of that type. A value that it does not hold exactly, such as an integer above 2**53 as a float, is
      an error when it is read. Integers and text have no common type.

    Libraries that read pyarrow datasets can use it: DuckDB by the name of the variable, see also :func:`register`, and
    DataFusion with ``register_dataset``. The filters that they push down use statistics, dictionaries and indexes where
    possible, and are always applied. For polars, use :func:`scan_polars`: the translation of filters by
    ``polars.scan_pyarrow_dataset`` changes the meaning of some of them.

    >>> ds = sh.dataset(path)
    >>> ds.to_table(filter=pc.field("id") > 1).to_pylist()
    [{'id': 2, 'name': 'Lima'}]
    """
    from ._dataset import open_dataset

    return open_dataset(
        source,
        store=store,
        views=views,
        hive=hive,
        include_file_paths=include_file_paths,
        schema=schema,
        unify=unify,
    )
