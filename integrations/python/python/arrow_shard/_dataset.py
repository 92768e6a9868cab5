"""Shards as pyarrow datasets."""

from __future__ import annotations

import functools
import io
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs

from . import _lib
from ._sources import open_table

_BATCH_SIZE = 131_072
# DuckDB stops reading between two batches: with smaller ones, a query for the first rows reads fewer rows in vain.
_DUCKDB_BATCH_SIZE = 65_536

# Options of pyarrow's scanners that are accepted and ignored.
_OPTIONS = {
    "batch_readahead",
    "cache_metadata",
    "fragment_readahead",
    "fragment_scan_options",
    "memory_pool",
    "use_threads",
}


def open_dataset(source: Any, **options: Any) -> ShardDataset:
    """Opens the source of ``arrow_shard.dataset``, with its options."""
    return ShardDataset(open_table(source, **options))


def _refuse(*args: Any) -> NoReturn:
    raise NotImplementedError(
        "pyarrow's own functions cannot look behind a dataset of shards: give them its scanner(), or to_table()"
    )


# A file system that raises an error for every operation.
_Nowhere = type(
    "_Nowhere",
    (pyarrow.fs.FileSystemHandler,),
    {name: _refuse for name in pyarrow.fs.FileSystemHandler.__abstractmethods__}
    | {"get_type_name": lambda _: "shards", "normalize_path": lambda _, path: path},
)


def _unreadable(schema: pa.Schema, conditions: Sequence[pc.Expression | None] = (None,)) -> ds.Dataset:
    """Returns an unreadable dataset of pyarrow. pyarrow functions that use the children of a dataset then raise an
    error instead of reading a null pointer. ``conditions`` are true for all rows of each of its files, which are named
    by their numbers.
    """
    files, system = ds.FeatherFileFormat(), pyarrow.fs.PyFileSystem(_Nowhere())
    fragments = [
        files.make_fragment(str(number), system, partition_expression=condition)
        for number, condition in enumerate(conditions)
    ]
    return ds.FileSystemDataset(fragments, schema, files, filesystem=system)


def _columns(columns: Any) -> list[str] | dict[str, Any] | None:
    """Checks columns in pyarrow's form: names, or a dict from names of columns to expressions."""
    if columns is None or isinstance(columns, dict):
        return columns
    if isinstance(columns, (str, bytes)):
        raise ValueError(f"expected a list or a dict for 'columns', found {columns!r}")
    return list(columns)


def _row_numbers(indices: Any) -> pa.Array:
    """Converts positions of rows to an array of integers without nulls."""
    numbers = indices if isinstance(indices, (pa.Array, pa.ChunkedArray)) else pa.array(indices)
    if len(numbers) == 0:
        return pa.array([], pa.int64())
    if isinstance(numbers, pa.ChunkedArray):
        numbers = numbers.combine_chunks()
    if numbers.null_count > 0:
        raise TypeError("expected places of rows as integers without nulls, found null")
    if not pa.types.is_integer(numbers.type):
        raise TypeError(f"expected places of rows as integers without nulls, found {numbers.type}")
    return numbers


