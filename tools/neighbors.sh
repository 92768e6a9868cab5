#!/usr/bin/env bash
# Compares what pyarrow, DuckDB, polars and nanoarrow read of converted files, and the types that they infer of CSV and
# JSON with those in docs/conversions.md, in a virtual environment below target/. Its argument is the command line's
# program; without one it is built.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=target/neighbors
if ! [ -x "$environment/bin/python" ]; then
    python3 -m venv "$environment"
fi
"$environment/bin/pip" install --quiet --disable-pip-version-check -r tests/neighbors/requirements.txt
program=${1:-target/debug/arrow-shard}
if [ $# = 0 ]; then
    cargo build --quiet --features cli --bin arrow-shard
fi
for script in neighbors ipc_matrix inferred; do
    "$environment/bin/python" "tests/neighbors/$script.py" "$program"
done
