"""Checks the types that arrow-shard, DuckDB and polars infer against the tables in docs/conversions.md.

    inferred.py ARROW_SHARD [--write]

ARROW_SHARD is the program. Checks every row of the tables; the first cell contains the content of a file. Exits with 1
if a cell differs from the result, or if a difference has no reason. With --write, the results are written to the docs.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow

PROGRAM = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "conversions.md"
REAL = ROOT.parent / "shared" / "data" / "real"
READERS = ("arrow-shard", f"DuckDB {duckdb.__version__[:3]}", f"polars {polars.__version__[:3]}")
ERROR = "error"

# Options of arrow-shard, with the equivalents for DuckDB and polars.
OPTIONS = {
    "--delimiter": lambda it: ({"delim": it}, {"separator": it}),
    "--no-header": lambda _: ({"header": False}, {"has_header": False}),
    "--null-value": lambda it: ({"nullstr": it}, {"null_values": it}),
}


class Seen:
    """Columns that a reader returned: names, types in the reader's and in Arrow's terms, and values."""

    def __init__(self, names, kinds, arrow, values):
        self.names, self.kinds, self.arrow, self.values = names, kinds, arrow, values

    def shown(self, kinds) -> str:
        columns = []
        for name, kind, values in zip(self.names, kinds, self.values):
            name = name if re.fullmatch(r"\w+", name, re.ASCII) else json.dumps(name)
            columns.append(f"{name}: {kind} {json.dumps(values, default=str)}")
        return ", ".join(columns) or "no columns"

    def same_as(self, other) -> bool:
        return self.shown(self.arrow) == other.shown(other.arrow)


def ours(path: Path, options) -> Seen | None:
    """Reads a file with arrow-shard; returns None for an error."""
    target = Path(tempfile.gettempdir()) / f"arrow-shard-{os.getpid()}.arrow"
    words = [word for option, value in options for word in (option, value) if word is not None]
    done = subprocess.run(
        [PROGRAM, "convert", "--quiet", "--force", path, target, *words], capture_output=True, text=True
    )
    if done.returncode != 0:
        # The error must be one line that names the file.
        if done.returncode != 1 or not done.stderr.startswith(f"error: {path}: "):
            sys.exit(f"arrow-shard, {path.read_bytes()!r}: {done.returncode}, {done.stderr}")
        return None
    with pyarrow.ipc.open_file(target) as reader:
        table = reader.read_all()
    names = [of_arrow(kind) for kind in table.schema.types]
    return Seen(table.schema.names, names, [in_micros(name) for name in names], values(table.columns))


def values(columns):
    # Python's times do not support nanoseconds.
    return [
        (column.cast(pyarrow.string()) if column.type == pyarrow.timestamp("ns") else column).to_pylist()
        for column in columns
    ]


def of_arrow(kind: pyarrow.DataType) -> str:
    """Returns arrow-shard's name of a type."""
    if pyarrow.types.is_list(kind):
        return f"List({of_arrow(kind.value_type)})"
    if pyarrow.types.is_struct(kind):
        return "Struct(" + ", ".join(f'"{it.name}": {of_arrow(it.type)}' for it in kind) + ")"
    if pyarrow.types.is_timestamp(kind):
        zone = f', "{kind.tz}"' if kind.tz else ""
        return f"Timestamp({kind.unit.replace('us', 'µs')}{zone})"
    names = {"bool": "Boolean", "int64": "Int64", "uint64": "UInt64", "double": "Float64"}
    names |= {"string": "Utf8", "date32[day]": "Date32", "null": "Null"}
    return names[str(kind)]


def in_micros(name: str) -> str:
    """Returns a type with microseconds, the only unit of times that DuckDB and polars infer."""
    return re.sub(r"Timestamp\(\w+", "Timestamp(µs", name)


def duck(path: Path, options) -> Seen | None:
    read = "read_json" if is_json(path) else "read_csv"
    given = "".join(f", {name} = {value!r}" for name, value in options.items())
    try:
        found = duckdb.sql(f"from {read}('{path}', sample_size = -1{given})")
        columns = list(zip(*found.fetchall())) or [[] for _ in found.columns]
    except (duckdb.InvalidInputException, duckdb.ConversionException):
        return None
    kinds = [str(kind).replace('"NULL"', "NULL") for kind in found.types]
    return Seen(found.columns, kinds, [of_duck(kind) for kind in found.types], columns)


def of_duck(kind) -> str:
    """Returns the Arrow type for a type of DuckDB."""
    if kind.id == "list":
        return f"List({of_duck(kind.children[0][1])})"
    if kind.id == "struct":
        return "Struct(" + ", ".join(f'"{name}": {of_duck(it)}' for name, it in kind.children) + ")"
    names = {"boolean": "Boolean", "bigint": "Int64", "ubigint": "UInt64", "double": "Float64"}
    names |= {"varchar": "Utf8", "date": "Date32", '"null"': "Null", "timestamp": "Timestamp(µs)"}
    names |= {"timestamp with time zone": 'Timestamp(µs, "UTC")'}
    return names.get(str(kind).lower(), str(kind))


def pole(path: Path, options) -> Seen | None:
    try:
        if not is_json(path):
            found = polars.read_csv(path, try_parse_dates=True, infer_schema_length=None, **options)
        elif path.read_bytes().lstrip().startswith(b"["):
            found = polars.read_json(path, infer_schema_length=None)
        else:
            found = polars.read_ndjson(path, infer_schema_length=None)
    except (polars.exceptions.PolarsError, UnicodeDecodeError):
        return None
    kinds = [of_polars(kind) for kind in found.dtypes]
    shown = [shown_polars(kind) for kind in found.dtypes]
    return Seen(found.columns, shown, kinds, [column.to_list() for column in found])


