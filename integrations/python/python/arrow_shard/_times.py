"""Times of shards, which count 100 ns ticks, as Python's."""

from __future__ import annotations

import datetime


def datetime_of_ticks(ticks: int) -> datetime.datetime:
    """The time of so many ticks since 0001-01-01, cut to microseconds.

    >>> datetime_of_ticks(864_000_000_000)
    datetime.datetime(1, 1, 2, 0, 0)
    """
    return datetime.datetime.min + datetime.timedelta(microseconds=ticks // 10)


def timedelta_of_ticks(ticks: int) -> datetime.timedelta:
    """The time span of so many ticks, cut to microseconds. They are 64 bits, the upper half of them negative.

    >>> timedelta_of_ticks(10)
    datetime.timedelta(microseconds=1)
    """
    signed = ticks - (1 << 64) if ticks >> 63 else ticks
    return datetime.timedelta(microseconds=signed // 10)