class _Rows:
    """The common base of datasets and fragments of shards: methods that scan rows."""

    _file: _lib.ShardFile
    _filters: tuple[Any, ...]
    _row_range: tuple[int, int] | None
    _last: _lib.Scan | None = None

    def _scan(self, columns: Any, filter: Any, batch_size: int, limit: int | None = None) -> _lib.Scan:
        """Starts a scan of distinct columns, of the rows that match all filters."""
        if batch_size < 1:
            raise ValueError(f"expected a batch size of at least 1, found {batch_size}")
        filters = list(self._filters if filter is None else (*self._filters, filter))
        self._last = self._file.scan(
            columns=columns if columns is None else list(dict.fromkeys(columns)),
            filter=filters or None,
            limit=limit,
            batch_size=min(batch_size, _BATCH_SIZE),
            row_range=self._row_range,
        )
        return self._last

    def metrics(self) -> _lib.ScanMetrics | None:
        """Returns what the last scan has read and tested, and what its filter skipped.

        >>> ds = sh.dataset(path)
        >>> ds.count_rows(filter=pc.field("id") > 100), ds.metrics().skipped_by_statistics
        (0, 2)
        """
        return None if self._last is None else self._last.metrics()

    def scanner(
        self,
        columns: Any = None,
        filter: Any = None,
        batch_size: int = _BATCH_SIZE,
        **options: Any,
    ) -> ds.Scanner:
        """Returns a pyarrow scanner over the rows, which can be read once. ``columns`` are names, or a dict from names
        of columns to expressions. Other options of pyarrow's scanners have no effect.
        """
        _check(options)
        columns = _columns(columns)
        if isinstance(columns, dict):
            needed = self._columns_of(columns.values())
            reader = pa.RecordBatchReader.from_stream(self._scan(needed, filter, batch_size))
            return ds.Scanner.from_batches(reader, columns=columns)
        reader = pa.RecordBatchReader.from_stream(self._scan(columns, filter, batch_size))
        return ds.Scanner.from_batches(reader, columns=columns)

    def _columns_of(self, expressions: Iterable[Any]) -> list[str] | None:
        """Returns the columns that expressions refer to; None for all."""
        names: dict[str, None] = {}
        for expression in expressions:
            found = _lib.expression_columns(expression)
            if found is None:
                return None
            names.update(dict.fromkeys(found))
        return list(names)

    def to_batches(
        self, columns: Any = None, filter: Any = None, batch_size: int = _BATCH_SIZE, **options: Any
    ) -> Iterator[pa.RecordBatch]:
        """Returns the rows that match, as batches."""
        _check(options)
        columns = _columns(columns)
        if isinstance(columns, dict):
            return iter(_Rows.scanner(self, columns, filter, batch_size).to_batches())
        batches = map(pa.record_batch, self._scan(columns, filter, batch_size))
        if columns is None or len(set(columns)) == len(columns):
            return batches
        return (batch.select(columns) for batch in batches)

    def to_table(
        self, columns: Any = None, filter: Any = None, batch_size: int = _BATCH_SIZE, **options: Any
    ) -> pa.Table:
        """Returns the rows that match, as a table."""
        _check(options)
        return self._table(columns, filter, batch_size, None)

    def _table(self, columns: Any, filter: Any, batch_size: int, limit: int | None) -> pa.Table:
        columns = _columns(columns)
        if isinstance(columns, dict):
            scanner = _Rows.scanner(self, columns, filter, batch_size)
            return scanner.to_table() if limit is None else scanner.head(limit)
        scan = self._scan(columns, filter, batch_size, limit)
        table = pa.Table.from_batches(map(pa.record_batch, scan), schema=pa.schema(scan.schema))
        return table if columns is None else table.select(columns)

    def head(
        self,
        num_rows: int,
        columns: Any = None,
        filter: Any = None,
        batch_size: int = _BATCH_SIZE,
        **options: Any,
    ) -> pa.Table:
        """Returns the first rows that match."""
        _check(options)
        return self._table(columns, filter, batch_size, num_rows)

    def count_rows(self, filter: Any = None, batch_size: int = _BATCH_SIZE, **options: Any) -> int:
        """Counts the rows that match. Without a filter, the number comes from metadata."""
        _check(options)
        whole = not self._filters and filter is None and self._row_range is None
        if whole:
            return self._file.num_rows
        return self._scan([], filter, batch_size).count()

    def take(
        self,
        indices: Any,
        columns: Any = None,
        filter: Any = None,
        batch_size: int = _BATCH_SIZE,
        **options: Any,
    ) -> pa.Table:
        """Returns rows by their positions among the rows that match."""
        _check(options)
        columns, indices = _columns(columns), _row_numbers(indices)
        whole = not self._filters and filter is None and self._row_range is None
        if whole and self._file.num_deleted_rows == 0 and not isinstance(columns, dict):
            names = None if columns is None else list(dict.fromkeys(columns))
            taken = pa.Table.from_batches([pa.record_batch(self._file.take(indices, names))])
            return taken if columns is None else taken.select(columns)
        return _Rows.to_table(self, columns, filter, batch_size).take(indices)


