#!/usr/bin/env bash
# Builds the module into a virtual environment below integrations/target and runs all tests, or those that pytest's
# arguments name. FEATURES="--no-default-features" leaves DataFusion out, which takes most of the time to compile; MODULE
# names a library that cargo has built already.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/environment.sh"
python -m pip install --quiet --disable-pip-version-check -r "$here/tests/requirements.txt"
if [ -n "${MODULE:-}" ]; then
    cp "$MODULE" "$here/python/arrow_shard/_lib.abi3.so"
    export PYTHONPATH="$here/python"
else
    # shellcheck disable=SC2086
    maturin develop --manifest-path "$here/Cargo.toml" --profile "${PROFILE:-dev}" ${FEATURES:-}
fi
cd "$here"
exec python -m pytest "$@"
