"""Finds the shards of a source, such as a folder or a pattern, and opens them as one table."""

from __future__ import annotations

import datetime
import glob
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from . import _lib
from ._errors import InvalidArgumentError

_WILD = re.compile(r"[*?[]")
# Hive's name for null.
_NULL = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"-?\d{1,18}")
_FLOAT = re.compile(r"-?\d+\.\d+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Hive = bool | Mapping[str, type] | None
# How a table unites different types of a column.
Unify = Literal["strict", "widen"]


@dataclass(frozen=True)
class Found:
    """The shards of a source."""

    paths: list[str]
    # For each path the names of the folders that may be named `key=value`.
    folders: list[list[str]]
    # Whether shards that others contain are left out, as in a folder.
    leaves_out: bool


def open_table(
    source: Any,
    *,
    store: Any = None,
    views: bool = False,
    hive: Hive = None,
    include_file_paths: str | None = None,
    schema: Any = None,
    unify: Unify = "strict",
) -> _lib.ShardFile:
    """Opens the shards of a source as one table, with columns for the folders and the paths of the shards.

    >>> open_table(folder, include_file_paths="from").schema.names
    ['id', 'name', 'from']
    """
    if unify not in ("strict", "widen"):
        raise InvalidArgumentError(f'unify is "strict" or "widen", found {unify!r}')
    if _is_memory(source):
        if isinstance(hive, Mapping) or hive or include_file_paths is not None:
            raise InvalidArgumentError("a shard in memory has neither folders nor a path")
        return _lib.open(source, store=store, views=views)
    is_one = isinstance(source, (str, os.PathLike))
    kind = _kind(source, store) if is_one else "list"
    wanted = include_file_paths is not None or (hive if isinstance(hive, bool) else hive is not None)
    if kind == "file" and not wanted:
        return _lib.open(source, store=store, views=views)
    found = _find(source, kind, store)
    if not found.paths:
        if schema is not None:
            return _lib.open(_without_rows(schema), views=views)
        where = "list" if kind == "list" else f"{kind} {os.fspath(source)!r}"
        raise InvalidArgumentError(
            f"the {where} has no shard; pass `schema`, for example a pyarrow schema, to get a table without rows"
        )
    columns = [] if hive is False else _hive_columns(found, hive, is_automatic=hive is None and kind == "list")
    if include_file_paths is not None:
        columns.append((include_file_paths, list[Any](found.paths)))
    if kind == "folder" and not columns and not any(found.folders):
        return _lib.open_many(source, store=store, views=views, unify=unify)
    return _opened(found, columns, include_file_paths, store, views, unify)


def _is_memory(source: Any) -> bool:
    """Returns whether a source is a file object or a buffer of bytes."""
    if hasattr(source, "read") or isinstance(source, (bytes, bytearray, memoryview)):
        return True
    if isinstance(source, (str, os.PathLike, Iterable)):
        return False
    try:
        memoryview(source).release()
    except TypeError:
        return False
    return True


def _opened(
    found: Found,
    columns: list[tuple[str, list[Any]]],
    file_paths: str | None,
    store: Any,
    views: bool,
    unify: Unify,
) -> _lib.ShardFile:
    def opened(columns: list[tuple[str, list[Any]]]) -> _lib.ShardFile:
        return _lib.open_many(
            found.paths, store=store, views=views, columns=columns, leave_out=found.leaves_out, unify=unify
        )

    try:
        return opened(columns)
    except InvalidArgumentError:
        if not columns:
            raise
        # A column that is stored in the shards as well is not added.
        stored = set(opened([]).schema.names)
        left = [column for column in columns if column[0] not in stored or column[0] == file_paths]
        if left == columns:
            raise
        return opened(left)


def _kind(source: Any, store: Any) -> str:
    path = os.fspath(source)
    if not isinstance(path, str):
        raise TypeError(f"expected a path, a URL or a list of them, found {source!r}")
    is_remote = store is not None or "://" in path
    if is_remote:
        is_folder = path in ("", "/") or path.endswith("/")
    else:
        path = os.path.expanduser(path)
        is_folder = os.path.isdir(path)
    if is_folder:
        return "folder"
    # A file may have a name like a pattern.
    is_file = not is_remote and os.path.lexists(path)
    return "pattern" if _WILD.search(path) and not is_file else "file"


def _find(source: Any, kind: str, store: Any) -> Found:
    if kind == "list":
        if isinstance(source, Mapping) or not isinstance(source, Iterable):
            raise TypeError(f"expected a path, a URL or a list of them, found {source!r}")
        paths, folders = [], []
        for one in source:
            if not isinstance(one, (str, os.PathLike)):
                raise TypeError(f"expected a list of paths or URLs, found {one!r}")
            part = _find(one, _kind(one, store), store)
            paths += part.paths
            folders += part.folders
        return Found(paths, folders, leaves_out=False)
    path = os.fspath(source)
    is_remote = store is not None or "://" in path
    if not is_remote:
        # Not normalised: `..` after a symbolic link would lead to another place.
        path = os.path.join(os.getcwd(), os.path.expanduser(path))
    if kind == "file":
        return Found([path], [path.split("/")[:-1]], leaves_out=False)
    if kind == "folder":
        paths = _listed(path, store)
        return Found(paths, [_below(path, found) for found in paths], leaves_out=True)
    first = _WILD.search(path)
    base = path[: path.rindex("/", 0, first.start()) + 1] if first and "/" in path[: first.start()] else ""
    if is_remote:
        matches = _pattern(path[len(base) :])
        paths = [found for found in _listed(base, store) if matches(_rest(base, found))]
    else:
        some = glob.iglob(path, recursive=True)
        paths = sorted(found for found in some if os.path.isfile(found) and not found.endswith(".amudai.stripe"))
    return Found(paths, [_below(base, found) for found in paths], leaves_out=True)


def _listed(folder: str, store: Any) -> list[str]:
    """Lists the shards below a folder, as URLs if the folder is one."""
    listed = _lib.list_shards(folder, recursive=True, store=store)
    if store is not None or "://" not in folder:
        return listed
    scheme, _, rest = folder.partition("://")
    root = f"{scheme}://{rest.partition('/')[0]}/"
    return [found if "://" in found else root + found for found in listed]


def _rest(base: str, path: str) -> str:
    """Returns the path below a folder."""
    base = base.strip("/")
    path = path.strip("/")
    return path[len(base) :].strip("/") if path.startswith(base) else path


def _below(base: str, path: str) -> list[str]:
    """Returns the names of the folders between a folder and a file.

    >>> _below("/days", "/days/year=2024/1.amudai.shard")
    ['year=2024']
    """
    return _rest(base, path).split("/")[:-1]


def _pattern(text: str) -> Callable[[str], Any]:
    """Returns a test of paths by a pattern, in which only ``**`` matches slashes.

    >>> [bool(_pattern("**/*.shard")(path)) for path in ("a.shard", "x/y/a.shard", "a.parquet")]
    [True, True, False]
    """
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", text)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}

    def translated(part: str) -> str:
        if part.startswith("[") and part.endswith("]"):
            return "[^" + part[2:] if part.startswith("[!") else part
        return meaning.get(part) or re.escape(part)

    return re.compile("".join(map(translated, parts)), re.DOTALL).fullmatch


def _hive_columns(found: Found, hive: Hive, is_automatic: bool) -> list[tuple[str, list[Any]]]:
    """Returns the columns that the names of folders describe, with a value for each shard."""
    if is_automatic:
        return []
    pairs = [dict(part.split("=", 1) for part in parts if part.find("=") > 0) for parts in found.folders]
    keys = list(pairs[0])
    for path, pair in zip(found.paths, pairs):
        if list(pair) != keys:
            if hive is None:
                return []
            raise InvalidArgumentError(
                f"{path} is in folders for the columns {list(pair)}, and {found.paths[0]} in folders for {keys}"
            )
    types = hive if isinstance(hive, Mapping) else {}
    for name in types:
        if name not in keys:
            raise InvalidArgumentError(f"hive: no folder is named `{name}=...`; the columns are {keys}")
    texts = {key: [unquote(pair[key]) for pair in pairs] for key in keys}
    return [(key, _typed(key, texts[key], types.get(key))) for key in keys]


def _typed(name: str, texts: list[str], kind: type | None) -> list[Any]:
    """Converts texts to the first type that all of them have: integers, floats, dates, texts.

    >>> _typed("a", ["1", "__HIVE_DEFAULT_PARTITION__"], None), _typed("a", ["1", "x"], None)
    ([1, None], ['1', 'x'])
    """
    valid = [text for text in texts if text != _NULL]
    parsers: dict[type, Callable[[str], Any]] = {
        int: int, float: float, datetime.date: datetime.date.fromisoformat, str: str,
    }
    if kind is not None:
        if kind not in parsers:
            raise InvalidArgumentError(f"hive: column {name!r} is int, float, datetime.date or str, found {kind!r}")
        try:
            return [None if text == _NULL else parsers[kind](text) for text in texts]
        except ValueError as error:
            raise InvalidArgumentError(f"hive: a folder of column {name!r}: {error}") from None
    for pattern, one in ((_INTEGER, int), (_FLOAT, float), (_DATE, datetime.date)):
        if valid and all(pattern.fullmatch(text) for text in valid):
            try:
                return [None if text == _NULL else parsers[one](text) for text in texts]
            except ValueError:  # such as 2024-02-30
                continue
    return [None if text == _NULL else text for text in texts]


def _without_rows(schema: Any) -> bytes:
    """Returns a shard with a schema and without rows."""
    import pyarrow

    table = pyarrow.schema(schema).empty_table()
    file = io.BytesIO()
    _lib.write(table, file)
    return file.getvalue()
