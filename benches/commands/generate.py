"""Writes a CSV file of orders, for `run.py`.

    python generate.py ROWS FILE [SEED]

A million rows take about 100 MB.
"""

from __future__ import annotations

import argparse
import datetime

import numpy as np
import pyarrow as pa
import pyarrow.csv

CHUNK_ROWS = 500_000


def orders(rng: np.random.Generator, first_id: int, rows: int) -> pa.Table:
    """Returns orders in the order of their times: skewed customers, cities and pages, prices, and nulls."""
    pages = rng.zipf(1.4, rows) % 200_000
    seconds = first_id * 2 + np.sort(rng.integers(0, rows * 2, rows))
    statuses = np.array(["paid", "open", "shipped", "returned"])
    countries = np.array(["Norge", "Perú", "日本", "Kenya", "France", "Brasil"])
    return pa.table(
        {
            "id": np.arange(first_id, first_id + rows),
            "customer": rng.zipf(1.2, rows) % 2_000_000,
            "ts": np.datetime64(datetime.datetime(2024, 1, 1), "us") + seconds.astype("timedelta64[s]"),
            "city": [f"City {number}" for number in rng.zipf(1.5, rows) % 1_000],
            "country": countries[rng.choice(6, rows, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])],
            "url": [f"https://shop.example.org/products/{page // 100}/{page}?ref=mail" for page in pages],
            "price": pa.array(np.round(rng.lognormal(3, 1, rows), 2), mask=rng.random(rows) < 0.03),
            "quantity": rng.integers(1, 12, rows),
            "status": statuses[rng.choice(4, rows, p=[0.8, 0.1, 0.08, 0.02])],
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=int)
    parser.add_argument("file")
    parser.add_argument("seed", type=int, nargs="?", default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    with open(arguments.file, "wb") as file:
        for first_id in range(0, arguments.rows, CHUNK_ROWS):
            table = orders(rng, first_id, min(CHUNK_ROWS, arguments.rows - first_id))
            header = pyarrow.csv.WriteOptions(include_header=first_id == 0)
            pyarrow.csv.write_csv(table, file, header)


if __name__ == "__main__":
    main()
