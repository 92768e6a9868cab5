#!/usr/bin/env bash
# Builds the tests for 64-bit Arm and runs them, on other machines under QEMU. Arguments go to `cargo
# test`; tests that start the command line need QEMU in the kernel's binfmt_misc.
#
# Needs the packages gcc-aarch64-linux-gnu and qemu-user-static of Debian, and the standard library of
# the target: from rustup, or from source with -Zbuild-std among the arguments.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
case " $* " in
    *" -Zbuild-std"*) export RUSTC_BOOTSTRAP=1 ;;
    *) rustup target add "$target" ;;
esac
if [ "$(uname -m)" != aarch64 ]; then
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static"
    export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
fi
# Optimised: the loops are to become vectors, and an emulated CPU is slow.
cargo test --release --target "$target" --features cli,experimental "$@"
