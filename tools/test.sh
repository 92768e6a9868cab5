#!/usr/bin/env bash
# All tests, with all they need installed first.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh tools
# The servers are there before cargo has compiled the tests that need them.
tools/setup.sh servers &
servers=$!
if [ ! -d target/debug ]; then
    printf '== compiling everything: about 13 minutes on two cores; then the tests run for 9\n' >&2
fi
export PATH="$PATH:$HOME/.local/bin"
tests() { cargo test --workspace --features cloud,experimental "$@"; }
case " $* " in
    *" --doc "*) ;;
    *) tests --no-run "$@" ;;
esac
wait "$servers"
if [ -x target/stores/bin/moto_server ]; then
    # Tests over S3 may be left out no more.
    export REQUIRE_S3=1
fi
if [ -x target/azurite/node_modules/.bin/azurite-blob ]; then
    export REQUIRE_AZURE=1
fi
tests "$@"