def of_polars(kind) -> str:
    """Returns the Arrow type for a type of polars."""
    if isinstance(kind, polars.List):
        return f"List({of_polars(kind.inner)})"
    if isinstance(kind, polars.Struct):
        return "Struct(" + ", ".join(f'"{it.name}": {of_polars(it.dtype)}' for it in kind.fields) + ")"
    if isinstance(kind, polars.Datetime):
        return 'Timestamp(µs, "UTC")' if kind.time_zone else "Timestamp(µs)"
    return {"String": "Utf8", "Date": "Date32"}.get(str(kind), str(kind))


def shown_polars(kind) -> str:
    zone = r"Datetime\(time_unit='(\w+)', time_zone=(?:None|'(\w+)')\)"
    return re.sub(zone, lambda it: f"Datetime({', '.join(filter(None, it.groups()))})", str(kind))


def is_json(path: Path) -> bool:
    return path.suffix == ".ndjson"


def read_all(path: Path, options=()):
    """Reads a file with all three."""
    theirs = [OPTIONS[option](value) for option, value in options]
    for_duck, for_polars = {}, {}
    for duck_options, polars_options in theirs:
        for_duck |= duck_options
        for_polars |= polars_options
    return [ours(path, options), duck(path, for_duck), pole(path, for_polars)]


def column(folder: Path, values):
    """Returns the types that all three infer for a CSV column, next to a column that is never blank."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([("k", "c"), *(("x", value) for value in values or ("", ""))])
    return last_kinds(written(folder, "t.csv", text.getvalue().encode()))


def field(folder: Path, values):
    """Returns the types that all three infer for a JSON field."""
    return last_kinds(written(folder, "t.ndjson", "".join(f'{{"c":{value}}}\n' for value in values).encode()))


def last_kinds(path: Path):
    seen = read_all(path)
    return [it and it.kinds[-1] for it in seen], len({it and it.arrow[-1] for it in seen}) == 1


def whole(folder: Path, spans):
    """Returns the types that all three infer for a file. The first span contains its bytes, the others are options."""
    text, *words = (span.encode("latin-1").decode("unicode_escape") for span in spans)
    content = text.encode("latin-1")
    name = "t.ndjson" if re.match(rb"\W*(\xEF\xBB\xBF|\xFF\xFE)?[\[{]", content) else "t.csv"
    options = [(*word.split(" ", 1), None)[:2] for word in words]
    seen = read_all(written(folder, name, content), options)
    kinds = [it and f"`{it.shown(it.kinds)}`" for it in seen]
    return kinds, all(it and seen[0] and it.same_as(seen[0]) or it is seen[0] for it in seen)


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


FAILURES = []
TABLES = {"values of a CSV column": column, "values of a JSON field": field, "a CSV or JSON file": whole}
REAL_TABLE = "column of a real file"


def cells(line: str):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def row(*parts) -> str:
    return "| " + " | ".join(parts) + " |"


def checked(line: str, first: str, seen, is_same: bool, why: str) -> str:
    """Returns the row with the results, and records a difference from the docs."""
    found = row(first, *((it or ERROR).replace("|", "\\|") for it in seen), why).replace("|  |", "| |")
    if found != line:
        FAILURES.append(f"in the docs {line}\nwas seen    {found}")
    if not is_same and not why:
        FAILURES.append(f"without a reason: {found}")
    return found


def rows_of(title: str, lines, folder: Path):
    """Yields the rows of a table with the results."""
    for line in lines:
        first, *_, why = cells(line)
        seen, is_same = TABLES[title](folder, re.findall(r"`([^`]+)`", first))
        yield checked(line, first, seen, is_same, why)


def real_rows(lines, page: str):
    """Yields a row for every column of the real files with different inferred types."""
    files = sorted(REAL.glob("*.csv"))
    if not files:
        print(f"SKIPPED: there are no real files at {REAL}")
        yield from lines
        return
    said = {cells(line)[0]: (line, cells(line)[-1]) for line in lines}
    count = 0
    for path in files:
        seen = read_all(path)
        for i, name in enumerate(seen[0].names):
            count += 1
            first = f"{path.stem}, `{name}`"
            if len({it.arrow[i] for it in seen}) > 1:
                line, why = said.pop(first, ("", ""))
                yield checked(line, first, [it.kinds[i] for it in seen], False, why)
    FAILURES.extend(f"in the docs {line}\nbut there is no difference" for line, _ in said.values())
    sentence = f"Of the {count} columns of {len(files)} real files"
    if sentence not in page:
        FAILURES.append(f"the docs do not say: {sentence}")


def main() -> int:
    page = PAGE.read_text()
    tables = dict.fromkeys([*TABLES, REAL_TABLE], 0)
    parts = page.split("\n\n")
    with tempfile.TemporaryDirectory() as name:
        for i, part in enumerate(parts):
            title = part.startswith("| ") and cells(part.splitlines()[0])[0]
            if title not in tables:
                continue
            head, line, *rest = part.splitlines()
            wanted = row(title, *READERS, "why")
            if head != wanted:
                FAILURES.append(f"in the docs {head}\nbut it is   {wanted}")
            found = rows_of(title, rest, Path(name)) if title in TABLES else real_rows(rest, page)
            found = list(found)
            tables[title] += len(found)
            parts[i] = "\n".join([wanted, line, *found])
    FAILURES.extend(f"the docs have no table of: {title}" for title, count in tables.items() if not count)
    if "--write" in sys.argv:
        PAGE.write_text("\n\n".join(parts).rstrip("\n") + "\n")
    for failure in FAILURES:
        print(failure)
    print(f"{sum(tables.values())} rows of types that are inferred, {len(FAILURES)} differences from the docs")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
