#!/usr/bin/env bash
# Installs what building and testing the workspace need beside Rust and a C++ compiler: cmake, with
# which the FlatBuffers compiler is built that checks the generated code, and below target/ servers
# that speak S3 and Azure. Does nothing where they are there.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '== %s\n' "$1" >&2; }
install() {
    say "installing $* by apt-get"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"
}
has_apt() { command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; }

if ! command -v cmake >/dev/null; then
    if has_apt; then
        install cmake
    elif command -v pip >/dev/null; then
        say "installing cmake by pip, for this user"
        pip install --quiet --user cmake
        echo "cmake is in $(python3 -m site --user-base)/bin, which must be on PATH" >&2
    else
        echo "please install cmake: https://cmake.org/download" >&2
        exit 1
    fi
fi

has_venv() { python3 -c 'import venv, ensurepip' 2>/dev/null; }
if ! has_venv && has_apt; then
    install python3-venv
fi
if has_venv; then
    stores=target/stores wanted=tests/stores/requirements.txt
    if ! cmp -s "$wanted" "$stores/installed.txt"; then
        say "installing moto, a server that speaks S3, in $stores: half a minute"
        python3 -m venv "$stores"
        "$stores/bin/pip" install --quiet --disable-pip-version-check -r "$wanted"
        cp "$wanted" "$stores/installed.txt"
    fi
else
    echo "SKIPPED: python3 has no venv and no pip; tests over S3 will not run" >&2
fi

if command -v npm >/dev/null; then
    azurite=target/azurite wanted=tests/stores/package.json
    if ! cmp -s "$wanted" "$azurite/installed.json"; then
        say "installing Azurite, an emulator of Azure, in $azurite: half a minute"
        mkdir -p "$azurite"
        cp "$wanted" "$azurite/package.json"
        npm install --prefix "$azurite" --silent --no-audit --no-fund
        cp "$wanted" "$azurite/installed.json"
    fi
else
    echo "SKIPPED: there is no npm; tests over Azure will not run" >&2
fi
