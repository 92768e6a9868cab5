#!/usr/bin/env bash
# Installs what building the workspace needs beside Rust and a C++ compiler: cmake, with which the
# FlatBuffers compiler is built that checks the generated code. Does nothing where it is there.
set -euo pipefail
if command -v cmake >/dev/null; then
    exit 0
fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq cmake
elif command -v pip >/dev/null; then
    pip install --quiet --user cmake
    echo "cmake is in $(python3 -m site --user-base)/bin, which must be on PATH" >&2
else
    echo "please install cmake: https://cmake.org/download" >&2
    exit 1
fi
