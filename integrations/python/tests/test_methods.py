"""Methods that open files and scans have like the tables of other libraries."""

from __future__ import annotations

import operator
import pickle

import arrow_shard as sh
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest


def test_files_count_rows(numbers: str) -> None:
    sh.delete(numbers, "id < 5")
    f = sh.open(numbers)
    assert f.count_rows() == 9_995 and f.count_rows("id < 10") == 5 == f.count_rows(pl.col("id") < 10)
    assert f.count_rows([sh.col("id") > 100, "id < 100"]) == 0


def test_the_first_rows_of_a_scan(numbers: str) -> None:
    f = sh.open(numbers)
    scan = f.scan(columns=["id", "inner"], filter="id >= 995", offset=2, limit=30, with_row_number="n")
    first = scan.head(10)
    assert isinstance(first, sh.RecordBatch) and first.schema == scan.schema
    # They are in two stripes.
    assert first.to_pyarrow().equals(pa.table(scan).slice(0, 10).combine_chunks().to_batches()[0])
    assert scan.head().num_rows == 5 and scan.head(0).num_rows == 0 and scan.head(100).num_rows == 30
    assert f.scan(filter="id > 20000").head(3).schema == f.schema
    assert pickle.loads(pickle.dumps(scan)).head(1).to_pyarrow()["n"].to_pylist() == [997]
    with pytest.raises(ValueError):
        scan.head(-1)


def test_scans_are_data_frames(numbers: str) -> None:
    f = sh.open(numbers)
    options = {"columns": ["name", "id"], "filter": "id < 3"}
    expected = pa.table(f.scan(**options))
    assert f.scan(**options).to_pandas().equals(expected.to_pandas()) and f.to_pandas(**options).equals(expected.to_pandas())
    assert f.scan(**options).to_polars().equals(pl.DataFrame(expected)) and f.to_polars(**options).equals(
        pl.DataFrame(expected)
    )
    for frame in (
        f.scan(**options).to_pandas(types_mapper=pd.ArrowDtype), f.to_pandas(**options, types_mapper=pd.ArrowDtype)
    ):
        assert frame["id"].dtype == pd.ArrowDtype(pa.int64())
    with pytest.raises(TypeError, match="colums"):
        f.to_pandas(colums=["id"])


def test_comparisons_with_none_are_errors(cities: str) -> None:
    column = sh.col("id")
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(sh.InvalidArgumentError, match="is_null"):
            compare(column, None)
        with pytest.raises(sh.InvalidArgumentError, match="is_null"):
            compare(None, column)
        assert sh.open(cities).scan(filter=compare(column, 1)).count() + sh.open(cities).scan(
            filter=~compare(column, 1)
        ).count() == 2
    assert str(column == sh.col("name")) == "id = name" and str(1 < column) == "id > 1"
