"""Progress bars of long calls, with tqdm."""

from __future__ import annotations

from typing import Any


class Bar:
    """A bar that is called with the number of units done, and of all units if it is known."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def __call__(self, done: int, total: int | None) -> None:
        if total is not None and total != self._bar.total:
            self._bar.total = total
            self._bar.refresh()
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Ends the bar."""
        self._bar.close()


def bar(unit: str) -> Bar:
    """Returns a new bar of tqdm, which suits terminals and notebooks."""
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "progress=True needs tqdm: install it, or pass a function, which is called with the number of "
            f"{unit} done and of all {unit}"
        ) from error
    return Bar(tqdm(unit=f" {unit}", unit_scale=True))


def known_rows(data: Any) -> int | None:
    """Returns the number of rows of a table or data frame; None for data that come batch by batch.

    >>> known_rows(pa.table({"id": [1, 2]})), known_rows(iter([]))
    (2, None)
    """
    for name in ("num_rows", "height"):  # of pyarrow, of polars
        rows = getattr(data, name, None)
        if isinstance(rows, int):
            return rows
    return len(data) if hasattr(data, "iloc") else None  # of pandas
