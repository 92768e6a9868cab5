"""How fast are shards read from Python?

Compares scans into pyarrow with the same scan in Rust, filters that are handed down with the same filters over all
rows, and polars and DuckDB over shards with the same queries over Parquet with their own readers. Runs alternate in
random order; the table shows medians. Build the module with `build.sh` or `PROFILE=release test.sh` first.

    python bench.py [rows]
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import arrow_shard as sh
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

RUNS = 25


def log_table(rows: int) -> pa.Table:
    """Returns rows like a log: ascending times, texts with few and with many distinct values, numbers, nulls."""
    rng = np.random.default_rng(1)
    at = np.cumsum(rng.integers(0, 2_000_000, rows)).astype("datetime64[us]")
    words = np.array([f"host-{i:04}.example.org" for i in range(500)])
    latency = rng.lognormal(3, 1, rows)
    return pa.table(
        {
            "at": at,
            "host": words[rng.zipf(1.3, rows) % 500],
            "level": np.array(["INFO", "WARN", "ERROR", "DEBUG"])[rng.choice(4, rows, p=[0.8, 0.1, 0.02, 0.08])],
            "status": rng.choice([200, 304, 404, 500], rows, p=[0.9, 0.05, 0.04, 0.01]).astype("int32"),
            "bytes": rng.integers(0, 1 << 20, rows),
            "latency": pa.array(latency, mask=rng.random(rows) < 0.05),
            "message": [
                f"request {i % 9973} of user {i * 7919 % 65_537} took {x:.1f} ms" for i, x in enumerate(latency)
            ],
        }
    )


def interleaved(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Returns the median time of each of several alternating runs, in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(RUNS + 1):
        # In random order, because memory of the previous run may still be being freed.
        for name, run in random.sample(list(runs.items()), len(runs)):
            begin = time.perf_counter()
            run()
            if turn > 0:  # the first one fills caches
                times[name].append((time.perf_counter() - begin) * 1_000)
    return {name: statistics.median(some) for name, some in times.items()}


def row(title: str, ours: float, theirs: float) -> None:
    print(f"{title:<46} {ours:>10.1f} {theirs:>10.1f} {ours / theirs:>8.2f}")


def drained(reader: pa.RecordBatchReader) -> None:
    """Reads all batches. A `for` loop would keep each batch until the next one is decoded, which needs other memory."""
    try:
        while True:
            reader.read_next_batch()
    except StopIteration:
        pass


def scans(shard: str) -> None:
    """Compares scans into pyarrow with the scan itself. Both drop batches at once. A table keeps all batches in new
    memory, so it is compared with a scan that keeps its batches, too.
    """
    f = sh.open(shard)
    print(f"\n{'scan, ms':<46} {'pyarrow':>10} {'Rust':>10} {'ratio':>8}")
    for threads in (1, 2):
        for title, options in {
            "all columns": {},
            "three numbers": {"columns": ["status", "bytes", "latency"]},
            "status = 500": {"filter": sh.col("status") == 500},
        }.items():
            def scan() -> sh.Scan:
                return f.scan(threads=threads, **options)  # noqa: B023

            found = interleaved(
                {
                    "reader": lambda: drained(pa.RecordBatchReader.from_stream(scan())),
                    "table": lambda: pa.table(scan()),
                    "rust": lambda: scan().count(),
                    "kept": lambda: list(scan()),
                }
            )
            row(f"{title}, {threads} threads, as batches", found["reader"], found["rust"])
            row(f"{title}, {threads} threads, as a table", found["table"], found["kept"])


FILTERS: dict[str, tuple[str, sh.Expression, pc.Expression]] = {
    "no row": ("status", sh.col("status") == 999, pc.field("status") == 999),
    "1 % of rows, a number": ("status", sh.col("status") == 500, pc.field("status") == 500),
    "2 % of rows, a word": ("level", sh.col("level") == "ERROR", pc.field("level") == "ERROR"),
    "half of the rows, a number": ("bytes", sh.col("bytes") < 1 << 19, pc.field("bytes") < 1 << 19),
    "90 % of rows, a number": ("status", sh.col("status") == 200, pc.field("status") == 200),
    "part of a text": (
        "message",
        sh.col("message").like("%user 77%"),
        pc.match_substring(pc.field("message"), "user 77"),
    ),
    "not empty": ("host", sh.col("host") != "", pc.field("host") != ""),
    "nulls": ("latency", sh.col("latency").is_null(), pc.field("latency").is_null()),
}


def filters(shard: str) -> None:
    """Compares filters that are handed down with reading all rows and filtering them in pyarrow."""
    f = sh.open(shard)
    print(f"\n{'filter, ms':<46} {'handed':>10} {'afterwards':>10} {'ratio':>8}")
    for threads in (1, 2):
        for columns in (["at", "bytes"], None):
            for title, (tested, ours, theirs) in FILTERS.items():
                needed = None if columns is None else [*columns, tested]

                def table(filter: sh.Expression | None = None) -> pa.Table:
                    return pa.table(f.scan(columns=needed, filter=filter, threads=threads))  # noqa: B023

                found = interleaved(
                    {
                        "handed": lambda: table(ours),  # noqa: B023
                        "afterwards": lambda: table().filter(theirs),  # noqa: B023
                    }
                )
                what = "all columns" if columns is None else "2 columns"
                row(f"{title}, {what}, {threads} threads", found["handed"], found["afterwards"])


def engines(shard: str, parquet: str, table: pa.Table) -> None:
    """Compares polars and DuckDB over both formats."""
    cut = table["at"][int(len(table) * 0.98)].as_py()
    print(f"\n{'engine, ms':<46} {'shard':>10} {'Parquet':>10} {'ratio':>8}")
    polars: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
        "count": lambda lazy: lazy.select(pl.len()),
        "head": lambda lazy: lazy.head(10),
        "sum of all": lambda lazy: lazy.select(pl.col("bytes").sum(), pl.col("latency").sum()),
        "last 2 % of time": lambda lazy: lazy.filter(pl.col("at") > cut).select("host", "bytes"),
        "group by host": lambda lazy: lazy.group_by("host").agg(pl.col("bytes").sum(), pl.len()),
        "errors": lambda lazy: lazy.filter(pl.col("level") == "ERROR").select("message"),
        "top 10": lambda lazy: lazy.select("at", "bytes").top_k(10, by="bytes"),
        "everything": lambda lazy: lazy,
    }
    for title, query in polars.items():
        found = interleaved(
            {
                "shard": lambda: query(sh.scan_polars(shard)).collect(),  # noqa: B023
                "parquet": lambda: query(pl.scan_parquet(parquet)).collect(),  # noqa: B023
            }
        )
        row(f"polars: {title}", found["shard"], found["parquet"])
    connection = duckdb.connect()
    sh.register(connection, "shards", shard)
    queries = {
        "count": "select count(*) from {}",
        "head": "select * from {} limit 10",
        "sum of all": "select sum(bytes), sum(latency) from {}",
        "last 2 % of time": f"select max(host), sum(bytes) from {{}} where \"at\" > '{cut}'",
        "group by host": "select host, sum(bytes), count(*) from {} group by host",
        "errors": "select max(message) from {} where level = 'ERROR'",
        "count of a status": "select count(*) from {} where status = 500",
        "top 10": "select \"at\", bytes from {} order by bytes desc limit 10",
    }
    for title, text in queries.items():
        found = interleaved(
            {
                "shard": lambda: connection.sql(text.format("shards")).fetchall(),  # noqa: B023
                "parquet": lambda: connection.sql(text.format(f"'{parquet}'")).fetchall(),  # noqa: B023
            }
        )
        row(f"DuckDB: {title}", found["shard"], found["parquet"])
    shards = sh.dataset(shard)
    found = interleaved(
        {
            "shard": lambda: shards.to_table(filter=pc.field("status") == 500),
            "parquet": lambda: ds.dataset(parquet).to_table(filter=pc.field("status") == 500),
        }
    )
    row("pyarrow: status = 500", found["shard"], found["parquet"])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("rows", type=int, nargs="?", default=2_000_000)
    rows = arguments.parse_args().rows
    table = log_table(rows)
    with tempfile.TemporaryDirectory() as folder:
        shard, parquet = f"{folder}/log.amudai.shard", f"{folder}/log.parquet"
        sh.write(table, shard, sorting_columns=["at"])
        pq.write_table(table, parquet, compression="zstd")
        sizes = [Path(path).stat().st_size / 1e6 for path in (shard, parquet)]
        print(f"{rows:,} rows: shard {sizes[0]:.1f} MB, Parquet (zstd) {sizes[1]:.1f} MB")
        scans(shard)
        filters(shard)
        engines(shard, parquet, table)


if __name__ == "__main__":
    main()