class ShardDataset(_Rows, ds.UnionDataset):  # type: ignore[misc]
    """One or more shards as a pyarrow dataset, from ``arrow_shard.dataset``."""

    def __init__(self, file: _lib.ShardFile, filters: tuple[Any, ...] = ()) -> None:
        schema = pa.schema(file.schema)
        ds.UnionDataset.__init__(self, schema, [_unreadable(schema)])
        self._file = file
        self._filters = filters
        self._row_range = None
        self._schema = schema

    def __reduce__(self) -> Any:
        return ShardDataset, (self._file, self._filters)

    def __repr__(self) -> str:
        return f"<ShardDataset of {self._file!r}>"

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows."""
        return self._schema

    @property
    def partition_expression(self) -> pc.Expression:
        """A condition that is true for all rows."""
        return pc.scalar(True)

    @property
    def children(self) -> list[ds.Dataset]:
        """The child datasets: none."""
        return []

    def filter(self, expression: Any) -> ShardDataset:
        """Returns a dataset of the rows that match. ``expression`` is a filter of any kind that ``ShardFile.scan``
        supports; filters of several calls must all be true.

        >>> sh.dataset(path).filter(pc.field("id") > 1).to_table().num_rows
        1
        """
        if expression is None:
            raise TypeError("expected a filter, found None")
        return ShardDataset(self._file, (*self._filters, expression))

    def get_fragments(self, filter: Any = None) -> Iterator[ShardFragment]:
        """Returns a fragment for each shard, except for shards without matching rows because of the values of folders
        or paths.

        >>> ds = sh.dataset(path, include_file_paths="from")
        >>> [len(list(ds.get_fragments(pc.field("from") == file))) for file in (path, "another")]
        [1, 0]
        """
        filters = self._filters if filter is None else (*self._filters, filter)
        files: list[str | None] = [*self._file.files] or [None]
        values = _values_of_shards(self._file)
        conditions = [_condition(values, number) for number in range(len(files))]
        kept = _kept(self._schema, values, conditions, filters)
        for number, (path, rows) in enumerate(zip(files, self._file.row_ranges)):
            if number in kept:
                yield ShardFragment(self._file, path, rows, filters, conditions[number])

    @property
    def files(self) -> list[str]:
        """The paths of the shards.

        >>> sh.dataset(path).files == [path]
        True
        """
        return self._file.files

    def replace_schema(self, schema: pa.Schema) -> ShardDataset:
        """Returns the dataset itself for its own schema; other schemas are not supported. To read columns in other
        types, use ``ShardFile.scan``.
        """
        if schema.equals(self._schema):
            return self
        raise NotImplementedError("read columns in other types by ShardFile.scan(schema=...)")

    def sort_by(self, sorting: Any, **kwargs: Any) -> ds.InMemoryDataset:
        """Returns the sorted rows, in memory."""
        return ds.InMemoryDataset(self.to_table().sort_by(sorting, **kwargs))

    def join(self, right_dataset: Any, keys: Any, right_keys: Any = None, **kwargs: Any) -> ds.InMemoryDataset:
        """Returns the rows joined with the rows of another dataset, in memory."""
        return ds.InMemoryDataset(self.to_table().join(right_dataset.to_table(), keys, right_keys, **kwargs))

    def join_asof(
        self, right_dataset: Any, on: Any, by: Any, tolerance: Any, right_on: Any = None, right_by: Any = None
    ) -> ds.InMemoryDataset:
        """Returns the rows joined with the nearest rows of another dataset, in memory."""
        right = right_dataset.to_table()
        return ds.InMemoryDataset(self.to_table().join_asof(right, on, by, tolerance, right_on, right_by))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._scan(None, None, _BATCH_SIZE).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __getattr__(self, name: str) -> Any:
        # DataFusion's own table scans all rows; a dataset with filters is read as a pyarrow dataset instead.
        if name == "__datafusion_table_provider__" and not self._filters and _is_in_files(self._file):
            return getattr(self._file, name)
        raise AttributeError(f"a dataset of shards has no attribute {name}")


class RegisteredDataset(ShardDataset):
    """A dataset for DuckDB, which calls only ``to_reader`` of its scanners. That method returns the batches of a scan,
    without the threads and queues of pyarrow's scanners.
    """

    def __init__(self, dataset: ShardDataset) -> None:
        super().__init__(dataset._file, dataset._filters)
        self._dataset = dataset

    def scanner(  # type: ignore[override]
        self, columns: list[str] | None = None, filter: Any = None
    ) -> _Reader:
        # The metrics of the dataset are the metrics of its last scan.
        return _Reader(self._dataset._scan(columns, filter, _DUCKDB_BATCH_SIZE))


class _Reader:
    """A scanner that can be read once."""

    def __init__(self, scan: _lib.Scan) -> None:
        self._scan = scan

    def to_reader(self) -> _lib.Scan:
        return self._scan


# Not a subclass of pyarrow's `Fragment`, which Python code cannot initialize: pyarrow's functions would read a null
# pointer.
class ShardFragment(_Rows):
    """The rows of one shard of a dataset, with the methods of ``pyarrow.dataset.Fragment``."""

    def __init__(
        self,
        file: _lib.ShardFile,
        path: str | None,
        rows: tuple[int, int],
        filters: tuple[Any, ...],
        condition: pc.Expression | None = None,
    ) -> None:
        self._condition = condition
        self._file = file
        self._path = path
        self._row_range = rows
        self._filters = filters

    def __repr__(self) -> str:
        return f"<ShardFragment of rows {self._row_range} of {self._file!r}>"

    def __reduce__(self) -> Any:
        raise TypeError("a fragment of shards cannot be pickled; pickle the dataset")

    @property
    def path(self) -> str | None:
        """The path of the shard; None for a shard in memory.

        >>> [fragment.path == path for fragment in sh.dataset(path).get_fragments()]
        [True]
        """
        return self._path

    def _check(self, schema: pa.Schema | None) -> None:
        """Raises an error for any schema other than the dataset's."""
        if schema is not None and not schema.equals(self.physical_schema):
            raise NotImplementedError("read columns in other types by ShardFile.scan(schema=...)")

    # The methods of pyarrow's fragments take a schema first.
    def scanner(  # type: ignore[override]
        self, schema: pa.Schema | None = None, *args: Any, **options: Any
    ) -> ds.Scanner:
        """Returns a pyarrow scanner over the rows, which can be read once; ``schema`` is the dataset's."""
        self._check(schema)
        return _Rows.scanner(self, *args, **options)

    def to_batches(  # type: ignore[override]
        self, schema: pa.Schema | None = None, *args: Any, **options: Any
    ) -> Iterator[pa.RecordBatch]:
        """Returns the rows that match, as batches; ``schema`` is the dataset's."""
        self._check(schema)
        return _Rows.to_batches(self, *args, **options)

    def to_table(  # type: ignore[override]
        self, schema: pa.Schema | None = None, *args: Any, **options: Any
    ) -> pa.Table:
        """Returns the rows that match, as a table; ``schema`` is the dataset's."""
        self._check(schema)
        return _Rows.to_table(self, *args, **options)

    @property
    def physical_schema(self) -> pa.Schema:
        """The schema of the rows."""
        return pa.schema(self._file.schema)

    @property
    def partition_expression(self) -> pc.Expression:
        """A condition that is true for all rows: the values of folders and of the path.

        >>> (fragment,) = sh.dataset(path, include_file_paths="from").get_fragments()
        >>> fragment.partition_expression.equals(pc.field("from") == path)
        True
        """
        return pc.scalar(True) if self._condition is None else self._condition


