"""Reads and writes Lance files, with pylance."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _lib
from ._errors import UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_SIZE = 8192


def read_lance(path: str) -> Any:
    """Returns a reader of the batches of a Lance file, or of a Lance dataset, which is a folder."""
    import pyarrow as pa

    if os.path.isdir(path):
        import lance

        return lance.dataset(path).scanner().to_reader()
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}")
    from lance.file import LanceFileReader

    reader = LanceFileReader(path)
    schema = reader.metadata().schema
    return pa.RecordBatchReader.from_batches(schema, reader.read_all(batch_size=_BATCH_SIZE).to_batches())


def write_lance(source: str, target: str, version: str) -> int:
    """Writes the rows of a shard to a new Lance file, and returns their number.

    Lance does not support Decimal32, Decimal64, intervals, list views, run-end encoding and unions, and reads string
    and binary views back as strings and binaries. A column of an unsupported type is an error before anything is written.
    """
    import pyarrow as pa

    scan = _lib.open(source, views=True).scan()
    schema = pa.schema(scan.schema)
    for field in schema:
        why = _refused(field.type, version)
        if why is not None:
            raise UnsupportedError(f"unsupported: column `{field.name}`: Lance {version} has no {why}")
    return _write_lance(target, schema, map(pa.record_batch, scan), version)


def _write_lance(path: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch], version: str) -> int:
    from lance.file import LanceFileWriter

    rows = 0
    with LanceFileWriter(path, schema, version=version) as writer:
        for batch in batches:
            try:
                writer.write_batch(batch)
            except Exception as error:
                name = _failing(path, batch, version)
                raise UnsupportedError(f"unsupported: column `{name}`: {error}") from error
            rows += batch.num_rows
    return rows


def _failing(path: str, batch: pa.RecordBatch, version: str) -> str:
    """Returns the first column of a batch that Lance cannot write alone, to name it in an error."""
    from lance.file import LanceFileWriter

    for name in batch.schema.names:
        alone = batch.select([name])
        try:
            with LanceFileWriter(f"{path}.probe", alone.schema, version=version) as writer:
                writer.write_batch(alone)
        except Exception:
            return str(name)
    return ", ".join(batch.schema.names)


def _refused(data_type: Any, version: str) -> str | None:
    """Returns the part of a type that Lance does not support; None if it supports the type."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(data_type, pa.BaseExtensionType):
        return _refused(data_type.storage_type, version)
    is_refused = (
        types.is_decimal32(data_type)
        or types.is_decimal64(data_type)
        or types.is_interval(data_type)
        or types.is_list_view(data_type)
        or types.is_large_list_view(data_type)
        or types.is_run_end_encoded(data_type)
        or types.is_union(data_type)
        or (types.is_map(data_type) and version < "2.2")
        or (_is_view(data_type) and version < "2.1")
    )
    if is_refused:
        return str(data_type)
    if types.is_fixed_size_list(data_type) and not _is_fixed(data_type.value_type):
        return f"{data_type}: the items of a list of fixed size are numbers there"
    if types.is_struct(data_type) and data_type.num_fields == 0:
        return "struct without members"
    if types.is_dictionary(data_type):
        return _refused(data_type.value_type, version)
    if types.is_nested(data_type):
        for i in range(data_type.num_fields):
            why = _refused(data_type.field(i).type, version)
            if why is not None:
                return why
    return None


def _is_view(data_type: Any) -> bool:
    return str(data_type) in ("string_view", "binary_view")


def _is_fixed(data_type: Any) -> bool:
    """Returns whether all values of a type have the same number of bytes."""
    from pyarrow import types

    if types.is_fixed_size_list(data_type):
        return _is_fixed(data_type.value_type)
    return bool(types.is_primitive(data_type) or types.is_fixed_size_binary(data_type) or types.is_decimal(data_type))
