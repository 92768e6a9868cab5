"""Shows files and batches: as pandas data frames, and as tables of HTML for notebooks."""

from __future__ import annotations

import html as markup
import os
from typing import Any

from . import _lib

# Most columns in the list of a file's columns.
_MOST_COLUMNS = 60
# Most rows and columns of a batch, and most characters of a value.
_BATCH_ROWS, _BATCH_COLUMNS, _VALUE_LENGTH = 10, 20, 60


def to_pandas(scan: _lib.Scan, **options: Any) -> Any:
    """Reads a scan into a pandas data frame, with the options of ``pyarrow.Table.to_pandas``."""
    import pyarrow

    # Not `pyarrow.table(scan)`, which would release the interpreter's lock below a method of the extension.
    batches = map(pyarrow.record_batch, scan)
    return pyarrow.Table.from_batches(batches, schema=pyarrow.schema(scan.schema)).to_pandas(**options)


def html(file: _lib.ShardFile, name: str) -> str:
    """Returns a table of HTML with the rows, the sizes, the profiles of the writers and the columns of a file.

    >>> text = html(sh.open(path), "<cities>")
    >>> "&lt;cities&gt;" in text, "<td>2</td>" in text, "<td>Balanced</td>" in text, "<td>Int64</td>" in text
    (True, True, True, True)
    """
    if file.closed:
        return f"<p>Shard {markup.escape(name)}: closed</p>"
    facts: dict[str, str] = {"rows": f"{file.num_rows:,}"}
    if file.num_deleted_rows:
        facts["deleted rows"] = f"{file.num_deleted_rows:,}"
    facts["stripes"] = f"{file.num_stripes:,}"
    if len(file.files) > 1:
        facts["shards"] = f"{len(file.files):,}"
    sizes = [stripe.raw_data_size for stripe in file.stripes]
    if all(bytes is not None for bytes in sizes):
        facts["data in memory"] = size(sum(bytes or 0 for bytes in sizes))
    if file.files and all(os.path.isfile(path) for path in file.files):
        facts["directory files"] = size(sum(os.path.getsize(path) for path in file.files))
    profiles = sorted({profile for _, profile in file.writers if profile})
    if profiles:
        facts["profile"] = ", ".join(profiles)
    if file.sorting_columns:
        facts["sorted by"] = ", ".join(column.path for column in file.sorting_columns)
    rows = [f"<tr><th>{key}</th><td>{markup.escape(fact)}</td></tr>" for key, fact in facts.items()]
    columns = file.schema.columns
    shown = [
        f"<tr><td>{markup.escape(column)}</td><td>{markup.escape(kind)}</td></tr>"
        for column, kind in columns[:_MOST_COLUMNS]
    ]
    more = len(columns) - len(shown)
    if more > 0:
        shown.append(f"<tr><td>… and {more:,} more</td><td></td></tr>")
    return (
        f"<p>Shard {markup.escape(name)}</p><table>{''.join(rows)}</table>"
        f"<table><tr><th>column</th><th>type</th></tr>{''.join(shown)}</table>"
    )


def batch_html(batch: _lib.RecordBatch) -> str:
    """Returns a table of HTML with the first rows of a batch.

    >>> text = batch_html(sh.open(path).head(2))
    >>> "<th>name<br>Utf8</th>" in text, "<td>Lima</td>" in text, text.endswith("<p>2 rows, 2 columns</p>")
    (True, True, True)
    """
    columns = [
        (name, kind, texts)
        for (name, kind), texts in zip(batch.schema.columns, batch._texts(_BATCH_ROWS, _BATCH_COLUMNS))
    ]
    heads = [f"<th>{markup.escape(name)}<br>{markup.escape(kind)}</th>" for name, kind, _ in columns]
    more = batch.num_columns > len(columns)
    if more:
        heads.append("<th>…</th>")
    lines = [f"<tr>{''.join(heads)}</tr>"]
    for row in range(min(batch.num_rows, _BATCH_ROWS)):
        cells = [f"<td>{markup.escape(_shortened(texts[row]))}</td>" for _, _, texts in columns]
        lines.append(f"<tr>{''.join(cells)}{'<td>…</td>' if more else ''}</tr>")
    if batch.num_rows > _BATCH_ROWS:
        lines.append(f"<tr>{'<td>…</td>' * len(heads)}</tr>")
    counts = f"{_quantity(batch.num_rows, 'row')}, {_quantity(batch.num_columns, 'column')}"
    return f"<table>{''.join(lines)}</table><p>{counts}</p>"


def _quantity(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def _shortened(text: str) -> str:
    return text if len(text) <= _VALUE_LENGTH else text[: _VALUE_LENGTH - 1] + "…"


def size(count: float) -> str:
    """Returns a number of bytes as text.

    >>> size(999), size(2_500_000)
    ('999 B', '2.5 MB')
    """
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    power = 0
    while count >= 1000 and power + 1 < len(units):
        count /= 1000
        power += 1
    return f"{count:.0f} B" if power == 0 else f"{count:.3g} {units[power]}"
