"""Converts values of Python libraries to literals of a filter."""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from typing import Any

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


class Ticks:
    """A value by its kind and its number: a time that Python's types may not represent exactly."""

    def __init__(self, kind: str, count: int) -> None:
        self.kind = kind
        self.count = count


def describe(value: Any) -> tuple[str, Any]:
    """Returns the kind of a value by name, and its number, text or bytes.

    >>> describe(datetime.date(1970, 1, 2))
    ('date', 1)
    >>> describe(decimal.Decimal("1.50"))
    ('decimal', '1.50')
    """
    if isinstance(value, Ticks):
        return value.kind, value.count
    if isinstance(value, datetime.datetime):
        return _timestamp(value)
    if isinstance(value, datetime.date):
        return "date", value.toordinal() - _EPOCH.toordinal()
    if isinstance(value, datetime.time) and value.tzinfo is None:
        since = datetime.datetime.combine(_EPOCH, value) - _EPOCH
        return "time_us", since // _MICROSECOND
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return "decimal", format(value, "f")
    if isinstance(value, uuid.UUID):
        return "uuid", value.bytes
    if _is_of("numpy", "generic", value):
        return _numpy(value)
    if _is_of("pyarrow", "Scalar", value):
        return "plain", sys.modules["pyarrow"].array([value], type=value.type)
    return f"type {type(value).__name__}", None


def _is_of(module: str, name: str, value: Any) -> bool:
    """Returns whether a value is an instance of a class in a module that may not be installed."""
    found = sys.modules.get(module)
    return found is not None and isinstance(value, getattr(found, name))


def _timestamp(value: datetime.datetime) -> tuple[str, Any]:
    if value != value:  # pandas.NaT
        return "plain", None
    zone = "" if value.tzinfo is None else "_utc"
    if _is_of("pandas", "Timestamp", value):
        stamp: Any = value
        return _of_numpy(stamp.to_datetime64(), zone)
    epoch = _EPOCH if value.tzinfo is None else _UTC_EPOCH
    return _counted("timestamp", (value - epoch) // _MICROSECOND, "us", zone)


def _duration(value: datetime.timedelta) -> tuple[str, Any]:
    if value != value:
        return "plain", None
    if _is_of("pandas", "Timedelta", value):
        delta: Any = value
        return _of_numpy(delta.to_timedelta64())
    return _counted("duration", value // _MICROSECOND, "us")


def _numpy(value: Any) -> tuple[str, Any]:
    numpy = sys.modules["numpy"]
    if isinstance(value, (numpy.datetime64, numpy.timedelta64)):
        return _of_numpy(value)
    plain = value.item()
    if type(plain) is type(value):  # numpy.longdouble has no type of Python
        return f"type {type(value).__name__}", None
    return "plain", plain


# Seconds in numpy's longer units, and numbers of its shorter units in a second.
_SECONDS = {"W": 7 * 86_400, "D": 86_400, "h": 3_600, "m": 60, "s": 1}
_PARTS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
# The units of Arrow.
_UNITS = ("s", "ms", "us", "ns")
# Most years after 1970 that fit into 64 bits of seconds.
_MOST_YEARS = 290_000_000_000


def _of_numpy(value: Any, zone: str = "") -> tuple[str, Any]:
    """Converts a datetime64 or timedelta64 to a unit of Arrow. numpy's own conversions overflow silently."""
    numpy = sys.modules["numpy"]
    if numpy.isnat(value):
        return "plain", None
    kind = "timestamp" if isinstance(value, numpy.datetime64) else "duration"
    unit, count = numpy.datetime_data(value.dtype)
    ticks = value.astype("int64").item() * count
    if unit in ("Y", "M") and kind == "timestamp":
        if abs(ticks) > _MOST_YEARS * (1 if unit == "Y" else 12):
            return _out_of_range(kind)
        ticks = numpy.datetime64(ticks, unit).astype("datetime64[D]").astype("int64").item()
        unit = "D"
    if unit in _SECONDS:
        return _counted(kind, ticks * _SECONDS[unit], "s", zone)
    if unit in _PARTS:
        return _counted(kind, ticks, unit, zone)
    return "type numpy.timedelta64 in years, months or no unit, which has no certain length", None


def _counted(kind: str, ticks: int, unit: str, zone: str = "") -> tuple[str, Any]:
    """Converts a number of ticks of a unit to the nearest unit of Arrow that represents them exactly.

    >>> _counted("timestamp", 5, "us")
    ('timestamp_us', 5)
    >>> _counted("duration", 7_000_000_000_000, "ps")
    ('duration_ns', 7000000000)
    """
    per_second = _PARTS[unit]
    too_fine = False
    for name in reversed(_UNITS):
        parts = per_second // _PARTS[name]
        if parts == 0:
            continue
        if ticks % parts:
            too_fine = True
        elif -(2**63) <= ticks // parts < 2**63:
            return f"{kind}_{name}{zone}", ticks // parts
    if too_fine and per_second > _PARTS["ns"]:
        return f"a {kind} with a fraction of a nanosecond", None
    return _out_of_range(kind)


def _out_of_range(kind: str) -> tuple[str, Any]:
    return f"a {kind} that 64 bits cannot count", None
