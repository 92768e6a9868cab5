"""Examples of docstrings and of the README run, and everything that is public has a docstring."""

from __future__ import annotations

import datetime
import decimal
import doctest
import inspect
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import arrow_shard as sh
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from arrow_shard import (
    _dataset,
    _duckdb,
    _lance,
    _lib,
    _literals,
    _methods,
    _pickles,
    _polars,
    _polars_types,
    _read,
    _show,
    _sources,
    _times,
    _write,
)

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def public() -> Iterator[tuple[str, Any]]:
    """Yields all public items with their names."""
    yield "arrow_shard", sh
    yield "arrow_shard.store", sh.store
    for name in sh.__all__:
        found = getattr(sh, name)
        if name not in ("store", "__version__"):
            yield name, found
        if inspect.isclass(found) and not issubclass(found, Exception):
            for member, value in vars(found).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", value
    for found in (_dataset.ShardDataset, _dataset.ShardFragment, _dataset._Rows):
        for member, value in vars(found).items():
            if not member.startswith("_"):
                yield f"{found.__name__}.{member}", value
    for module in (
        _dataset, _duckdb, _lance, _literals, _methods, _pickles, _polars, _polars_types, _read, _show, _sources,
        _times, _write,
    ):
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__:
                yield f"{module.__name__}.{name}", value


PUBLIC = dict(public())
EXAMPLES = {name for name, found in PUBLIC.items() if ">>>" in (inspect.getdoc(found) or "")}


@pytest.mark.parametrize("name", sorted(name for name in PUBLIC if not name.split(".")[-1].startswith("_")))
def test_what_is_public_is_described(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name])
    assert text and text != inspect.getdoc(object), name


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_run(name: str, cities: str, tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.mkdir()
    names = {
        "sh": sh, "pa": pa, "pc": pc, "path": cities, "folder": str(tmp_path), "out": str(tmp_path / "out.amudai.shard"),
        "other": str(tmp_path / "other.shard"), "pl": pl,
    }
    for module in (_literals, _pickles, _polars_types, _show, _sources, _times):
        names |= {name: found for name, found in vars(module).items() if inspect.isfunction(found)}
    names |= {"_rows": _write._rows, "datetime": datetime, "decimal": decimal, "io": io}
    if '[other]' in (inspect.getdoc(PUBLIC[name]) or ""):
        sh.write(pa.table({"id": [3], "name": ["Linz"]}), names["other"])
    text = inspect.getdoc(PUBLIC[name]) or ""
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    said: list[str] = []
    results = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert results.attempted > 0 and results.failed == 0, "".join(said)


def test_there_are_examples_of_everything_that_matters() -> None:
    needed = {"open", "open_many", "write", "scan", "take", "statistics", "dataset", "merge", "append", "delete",
              "undelete", "compact", "scan_polars", "sink", "register", "ShardFile.head", "ShardFile.to_pandas", "vacuum", "convert", "col", "Scan", "ShardFile.scan", "ShardFile.take",
              "ShardFile.verify", "ShardFile.statistics", "ShardDataset.filter"}
    assert needed <= EXAMPLES


def blocks() -> list[str]:
    """Returns the Python examples of the README."""
    readme = Path(__file__).parents[1] / "README.md"
    return re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(blocks())))
@pytest.mark.usefixtures("s3_environment")
def test_examples_of_the_readme_run(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    count = 1_000
    flights = pa.table(
        {
            "id": range(count), "origin": [("OSL", "LIM")[i % 2] for i in range(count)],
            "delay": pa.array([i % 100 for i in range(count)]),
        }
    )
    Path("days").mkdir()
    for path in ("flights.amudai.shard", "days/1.amudai.shard", "days/2.amudai.shard"):
        sh.write(flights, path)
    names: dict[str, Any] = {"table": flights}
    exec(compile(blocks()[number], f"README, example {number}", "exec"), names)


def test_the_readme_has_examples() -> None:
    assert len(blocks()) >= 5 and all(block.count("\n") <= 12 for block in blocks())
    assert _lib.__version__ == sh.__version__
