#!/usr/bin/env bash
# Builds a wheel into integrations/target/wheels.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/environment.sh"
python -m pip install --quiet --disable-pip-version-check maturin
exec maturin build --manifest-path "$here/Cargo.toml" --release --locked --out "$CARGO_TARGET_DIR/wheels" "$@"
