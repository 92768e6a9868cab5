"""Finds the files of a source, such as a folder or a pattern, and opens shards as one table."""

from __future__ import annotations

import datetime
import fnmatch
import glob
import io
import os
import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from . import _lib
from ._errors import InvalidArgumentError

_WILD = re.compile(r"[*?[]")
# Hive's name for null.
_NULL = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"-?\d{1,18}")
# Integers of up to 15 digits are exact as floats.
_FLOAT = re.compile(r"-?(?:\d{1,15}|\d+\.\d+)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Hive = bool | Mapping[str, type] | None
# How a table unites different types of a column.
Unify = Literal["strict", "widen"]


# The name of a column, a value for each file, and the name of a type, without which the values have the type.
FileColumn = tuple[str, list[Any], str | None]
# The kind of files in a source.
Files = Literal["shards", "Parquet files"]


@dataclass(frozen=True)
class Found:
    """The files of a source."""

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
    if isinstance(source, _lib.ShardFile):
        if store is not None or hive is not None or include_file_paths is not None or unify != "strict":
            raise InvalidArgumentError(
                "a file that is open has its columns already; pass its path, to set store, hive, include_file_paths or "
                "unify"
            )
        return source
    if _is_memory(source):
        if isinstance(hive, Mapping) or hive or include_file_paths is not None:
            raise InvalidArgumentError("a shard in memory has neither folders nor a path")
        return _lib.open(source, store=store, views=views)
    is_one = isinstance(source, (str, os.PathLike))
    source = _local(source, store) if is_one else source
    kind = _kind(source, store) if is_one else "list"
    wanted = include_file_paths is not None or (hive if isinstance(hive, bool) else hive is not None)
    if kind == "file" and not wanted:
        return _lib.open(source, store=store, views=views)
    found = _find(source, kind, store, "shards")
    if not found.paths:
        if schema is not None:
            types = hive if isinstance(hive, Mapping) else {}
            return _lib.open(_without_rows(schema, types, include_file_paths), views=views)
        where = "list" if kind == "list" else f"{kind} {os.fspath(source)!r}"
        raise InvalidArgumentError(
            f"the {where} has no shard; pass `schema`, for example a pyarrow schema, to get a table without rows"
        )
    columns = _columns_of(found, kind, hive, include_file_paths)
    if kind == "folder" and not columns and not any(found.folders):
        return _lib.open_many(source, store=store, views=views, unify=unify)
    return _opened(found, columns, include_file_paths, store, views, unify, is_automatic=hive is None)


def parquet_files(
    source: Any, store: Any, hive: Hive, include_file_paths: str | None
) -> tuple[list[str], list[FileColumn]]:
    """Returns the Parquet files of a source, and columns with a value for each of them."""
    is_one = isinstance(source, (str, os.PathLike))
    kind = _kind(source, store) if is_one else "list"
    found = _find(source, kind, store, "Parquet files")
    if not found.paths:
        where = "list" if kind == "list" else f"{kind} {os.fspath(source)!r}"
        raise InvalidArgumentError(f"the {where} has no Parquet file, `*.parquet`, `*.parq` or `*.pq`")
    return found.paths, _columns_of(found, kind, hive, include_file_paths)


def _columns_of(found: Found, kind: str, hive: Hive, include_file_paths: str | None) -> list[FileColumn]:
    """Returns the columns for the folders and the paths of the files."""
    columns = [] if hive is False or (hive is None and kind == "list") else _hive_columns(found, hive)
    if include_file_paths is not None:
        columns.append((include_file_paths, list[Any](found.paths), "string"))
    return columns


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
    columns: list[FileColumn],
    file_paths: str | None,
    store: Any,
    views: bool,
    unify: Unify,
    is_automatic: bool,
) -> _lib.ShardFile:
    def opened(columns: list[FileColumn]) -> _lib.ShardFile:
        return _lib.open_many(
            found.paths, store=store, views=views, columns=columns, leave_out=found.leaves_out, unify=unify
        )

    try:
        return opened(columns)
    except InvalidArgumentError:
        if not columns:
            raise
        stored = set(opened([]).schema.names)
        both = [name for name, *_ in columns if name in stored and name != file_paths]
        if not both:
            raise
        if not is_automatic:
            raise InvalidArgumentError(
                f"hive: the shards store a column {both[0]!r} themselves, which may have other values than the names "
                "of the folders; without `hive`, the stored column is read"
            ) from None
        return opened([column for column in columns if column[0] not in both])


def _local(source: Any, store: Any) -> Any:
    """Returns the path of a URL such as ``file:///data/t.shard``, and anything else as it is.

    >>> _local("file:///a%20b/*.shard", None), _local("s3://a/b", None)
    ('/a b/*.shard', 's3://a/b')
    """
    path = os.fspath(source)
    if store is not None or not isinstance(path, str) or not path.startswith("file://"):
        return source
    return unquote(path.removeprefix("file://").removeprefix("localhost"))


