"""Types of Arrow that polars lacks or misreads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _lib
from ._errors import UnsupportedError

if TYPE_CHECKING:
    import polars as pl

# Names of members, time zones and metadata in the text of a type.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LACKING = re.compile(r"\b(?:Interval|Union|RunEndEncoded|ListView|LargeListView)\(|\bDecimal\d+\(\d+, -")
# polars reads decimals of any width as 128 bits: values of 32 and 64 bits would be random, and 256 bits are a panic.
_OTHER_WIDTH = re.compile(r"\bDecimal(?:32|64|256)\((\d+),")
_MOST_DIGITS = 38


def check(schema: _lib.Schema, advice: str, used: Iterable[str] | None = None) -> None:
    """Raises an error for the first column with a type that polars lacks, among the columns that are used."""
    names = None if used is None else set(used)
    for name, text in schema.columns:
        if (names is None or name in names) and _is_lacking(text):
            raise UnsupportedError(f"unsupported: column `{name}`: polars has no type for {text}; {advice}")


def without_lacking(schema: _lib.Schema) -> Any:
    """Returns the schema without the columns that polars has no type for."""
    lacking = {name for name, text in schema.columns if _is_lacking(text)}
    if not lacking:
        return schema
    import pyarrow

    return pyarrow.schema([field for field in pyarrow.schema(schema) if field.name not in lacking])


def readable(schema: _lib.Schema) -> Any:
    """Returns a schema of pyarrow with all decimals in 128 bits; None if they are so already.

    >>> memory = io.BytesIO()
    >>> small = pa.schema({"price": pa.decimal32(5, 2), "id": pa.int8()})
    >>> sh.write(small.empty_table(), memory).rows
    0
    >>> readable(sh.open(memory.getvalue()).schema).field("price").type
    Decimal128Type(decimal128(5, 2))
    """
    others = [name for name, text in schema.columns if _OTHER_WIDTH.search(_QUOTED.sub("", text))]
    if not others:
        return None
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"column `{others[0]}` has decimals that polars misreads unless pyarrow is installed"
        ) from error
    stored = pyarrow.schema(schema)
    fields = [field.with_type(_widened(field.type)) if field.name in others else field for field in stored]
    return pyarrow.schema(fields, stored.metadata)


def frame(rows: _lib.RecordBatch | _lib.Scan) -> pl.DataFrame:
    """Returns a batch, or all rows of a scan, as a data frame."""
    import polars as pl

    check(rows.schema, "read the other columns only")
    schema, source = readable(rows.schema), rows
    if schema is not None:
        import pyarrow

        batches = [rows] if isinstance(rows, _lib.RecordBatch) else rows
        stored = pyarrow.schema(rows.schema)
        source = pyarrow.Table.from_batches(map(pyarrow.record_batch, batches), schema=stored).cast(schema)
    return named(pl.DataFrame(source), rows.schema.names)


def named(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Returns the data frame with the names of an Arrow schema: polars replaces empty ones."""
    if "" in names:
        frame.columns = names
    return frame


def _is_lacking(text: str) -> bool:
    """Returns whether polars lacks the type with this text."""
    plain = _QUOTED.sub("", text)
    digits = [int(found[1]) for found in _OTHER_WIDTH.finditer(plain)]
    return bool(_LACKING.search(plain)) or max(digits, default=0) > _MOST_DIGITS


def _widened(data_type: Any) -> Any:
    """Returns a type with all of its decimals in 128 bits."""
    import pyarrow as pa
    from pyarrow import types

    def of(field: Any) -> Any:
        return field.with_type(_widened(field.type))

    if isinstance(data_type, pa.BaseExtensionType):
        return _widened(data_type.storage_type)
    if types.is_decimal(data_type):
        return pa.decimal128(data_type.precision, data_type.scale)
    if types.is_struct(data_type):
        return pa.struct([of(member) for member in data_type])
    if types.is_fixed_size_list(data_type):
        return pa.list_(of(data_type.value_field), data_type.list_size)
    if types.is_large_list(data_type):
        return pa.large_list(of(data_type.value_field))
    if types.is_list(data_type):
        return pa.list_(of(data_type.value_field))
    if types.is_map(data_type):
        return pa.map_(of(data_type.key_field), of(data_type.item_field), data_type.keys_sorted)
    if types.is_dictionary(data_type):
        return pa.dictionary(data_type.index_type, _widened(data_type.value_type), data_type.ordered)
    return data_type
