"""Answers the queries of TPC-H with DuckDB, over files of Parquet.

    python duckdb_answers.py TABLES QUERIES ANSWERS

TABLES holds a folder of Parquet files for each table, QUERIES the texts of the queries as q*.sql. ANSWERS gets a CSV file
for each query, without a header: nulls are written as NULL, numbers and dates as DuckDB prints them.
"""

import csv
import pathlib
import sys

import duckdb


def main(tables: str, queries: str, answers: str) -> None:
    connection = duckdb.connect()
    for table in sorted(pathlib.Path(tables).iterdir()):
        connection.execute(f"CREATE VIEW {table.name} AS SELECT * FROM read_parquet('{table}/*.parquet')")
    for query in sorted(pathlib.Path(queries).glob("q*.sql")):
        rows = connection.execute(query.read_text()).fetchall()
        with open(pathlib.Path(answers) / f"{query.stem}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([["NULL" if value is None else str(value) for value in row] for row in rows])


if __name__ == "__main__":
    main(*sys.argv[1:])
