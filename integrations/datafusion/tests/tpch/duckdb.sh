#!/usr/bin/env bash
# Runs duckdb_answers.py with these arguments, in a virtual environment below integrations/target.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
environment=$(cd "$here/../../.." && pwd -P)/target/duckdb
if ! cmp -s "$here/requirements.txt" "$environment/installed.txt"; then
    mkdir -p "$(dirname "$environment")"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$environment/installed.txt"
fi
exec "$environment/bin/python" "$here/duckdb_answers.py" "$@"
