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

from . import store
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
from ._lance import convert
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
    attach,
    col,
    compact,
    delete,
    list_shards,
    merge,
    open,
    open_many,
    pack,
    undelete,
    vacuum,
)
from ._read import scan, statistics, take
from ._write import write

if TYPE_CHECKING:
    from ._dataset import ShardDataset

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
    "scan",
    "statistics",
    "store",
    "take",
    "undelete",
    "vacuum",
    "write",
]


def dataset(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    store: Any = None,
    views: bool = False,
) -> ShardDataset:
    """Returns one or more shards as a ``pyarrow.dataset.Dataset``. ``source`` is a path or URL, a folder of shards, or
    a list of paths. URLs, and paths in a ``store``, that end in ``/`` are folders. Needs pyarrow.

    Libraries that read pyarrow datasets can use it: polars with ``scan_pyarrow_dataset``, DuckDB by the name of the
    variable, DataFusion with ``register_dataset``. The filters that they push down use statistics, dictionaries and
    indexes where possible, and are always applied.

    >>> ds = sh.dataset(path)
    >>> ds.to_table(filter=pc.field("id") > 1).to_pylist()
    [{'id': 2, 'name': 'Lima'}]
    """
    from ._dataset import open_dataset

    return open_dataset(source, store=store, views=views)
