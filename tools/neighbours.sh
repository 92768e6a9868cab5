#!/usr/bin/env bash
# Compares what pyarrow, DuckDB, polars and nanoarrow read of converted files, and the types that they infer of CSV and
# JSON with those in docs/conversions.md, in a virtual environment below target/.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=target/neighbours
if ! [ -x "$environment/bin/python" ]; then
    python3 -m venv "$environment"
fi
"$environment/bin/pip" install --quiet --disable-pip-version-check -r tests/neighbours/requirements.txt
cargo build --quiet --features cli --bin arrow-shard
"$environment/bin/python" tests/neighbours/neighbours.py target/debug/arrow-shard
"$environment/bin/python" tests/neighbours/ipc_matrix.py target/debug/arrow-shard
"$environment/bin/python" tests/neighbours/inferred.py target/debug/arrow-shard
