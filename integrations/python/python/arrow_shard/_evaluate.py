"""Evaluates pyarrow expressions with pyarrow."""

from __future__ import annotations

from typing import Any


def matches(expression: Any, batch: Any) -> Any:
    """Evaluates an expression for every row of a batch: true, false or null."""
    import pyarrow
    import pyarrow.dataset

    rows = batch.to_pyarrow()
    scanner = pyarrow.dataset.Scanner.from_batches(
        [rows], schema=rows.schema, columns={"matches": expression}, use_threads=False
    )
    column = scanner.to_table().column(0)
    if pyarrow.types.is_null(column.type):
        column = column.cast(pyarrow.bool_())
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
