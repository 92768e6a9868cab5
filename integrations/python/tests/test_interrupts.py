"""Ctrl-C ends what takes long, with KeyboardInterrupt and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import arrow_shard as sh
import pyarrow as pa
import pytest

BEGINNING = """
    import sys, time
    import arrow_shard as sh, pyarrow as pa, pyarrow.compute as pc
    path, out = sys.argv[1:3]

    def endless():
        batch = pa.record_batch({"a": pa.array(range(100_000))})
        while True:
            yield batch

    def rows():
        return pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), endless())

    f = sh.open(path)
    print("ready", flush=True)
"""

WORK = {
    # No row matches, so that all of it is one call, again and again.
    "scan without a match": "while True:\n    list(f.scan(filter=sh.col('x').like('%none%')))",
    "scan on one thread": "while True:\n    list(f.scan(filter=sh.col('x').like('%none%'), threads=1))",
    "table of a dataset": "ds = sh.dataset(path)\nwhile True:\n    ds.to_table(filter=pc.match_substring(pc.field('x'), 'none'))",
    "scan of several": "many = sh.open_many([path] * 3)\nwhile True:\n    many.scan(filter=sh.col('x').like('%none%')).count()",
    "write": "sh.write(rows(), out)",
    "write of a scan": "while True:\n    sh.write(f.scan(filter=sh.col('x').like('%none%')), out, overwrite=True)",
    "write of one batch": "sh.write(pa.table({'a': range(30_000_000)}), out, profile='minimal_size')",
    "verify": "while True:\n    f.verify()",
    "take": "while True:\n    f.take(range(0, f.num_rows, 3))",
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Texts that take a while to read."""
    path = str(tmp_path_factory.mktemp("interrupts") / "texts.amudai.shard")
    batch = pa.record_batch({"x": [f"some text number {i * 7919 % 1_000_003}" for i in range(200_000)]})
    sh.write(pa.Table.from_batches([batch] * 10), path, profile="fast", dictionary=False)
    return path


def interrupted(script: str, path: str, out: Path, after: float = 1.0) -> tuple[int, str]:
    """Runs a script, sends it SIGINT once it works, and gives its exit code and what it said."""
    code = textwrap.dedent(BEGINNING) + textwrap.dedent(script)
    child = subprocess.Popen(
        [sys.executable, "-c", code, path, str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == "ready\n", child.stderr
        time.sleep(after)
        assert child.poll() is None, child.communicate()
        child.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, said = child.communicate(timeout=60)
        assert time.monotonic() - begin < 15
        return child.returncode, said
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("name", WORK)
def test_ctrl_c_is_heard(name: str, texts: str, tmp_path: Path) -> None:
    code, said = interrupted(WORK[name], texts, tmp_path / "out.amudai.shard")
    assert said.rstrip().endswith("KeyboardInterrupt"), said
    assert code in (130, -signal.SIGINT), said
    # A write without rows may have been done before.
    assert os.listdir(tmp_path) in ([], ["out.amudai.shard"] if name == "write of a scan" else [])


def test_ctrl_c_ends_what_another_library_reads(texts: str, tmp_path: Path) -> None:
    script = """
    try:
        while True:
            pa.table(f.scan(filter=sh.col("x").like("%none%")))
    finally:
        print("ended", flush=True)
    """
    code, said = interrupted(script, texts, tmp_path / "out.amudai.shard")
    assert code != 0 and "KeyboardInterrupt" in said, said


def test_ctrl_c_takes_back_what_was_sent_to_a_store(texts: str, tmp_path: Path, s3: str) -> None:
    script = f"""
    store = sh.store.S3Store("tables", endpoint="{s3}", access_key_id="key", secret_access_key="secret",
                             region="us-east-1", client_options={{"allow_http": True}})
    sh.write(rows(), "interrupted/t.amudai.shard", store=store, stripe_rows=200_000, profile="plain")
    """
    code, said = interrupted(script, texts, tmp_path / "out", after=2.0)
    assert said.rstrip().endswith("KeyboardInterrupt"), said
    store = sh.store.S3Store("tables", endpoint=s3, access_key_id="key", secret_access_key="secret",
                             region="us-east-1", client_options={"allow_http": True})
    assert sh.list_shards("interrupted/", store=store) == []


def test_other_handlers_of_signals_run(texts: str, tmp_path: Path) -> None:
    script = """
    import signal
    def heard(number, frame):
        raise ValueError("heard")
    signal.signal(signal.SIGINT, heard)
    while True:
        list(f.scan(filter=sh.col("x").like("%none%")))
    """
    _, said = interrupted(script, texts, tmp_path / "out", after=1.5)
    assert said.rstrip().endswith("ValueError: heard"), said


def test_a_fork_reads_and_writes(texts: str, tmp_path: Path) -> None:
    """A fork has none of the threads of its parent."""
    f = sh.open(texts)
    expected = pa.table(f.scan(columns=["x"], limit=10, threads=2))
    memory = sh.store.MemoryStore()
    sh.write(expected, "t.amudai.shard", store=memory)
    child = os.fork()
    if child == 0:
        try:
            same = sum(len(batch) for batch in f.scan(threads=2)) == 2_000_000
            same &= sh.open("t.amudai.shard", store=memory).num_rows == 10
            os._exit(0 if same else 1)
        except BaseException:
            os._exit(2)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the fork hangs")