def _values_of_shards(file: _lib.ShardFile) -> pa.Table | None:
    """Returns a row for each shard, of the columns that have one value per shard; None without such columns."""
    _, (_, source, options) = file.__reduce__()
    columns = options.get("columns")
    # Shards that are left out have values, too.
    if not columns or len(source) != len(file.files):
        return None
    schema = pa.schema(file.schema)
    return pa.table({name: pa.array(values, schema.field(name).type) for name, values, _ in columns})


def _condition(values: pa.Table | None, number: int) -> pc.Expression | None:
    """Returns a condition that is true for all rows of a shard, in pyarrow's form of values of folders."""
    if values is None:
        return None
    parts = []
    for name in values.column_names:
        value = values[name][number]
        parts.append(pc.field(name) == value if value.is_valid else pc.field(name).is_null())
    return functools.reduce(operator.and_, parts)


def _kept(
    schema: pa.Schema, values: pa.Table | None, conditions: Sequence[pc.Expression | None], filters: Iterable[Any]
) -> set[int]:
    """Returns the numbers of the shards that may have rows that match all filters."""
    kept = set(range(len(conditions)))
    if values is None:
        return kept
    files, table = _unreadable(schema, conditions), None
    for filter in filters:
        if isinstance(filter, pc.Expression):
            # pyarrow simplifies the filter with the condition.
            kept &= {int(fragment.path) for fragment in files.get_fragments(filter)}
            continue
        if table is None:
            memory = io.BytesIO()
            _lib.write(values, memory, profile="plain")
            table = _lib.open(memory.getvalue())
        try:
            scan = table.scan(columns=[], filter=filter, with_row_number="number")
            kept &= set(pa.table(scan)["number"].to_pylist())
        except Exception:  # a filter on other columns; each library has its own exceptions
            continue
    return kept


def _is_in_files(file: _lib.ShardFile) -> bool:
    """Returns whether all rows and columns of a file are in shards that another library can open."""
    _, (_, source, options) = file.__reduce__()
    return not isinstance(source, bytes) and not options.get("columns")


def _check(options: dict[str, Any]) -> None:
    """Raises an error for options that pyarrow's scanners do not have."""
    for name in options.keys() - _OPTIONS:
        raise TypeError(f"a scanner has no option {name!r}")
