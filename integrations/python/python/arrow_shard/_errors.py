"""Exceptions, with one class for each kind of error."""

from __future__ import annotations

import re


class ShardError(Exception):
    """An error of this package. Each kind has a subclass, which also derives from a Python exception where one fits.

    >>> try:
    ...     sh.open("nowhere.amudai.shard")
    ... except FileNotFoundError as error:
    ...     print(type(error).__name__, "/", error.kind, "/", error.element)
    NotFoundError / not found / file `nowhere.amudai.shard`
    """

    kind: str = "error"
    """The name of the kind."""

    element: str = ""
    """The place of the error: file, stripe, field, block; empty if it is unknown."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ShardIOError(ShardError, OSError):
    """The operating system or a store failed to read or write."""

    kind = "I/O error"


class NotAShardError(ShardError, ValueError):
    """The bytes are not an Amudai shard at all."""

    kind = "not a shard"


class UnsupportedVersionError(ShardError, NotImplementedError):
    """The shard's major format version is newer than this reader."""

    kind = "unsupported version"


class CorruptError(ShardError):
    """Bytes of the shard contradict the format or each other."""

    kind = "corrupt"


class ChecksumError(CorruptError):
    """A stored checksum does not match the bytes that it covers."""

    kind = "checksum mismatch"


class WrongFileError(CorruptError):
    """A file of the shard was replaced by one with other data."""

    kind = "wrong file"


class UnsupportedError(ShardError, NotImplementedError):
    """The shard is well formed, but uses something that this build cannot read or write."""

    kind = "unsupported"


class LimitExceededError(ShardError):
    """Reading on would exceed a limit."""

    kind = "limit exceeded"


class InvalidArgumentError(ShardError, ValueError):
    """An argument of a call makes no sense."""

    kind = "invalid argument"


class SchemaMismatchError(ShardError, TypeError):
    """Rows or a requested schema do not fit the shard's schema, or a value does not fit the type of its column."""

    kind = "schema mismatch"


class UnknownColumnError(ShardError, KeyError):
    """No column has the name or index that was asked for."""

    kind = "unknown column"


class AmbiguousColumnError(ShardError, ValueError):
    """More than one column has the name that was asked for."""

    kind = "ambiguous column"


class ValueOutOfRangeError(ShardError, ValueError):
    """A value cannot be stored or returned in the type that was asked for."""

    kind = "value out of range"


class RowOutOfRangeError(ShardError, IndexError):
    """A row number is outside the shard, or belongs to a deleted row."""

    kind = "row out of range"


class OffsetOverflowError(ShardError, OverflowError):
    """Offsets of the requested Arrow type would overflow in one batch."""

    kind = "offset overflow"


class AlreadyExistsError(ShardError, FileExistsError):
    """The destination exists already."""

    kind = "already exists"


class ConflictError(ShardError):
    """Another writer has changed the file or object to be replaced."""

    kind = "conflict"


class ReplacedError(ShardError):
    """Another file or object has replaced the open one: open it again."""

    kind = "replaced"


class NotFoundError(ShardError, FileNotFoundError):
    """The file does not exist."""

    kind = "not found"


class ForbiddenUrlError(ShardError, PermissionError):
    """A reference points outside the places a shard may refer to."""

    kind = "forbidden URL"


class PoisonedError(ShardError):
    """An earlier write failed, so nothing more can be written."""

    kind = "poisoned writer"


class StoppedError(ShardError):
    """The operation was stopped before its end, and has changed nothing."""

    kind = "stopped"


class ArrowError(ShardError, ValueError):
    """An Arrow kernel failed, or the source of the rows."""

    kind = "Arrow error"


class ExternalError(ArrowError):
    """Code outside of this package failed: a function, or the source of the rows."""

    kind = "external error"


_CLASSES = {
    error.kind: error
    for error in (
        ShardIOError,
        NotAShardError,
        UnsupportedVersionError,
        CorruptError,
        ChecksumError,
        WrongFileError,
        UnsupportedError,
        LimitExceededError,
        InvalidArgumentError,
        SchemaMismatchError,
        UnknownColumnError,
        AmbiguousColumnError,
        ValueOutOfRangeError,
        RowOutOfRangeError,
        OffsetOverflowError,
        AlreadyExistsError,
        ConflictError,
        ReplacedError,
        NotFoundError,
        ForbiddenUrlError,
        PoisonedError,
        StoppedError,
        ArrowError,
        ExternalError,
    )
}

for _class in (ShardError, *_CLASSES.values()):
    _class.__module__ = "arrow_shard"


# The options of the Rust library and of the command line that a message names.
_OPTION = re.compile(r"`\w+Options::with_(\w+)`(?: \(`--[\w-]+`\)|, or `--[\w-]+`)?")


def error_of(kind: str, text: str, element: str, number: int | None) -> ShardError:
    """Returns the exception for a kind of error; ``number`` is the error number of the operating system."""
    error = _CLASSES.get(kind, ShardError)(_OPTION.sub(r"`\1=`", text))
    error.kind = kind
    error.element = element
    if number is not None and isinstance(error, OSError):
        error.errno = number
    return error
