#!/usr/bin/env bash
# All tests, with all they need installed first.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh
PATH="$PATH:$HOME/.local/bin" cargo test --workspace --features cloud,experimental "$@"
