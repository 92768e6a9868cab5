"""Fixtures of several test modules."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import arrow_shard as sh
import pyarrow as pa
import pytest

# Random tests ask other queries with another number.
FIRST_SEED = int(os.environ.get("FIRST_SEED", "0"))


@pytest.fixture
def cities(tmp_path: Path) -> str:
    """Writes a small shard."""
    path = str(tmp_path / "cities.amudai.shard")
    sh.write(pa.table({"id": [1, 2], "name": ["Oslo", "Lima"]}), path)
    return path


@pytest.fixture
def numbers(tmp_path: Path) -> str:
    """Writes a shard of ten stripes of 1,000 rows, in the order of `id`."""
    path = str(tmp_path / "numbers.amudai.shard")
    count = 10_000
    table = pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "half": pa.array([None if i % 7 == 0 else i / 2 for i in range(count)], pa.float64()),
            "name": pa.array([f"name {i % 100:02}" for i in range(count)]),
            "inner": pa.array([{"x": i, "y": str(i)} for i in range(count)]),
        }
    )
    sh.write(table, path, stripe_rows=1_000)
    return path


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """Starts a local server of S3 with the bucket `tables`, and returns its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                request = urllib.request.Request(f"{address}/tables", method="PUT")
                urllib.request.urlopen(request, timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, "moto_server has ended"
                time.sleep(0.1)
        else:
            raise AssertionError("moto_server does not answer")
        yield address
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def s3_environment(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets environment variables so URLs of S3 lead to the server."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT", s3)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@pytest.fixture
def bucket(s3: str) -> sh.store.S3Store:
    """Returns the bucket as a store."""
    return sh.store.S3Store(
        "tables",
        endpoint=s3,
        access_key_id="key",
        secret_access_key="secret",
        region="us-east-1",
        client_options={"allow_http": True},
    )
