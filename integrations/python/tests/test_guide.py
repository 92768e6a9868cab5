"""The calls in the guide for users of Parquet run."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import arrow_shard as sh
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pytest

PAGE = Path(__file__).parents[3] / "docs/guide/from-parquet-in-python.md"


def calls() -> list[str]:
    """Returns the calls of the last column of each table."""
    found = []
    for line in PAGE.read_text().splitlines():
        if line.startswith("| ") and line.count("|") >= 3:
            last = line.strip("| ").rpartition(" | ")[2]
            found += re.findall(r"`((?:sh|pl|pa|duckdb)\.[^`]*\))`", last)
    return [call for call in found if "..." not in call]


@pytest.mark.parametrize("call", calls())
def test_calls_of_the_guide_run(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"a": range(10), "s": ["x"] * 10})
    for folder in ("days/year=2025", "lake/year=2025", "folder"):
        Path(folder).mkdir(parents=True)
    for path in ("t.amudai.shard", "days/year=2025/1.amudai.shard"):
        sh.write(table, path)
    for path in ("t.parquet", "lake/year=2025/1.parquet", "folder/1.parquet"):
        pq.write_table(table, path)

    def overwrite(function: Any) -> Any:
        return lambda *data, **options: function(*data, **{"overwrite": True, **options})

    def attach(*arguments: Any, **options: Any) -> Any:
        Path("t.amudai.shard").unlink()
        return sh.attach(*arguments, **options)

    own = {name: getattr(sh, name) for name in sh.__all__}
    own |= {name: overwrite(getattr(sh, name)) for name in ("write", "sink", "convert")}
    own |= {"attach": attach}
    names = {
        "sh": SimpleNamespace(**own), "pl": pl, "pa": pa, "pq": pq, "pds": pds, "con": duckdb.connect(),
        "duckdb": duckdb, "table": table, "frame": pl.DataFrame(table), "lazy": pl.LazyFrame({"a": [1]}),
        "generator": iter(table.to_batches()), "path": "t.amudai.shard", "content": Path("t.amudai.shard").read_bytes(),
        "days": sh.dataset("days/**/*.shard"), "pd": pd, "f": sh.open("t.amudai.shard"),
    }
    eval(call, names)


def test_the_guide_has_calls() -> None:
    assert len(calls()) > 20