def _kind(source: Any, store: Any) -> str:
    path = os.fspath(source)
    if not isinstance(path, str):
        raise TypeError(f"expected a path, a URL or a list of them, found {source!r}")
    path = _local(path, store)
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


def _find(source: Any, kind: str, store: Any, files: Files) -> Found:
    if kind == "list":
        if isinstance(source, Mapping) or not isinstance(source, Iterable):
            raise TypeError(f"expected a path, a URL or a list of them, found {source!r}")
        paths, folders = [], []
        for one in source:
            if isinstance(one, _lib.ShardFile):
                one = _path_of(one, store)
            if not isinstance(one, (str, os.PathLike)):
                is_one = _is_memory(one)
                raise TypeError(
                    f"expected a list of paths or URLs, found {reprlib.repr(one)}"
                    + ("; a shard in memory is a table alone" if is_one else "")
                )
            part = _find(one, _kind(one, store), store, files)
            paths += part.paths
            folders += part.folders
        return Found(paths, folders, leaves_out=False)
    path = _local(os.fspath(source), store)
    is_url = store is None and "://" in path
    is_remote = store is not None or is_url
    if kind == "file":
        # A list of files has no folder above them, so all folders of their names count.
        above = (unquote(_name(path)) if is_url else path).split("/")[:-1]
        return Found([path if is_remote else _absolute(path)], [above], leaves_out=False)
    if kind == "folder":
        path = path if is_remote else _absolute(path)
        base = unquote(_name(path)) if is_url else path if is_remote else os.path.realpath(path)
        listed = _listed(path, store, files)
        return Found([one.path for one in listed], [_below(base, one.name) for one in listed], leaves_out=True)
    first = _WILD.search(path)
    end = path.rindex("/", 0, first.start()) + 1 if first and "/" in path[: first.start()] else 0
    base, pattern = path[:end], _parts(path[end:])
    if is_remote:
        hidden = [part for part in pattern if part.startswith(("_", "."))]
        if hidden:
            raise InvalidArgumentError(
                f"the pattern {path!r} asks for {hidden[0]!r}: in stores, names that begin with `_` or `.` are found "
                "only before the first wildcard"
            )
        some = _listed(base, store, files)
        base = unquote(_name(base)) if is_url else base
    else:
        base = _absolute(base) if base else os.path.join(os.getcwd(), "")
        matches = glob.iglob(glob.escape(base) + path[end:], recursive=True)
        # Two `**` may lead to a file in several ways.
        names = sorted({found for found in matches if os.path.isfile(found) and _may_be(found, files)})
        some = [_File(name, name) for name in names]
    found = [one for one in some if _is_match(_parts(_rest(base, one.name)), pattern)]
    return Found([one.path for one in found], [_below(base, one.name) for one in found], leaves_out=True)


def _absolute(path: str) -> str:
    """Returns a path from the root. It is not normalized: ``..`` after a symbolic link would lead to another place."""
    return os.path.join(os.getcwd(), os.path.expanduser(path))


def _may_be(path: str, files: Files) -> bool:
    """Returns whether a file that a pattern matches can be a part of a source, by its name."""
    if files == "shards":
        return not path.endswith(".amudai.stripe")
    return path.lower().endswith((".parquet", ".parq", ".pq"))


@dataclass(frozen=True)
class _File:
    """A file below a folder."""

    # The path or URL that opens the file.
    path: str
    # The path without escapes, in the folder's store.
    name: str


def _listed(folder: str, store: Any, files: Files) -> list[_File]:
    """Lists the files below a folder, by URLs if the folder is one."""
    if files == "shards":
        listed = _lib.list_shards(folder, recursive=True, store=store)
    else:
        listed = _lib.list_parquet_files(folder, store=store)
    if store is not None or "://" not in folder:
        return [_File(found, found) for found in listed]
    root = folder[: len(folder) - len(_name(folder))]
    return [
        _File(found, unquote(_name(found))) if "://" in found else _File(root + _escaped(found), found)
        for found in listed
    ]


def _name(url: str) -> str:
    """Returns the part of a URL that names an object of a store.

    >>> _name("s3://bucket/a/b")
    'a/b'
    """
    return url.partition("://")[2].partition("/")[2]


