"""Converts times of shards, in ticks of 100 ns, to Python's types."""

from __future__ import annotations

import datetime


def datetime_of_ticks(ticks: int) -> datetime.datetime:
    """Converts ticks since 0001-01-01 to a time, truncated to microseconds.

    >>> datetime_of_ticks(864_000_000_000)
    datetime.datetime(1, 1, 2, 0, 0)
    """
    return datetime.datetime.min + datetime.timedelta(microseconds=ticks // 10)


def timedelta_of_ticks(ticks: int) -> datetime.timedelta:
    """Converts ticks to a time span, truncated to microseconds. ``ticks`` is unsigned; 2**63 and above are negative.

    >>> timedelta_of_ticks(10)
    datetime.timedelta(microseconds=1)
    """
    signed = ticks - (1 << 64) if ticks >> 63 else ticks
    return datetime.timedelta(microseconds=signed // 10)
