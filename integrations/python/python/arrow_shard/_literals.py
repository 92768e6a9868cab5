"""Values of Python's libraries as literals of a filter."""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from typing import Any

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


def describe(value: Any) -> tuple[str, Any]:
    """Says what a value is: the name of a kind, and its number, text or bytes.

    >>> describe(datetime.date(1970, 1, 2))
    ('date', 1)
    >>> describe(decimal.Decimal("1.50"))
    ('decimal', '1.50')
    """
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
    """Whether it is an instance of a class, of a module that need not be installed."""
    found = sys.modules.get(module)
    return found is not None and isinstance(value, getattr(found, name))


def _timestamp(value: datetime.datetime) -> tuple[str, Any]:
    if value != value:  # pandas.NaT
        return "plain", None
    zone = "" if value.tzinfo is None else "_utc"
    if hasattr(value, "as_unit"):  # pandas.Timestamp has nanoseconds
        return f"timestamp_ns{zone}", value.as_unit("ns").value
    epoch = _EPOCH if value.tzinfo is None else _UTC_EPOCH
    return f"timestamp_us{zone}", (value - epoch) // _MICROSECOND


def _duration(value: datetime.timedelta) -> tuple[str, Any]:
    if value != value:
        return "plain", None
    if hasattr(value, "as_unit"):
        return "duration_ns", value.as_unit("ns").value
    return "duration_us", value // _MICROSECOND


def _numpy(value: Any) -> tuple[str, Any]:
    numpy = sys.modules["numpy"]
    if isinstance(value, (numpy.datetime64, numpy.timedelta64)):
        if numpy.isnat(value):
            return "plain", None
        is_time = isinstance(value, numpy.datetime64)
        unit = numpy.datetime_data(value.dtype)[0]
        finer = "ns" if unit in ("ns", "ps", "fs", "as") else "us"
        name = "datetime64" if is_time else "timedelta64"
        ticks = value.astype(f"{name}[{finer}]").astype("int64").item()
        return f"{'timestamp' if is_time else 'duration'}_{finer}", ticks
    return "plain", value.item()
