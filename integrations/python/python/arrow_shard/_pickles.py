"""Functions that unpickled objects call: they repeat the call that made the object."""

from __future__ import annotations

import operator
from typing import Any

from . import _lib


def reopened(function: str, source: Any, options: dict[str, Any]) -> _lib.ShardFile:
    """Opens a file again, by the name of the function that opened it."""
    opened: _lib.ShardFile = getattr(_lib, function)(source, **options)
    return opened


def scanned(file: _lib.ShardFile, options: dict[str, Any]) -> _lib.Scan:
    """Scans a file again."""
    return file.scan(**options)


def condition(name: str, *arguments: Any) -> _lib.Expression:
    """Makes a condition again, by the name of an operator or of a method of a column.

    >>> condition("gt", sh.col("id"), 1)
    <Expression id > 1>
    >>> condition("is_in", sh.col("id"), [1, 2])
    <Expression id IN (1, 2)>
    """
    if name == "parse":
        return _lib.Expression.parse(*arguments)
    function = getattr(operator, name, None)
    if function is None:
        column, *others = arguments
        function, arguments = getattr(column, name), tuple(others)
    made: _lib.Expression = function(*arguments)
    return made
