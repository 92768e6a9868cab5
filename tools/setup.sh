#!/usr/bin/env bash
# Installs what building and testing the workspace need beside Rust and a C++ compiler, and does nothing where it is
# there: `tools/setup.sh tools` installs cmake, with which the FlatBuffers compiler is built that checks the generated
# code; `tools/setup.sh servers` installs servers below target/ that speak S3 and Azure; without an argument, both.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '== %s\n' "$1" >&2; }
install() {
    say "installing $* by apt-get"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"
}
has_apt() { command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; }
has_venv() { python3 -c 'import venv, ensurepip' 2>/dev/null; }

tools() {
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
    if ! has_venv && has_apt; then
        install python3-venv
    fi
}

moto() {
    local stores=target/stores wanted=tests/stores/requirements.txt
    if ! has_venv; then
        echo "SKIPPED: python3 has no venv and no pip; tests over S3 will not run" >&2
    elif ! cmp -s "$wanted" "$stores/installed.txt"; then
        say "installing moto, a server that speaks S3, in $stores: half a minute"
        python3 -m venv "$stores"
        "$stores/bin/pip" install --quiet --disable-pip-version-check -r "$wanted"
        cp "$wanted" "$stores/installed.txt"
    fi
}

azurite() {
    local azurite=target/azurite wanted=tests/stores/package.json
    if ! command -v npm >/dev/null; then
        echo "SKIPPED: there is no npm; tests over Azure will not run" >&2
    elif ! cmp -s "$wanted" "$azurite/installed.json"; then
        say "installing Azurite, an emulator of Azure, in $azurite: half a minute"
        mkdir -p "$azurite"
        cp "$wanted" "$azurite/package.json"
        npm install --prefix "$azurite" --silent --no-audit --no-fund
        cp "$wanted" "$azurite/installed.json"
    fi
}

case ${1:-all} in
    tools)
        tools
        ;;
    servers)
        moto
        azurite
        ;;
    all)
        tools
        moto
        azurite
        ;;
    *)
        printf '%s: expected tools, servers, or nothing\n' "$1" >&2
        exit 2
        ;;
esac
