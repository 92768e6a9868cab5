#!/usr/bin/env bash
# All tests, with all they need installed first.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh tools
# What runs in the background ends with this script.
trap 'jobs -p | xargs -r kill 2>/dev/null || true' EXIT
# The servers are there before cargo has compiled the tests that need them.
tools/setup.sh servers &
servers=$!
if [ ! -d target/debug ]; then
    printf '== compiling everything takes about 13 minutes on two cores, the tests run for 9\n' >&2
fi
export PATH="$PATH:$HOME/.local/bin"
tests() { cargo test --workspace --features cloud,experimental "$@"; }
others() { tests --bins --examples --test '*' "$@"; }
if [ $# = 0 ]; then
    # The unit tests run as soon as they are compiled, while cargo compiles the other test programs.
    tests --lib --no-run
    others --no-run &
    compiling=$!
    tests --lib
    wait "$compiling"
else
    case " $* " in
        *" --doc "*) ;;
        *) tests --no-run "$@" ;;
    esac
fi
wait "$servers"
if [ -x target/stores/bin/moto_server ]; then
    # Tests over S3 may be left out no more.
    export REQUIRE_S3=1
fi
if [ -x target/azurite/node_modules/.bin/azurite-blob ]; then
    export REQUIRE_AZURE=1
fi
if [ $# = 0 ]; then
    others
    tests --doc
else
    tests "$@"
fi
