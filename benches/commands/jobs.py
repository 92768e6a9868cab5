"""The same jobs for `arrow-shard`, `duckdb` and polars, as shell commands of their own users.

Files of a job's folder: `orders.csv` and `orders.csv.gz` are made once; `orders.amudai.shard` and `orders.parquet` are
the result of the first job, so that every program reads the file that it would have written.
"""

from __future__ import annotations

import dataclasses
import shlex


@dataclasses.dataclass(frozen=True)
class Job:
    """A job, and for each program the command that does it. `{out}` is a file or folder that does not exist."""

    name: str
    shard: str
    duckdb: str
    polars: str
    # Whether the job reads only CSV, so that it can run before any columns were written.
    prepares: bool = False

    def commands(self) -> dict[str, str]:
        """Returns the command of each program."""
        python = f"import polars as pl; {self.polars}"
        return {
            "arrow-shard": self.shard,
            "duckdb": f"duckdb -c {shlex.quote(self.duckdb)}",
            "polars": f"python -c {shlex.quote(python)}",
        }


def sql(query: str) -> str:
    """Returns the command that runs a query over the shard."""
    return f"arrow-shard sql {shlex.quote(query)}"


COLUMNS = 'pl.scan_parquet("orders.parquet")'
ZSTD = "FORMAT parquet, COMPRESSION zstd"
# A customer with about ten orders in a million.
CUSTOMER = 54_321
BY_CITY = "SELECT city, count(*) AS n, avg(price) AS mean FROM '{}' GROUP BY city ORDER BY n DESC LIMIT 10"
TOP_CUSTOMERS = "SELECT customer, sum(price * quantity) AS total FROM '{}' GROUP BY customer ORDER BY total DESC LIMIT 10"
PAGES = "SELECT count(DISTINCT url) AS pages FROM '{}'"
SHARD = "orders.amudai.shard"
PARQUET = "orders.parquet"

JOBS = [
    Job(
        "CSV to columns",
        "arrow-shard convert -q orders.csv {out}.amudai.shard",
        f"COPY (FROM 'orders.csv') TO '{{out}}.parquet' ({ZSTD})",
        'pl.scan_csv("orders.csv", try_parse_dates=True).sink_parquet("{out}.parquet")',
        prepares=True,
    ),
    Job(
        "CSV.gz to columns",
        "arrow-shard convert -q orders.csv.gz {out}.amudai.shard",
        f"COPY (FROM 'orders.csv.gz') TO '{{out}}.parquet' ({ZSTD})",
        'pl.scan_csv("orders.csv.gz", try_parse_dates=True).sink_parquet("{out}.parquet")',
        prepares=True,
    ),
    Job(
        "columns to CSV",
        f"arrow-shard convert -q {SHARD} {{out}}.csv",
        f"COPY (FROM '{PARQUET}') TO '{{out}}.csv'",
        f'{COLUMNS}.sink_csv("{{out}}.csv")',
    ),
    Job(
        "columns to NDJSON",
        f"arrow-shard convert -q {SHARD} {{out}}.ndjson",
        f"COPY (FROM '{PARQUET}') TO '{{out}}.ndjson'",
        f'{COLUMNS}.sink_ndjson("{{out}}.ndjson")',
    ),
    Job(
        "rows of a condition in CSV",
        'arrow-shard count --filter "price > 100 AND status = \'paid\'" orders.csv',
        "SELECT count(*) FROM 'orders.csv' WHERE price > 100 AND status = 'paid'",
        'print(pl.scan_csv("orders.csv").filter((pl.col("price") > 100) & (pl.col("status") == "paid"))'
        ".select(pl.len()).collect())",
        prepares=True,
    ),
    Job(
        "rows of a condition",
        f'arrow-shard count --filter "price > 100 AND status = \'paid\'" {SHARD}',
        f"SELECT count(*) FROM '{PARQUET}' WHERE price > 100 AND status = 'paid'",
        f'print({COLUMNS}.filter((pl.col("price") > 100) & (pl.col("status") == "paid")).select(pl.len()).collect())',
    ),
    Job(
        "rows",
        f"arrow-shard count {SHARD}",
        f"SELECT count(*) FROM '{PARQUET}'",
        f"print({COLUMNS}.select(pl.len()).collect())",
    ),
    Job(
        "first rows",
        f"arrow-shard head {SHARD}",
        f"FROM '{PARQUET}' LIMIT 10",
        f"print({COLUMNS}.head(10).collect())",
    ),
    Job(
        "orders of a customer, as CSV",
        f'arrow-shard convert -q --filter "customer = {CUSTOMER}" {SHARD} {{out}}.csv',
        f"COPY (FROM '{PARQUET}' WHERE customer = {CUSTOMER}) TO '{{out}}.csv'",
        f'{COLUMNS}.filter(pl.col("customer") == {CUSTOMER}).sink_csv("{{out}}.csv")',
    ),
    Job(
        "orders by city",
        sql(BY_CITY.format(SHARD)),
        BY_CITY.format(PARQUET),
        f'print({COLUMNS}.group_by("city").agg(n=pl.len(), mean=pl.col("price").mean())'
        '.sort("n", descending=True).head(10).collect(engine="streaming"))',
    ),
    Job(
        "best customers",
        sql(TOP_CUSTOMERS.format(SHARD)),
        TOP_CUSTOMERS.format(PARQUET),
        f'print({COLUMNS}.group_by("customer").agg(total=(pl.col("price") * pl.col("quantity")).sum())'
        '.sort("total", descending=True, nulls_last=True).head(10).collect(engine="streaming"))',
    ),
    Job(
        "different pages",
        sql(PAGES.format(SHARD)),
        PAGES.format(PARQUET),
        f'print({COLUMNS}.select(pl.col("url").n_unique()).collect(engine="streaming"))',
    ),
    Job(
        "sort by customer and time",
        f"arrow-shard convert -q --sort customer,-ts {SHARD} {{out}}.amudai.shard",
        f"COPY (FROM '{PARQUET}' ORDER BY customer, ts DESC) TO '{{out}}.parquet' ({ZSTD})",
        f'{COLUMNS}.sort("customer", "ts", descending=[False, True]).sink_parquet("{{out}}.parquet")',
    ),
    Job(
        "statistics of all columns",
        f"arrow-shard stats {SHARD}",
        f"SUMMARIZE FROM '{PARQUET}'",
        f"print({COLUMNS}.collect().describe())",
    ),
    Job(
        "a file for each country",
        f"arrow-shard convert -q --partition-by country {SHARD} {{out}}/part.amudai.shard",
        f"COPY (FROM '{PARQUET}') TO '{{out}}' ({ZSTD}, PARTITION_BY (country))",
        f'{COLUMNS}.sink_parquet(pl.PartitionBy("{{out}}", key="country"), mkdir=True)',
    ),
    Job(
        "difference of equal files",
        f"arrow-shard diff {SHARD} copy.amudai.shard",
        f"SELECT count(*) FROM (FROM '{PARQUET}' EXCEPT ALL FROM 'copy.parquet')",
        f'print({COLUMNS}.collect().equals(pl.scan_parquet("copy.parquet").collect()))',
    ),
]