def _escaped(name: str) -> str:
    """Escapes the characters of a name that have a meaning in URLs.

    >>> _escaped("city=S%C3%A3o/a#1.parquet")
    'city=S%25C3%25A3o/a%231.parquet'
    """
    return name.replace("%", "%25").replace("#", "%23").replace("?", "%3F")


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


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _is_match(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Returns whether a path, by its parts, matches a pattern, in which ``**`` stands for any number of folders. Names
    that begin with ``_`` or ``.`` match only parts of a pattern that begin with the same character.

    >>> [_is_match(path.split("/"), ["**", "*.shard"]) for path in ("a.shard", "x/y/a.shard", "a.parquet", "_x/a.shard")]
    [True, True, False, False]
    """
    if not pattern:
        return not parts
    first, *rest = pattern
    if first == "**" and _is_match(parts, rest):
        return True
    if not parts:
        return False
    name = parts[0]
    if name[0] in "_." and first[0] != name[0]:
        return False
    if first == "**":
        return _is_match(parts[1:], pattern)
    return fnmatch.fnmatchcase(name, first) and _is_match(parts[1:], rest)


def _path_of(file: _lib.ShardFile, store: Any) -> str:
    """Returns the path of an open file that is an item of a list."""
    _, (function, _, options) = file.__reduce__()
    if function != "open" or len(file.files) != 1 or options.get("store") is not None or store is not None:
        raise InvalidArgumentError(
            f"{file!r} is no item of a list of paths: it has more than one shard, is in memory, or in a store; pass its "
            "paths"
        )
    return file.files[0]


def _hive_columns(found: Found, hive: Hive) -> list[FileColumn]:
    """Returns the columns that the names of folders describe, with a value for each shard."""
    pairs = [dict(part.split("=", 1) for part in parts if part.find("=") > 0) for parts in found.folders]
    keys = list(pairs[0])
    for path, pair in zip(found.paths, pairs):
        if list(pair) != keys:
            if hive is None:
                return []
            raise InvalidArgumentError(
                f"{path} is in folders for the columns {list(pair)}, and {found.paths[0]} in folders for {keys}"
            )
    if hive is True and not keys:
        raise InvalidArgumentError(
            f"hive: {found.paths[0]} is in no folder with a name such as `year=2026`; folders that the source names do "
            "not count"
        )
    types = hive if isinstance(hive, Mapping) else {}
    for name in types:
        if name not in keys:
            raise InvalidArgumentError(f"hive: no folder is named `{name}=...`; the columns are {keys}")
    texts = {key: [unquote(pair[key]) for pair in pairs] for key in keys}
    return [
        (key, _typed(key, texts[key], kind), None if kind is None else _ARROW[kind])
        for key in keys
        for kind in [types.get(key)]
    ]


def _typed(name: str, texts: list[str], kind: type | None) -> list[Any]:
    """Converts texts to the first type that all of them have: integers, floats, dates, texts.

    >>> _typed("a", ["1", "__HIVE_DEFAULT_PARTITION__"], None), _typed("a", ["1", "x"], None)
    ([1, None], ['1', 'x'])
    >>> _typed("a", ["1", "2.5"], None)
    [1.0, 2.5]
    """
    valid = [text for text in texts if text != _NULL]
    parsers: dict[type, Callable[[str], Any]] = {
        int: int, float: float, datetime.date: datetime.date.fromisoformat, str: str,
    }
    if kind is not None:
        _check_kind(name, kind)
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


# The types of columns that folders describe.
_ARROW = {int: "int64", float: "float64", datetime.date: "date32", str: "string"}


def _check_kind(name: str, kind: Any) -> None:
    if kind not in _ARROW:
        raise InvalidArgumentError(f"hive: column {name!r} is int, float, datetime.date or str, found {kind!r}")


def _without_rows(schema: Any, types: Mapping[str, type], file_paths: str | None) -> bytes:
    """Returns a shard without rows: with a schema, and with columns for folders and paths unless the schema has them.

    >>> sh.open(_without_rows({"a": pl.Int8}, {"year": int}, "file")).schema.columns
    [('a', 'Int8'), ('year', 'Int64'), ('file', 'Utf8')]
    """
    import pyarrow

    arrow = _arrow_schema(schema)
    more = dict(types) if file_paths is None else {**types, file_paths: str}
    for name, kind in more.items():
        _check_kind(name, kind)
        if name not in arrow.names:
            arrow = arrow.append(pyarrow.field(name, _ARROW[kind]))
    file = io.BytesIO()
    _lib.write(arrow.empty_table(), file)
    return file.getvalue()


def _arrow_schema(schema: Any) -> Any:
    """Converts a schema of any library, or a dict with types of pyarrow or polars, to a schema of pyarrow."""
    import pyarrow

    try:
        return pyarrow.schema(schema)
    except TypeError:
        polars = sys.modules.get("polars")
        if polars is None:
            raise
        try:
            return pyarrow.schema(polars.Schema(schema))
        except TypeError:
            text = f"expected a schema of pyarrow or polars, or a dict from names to types, found {schema!r}"
            raise TypeError(text) from None
