#!/usr/bin/env bash
# Builds wheels for Linux into integrations/target/wheels: for glibc 2.17 and for musl 1.2, each for x86_64 and aarch64,
# or for the targets that the arguments name. Zig, which comes from PyPI, compiles the C code and links, so no other
# compiler is needed. PROFILE is cargo's profile, by default `release`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/environment.sh"
python -m pip install --quiet --disable-pip-version-check "maturin[zig]"
if [ $# = 0 ]; then
    set -- {x86_64,aarch64}-unknown-linux-{gnu,musl}
fi
rustup target add "$@"
for target in "$@"; do
    case $target in
        *-gnu) compatibility=manylinux2014 ;;
        *-musl) compatibility=musllinux_1_2 ;;
        *)
            printf '%s: expected a target for Linux\n' "$target" >&2
            exit 2
            ;;
    esac
    maturin build --manifest-path "$here/Cargo.toml" --profile "${PROFILE:-release}" --locked --zig \
        --target "$target" --compatibility "$compatibility" --out "$CARGO_TARGET_DIR/wheels"
done
