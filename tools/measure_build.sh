#!/usr/bin/env bash
# How long the library compiles from nothing, its dependencies counted apart, and how large the
# stripped command line is: a table in Markdown. The machine must do nothing else meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=$(mktemp -d)
export CARGO_TARGET_DIR CARGO_TERM_QUIET=true
trap 'rm -rf "$CARGO_TARGET_DIR"' EXIT
TIMEFORMAT='%R %U %S'
exec 3>&2

# Seconds of wall time, and of all processors, for building the library.
build() {
    { time cargo build --release --locked --lib 2>&3; } 2>&1 | awk '{ print $1, $2 + $3 }'
}

cargo fetch --locked
both=$(build)
read -r all all_cpu <<<"$both"
cargo clean --release -p arrow-shard
alone=$(build)
read -r own own_cpu <<<"$alone"

echo "$(rustc --version), $(nproc) cores, $(find src -name '*.rs' -print0 | xargs -0 cat | wc -l) lines in src:"
echo
awk -v all="$all" -v all_cpu="$all_cpu" -v own="$own" -v own_cpu="$own_cpu" 'BEGIN {
    print "| release build | wall, s | CPU, s |"
    print "|-|-:|-:|"
    printf "| dependencies of the library | %.1f | %.1f |\n", all - own, all_cpu - own_cpu
    printf "| the library alone | %.1f | %.1f |\n\n", own, own_cpu
}'

cargo build --release --locked --bin arrow-shard --features cli
strip -o "$CARGO_TARGET_DIR/stripped" "$CARGO_TARGET_DIR/release/arrow-shard"
awk -v bytes="$(wc -c <"$CARGO_TARGET_DIR/stripped")" 'BEGIN {
    printf "The command line, stripped, has %.1f MB.\n", bytes / 1e6
}'
