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
    # What is imported when it is first needed takes a while.
    pa.table(f.scan(limit=1))
    sh.dataset(path).head(1)
    large = pa.table({"a": pa.array(range(1_000_000))})
    large = pa.table({"a": pa.chunked_array([large["a"].chunk(0)] * 100).combine_chunks()})
"""

NONE = "filter=sh.col('x').like('%none%')"

# But for the take, each is one call, which would take minutes.
WORK = {
    "scan without a match": f"list(f.scan({NONE}))",
    "scan on one thread": f"list(f.scan({NONE}, threads=1))",
    "count": "f.scan().count()",
    "table of a dataset": "sh.dataset(path).to_table(filter=pc.match_substring(pc.field('x'), 'none'))",
    "write": "sh.write(rows(), out)",
    "write of a scan": f"sh.write(f.scan({NONE}), out)",
    "write of one batch": "sh.write(large, out, profile='minimal_size')",
    "verify": "f.verify()",
    "take": "while True:\n    f.take(range(0, f.num_rows, 10_000))",
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Texts that take minutes to read: a few of them, again and again."""
    folder = tmp_path_factory.mktemp("interrupts")
    few, many = str(folder / "few.amudai.shard"), str(folder / "many.amudai.shard")
    batch = pa.record_batch({"x": [f"some text number {i * 7919 % 1_000_003}" for i in range(200_000)]})
    sh.write(pa.Table.from_batches([batch] * 10), few, profile="fast", dictionary=False, stripe_rows=50_000)
    sh.merge([few] * 50, many)
    return many


def interrupted(script: str, path: str, out: Path, setup: str = "", after: float = 1.0) -> tuple[int, str]:
    """Runs a script, sends it SIGINT once it is set up, and gives its exit code and what it said."""
    parts = (BEGINNING, setup, "print('ready', flush=True)", script)
    code = "\n".join(map(textwrap.dedent, parts))
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
    assert os.listdir(tmp_path) == []


def test_ctrl_c_ends_a_scan_of_several(texts: str, tmp_path: Path) -> None:
    setup = "many = sh.open_many([path])"
    code, said = interrupted(f"many.scan({NONE}).count()", texts, tmp_path / "out", setup)
    assert said.rstrip().endswith("KeyboardInterrupt") and code in (130, -signal.SIGINT), said


@pytest.mark.parametrize("library", ["pa.table(scan)", "pl.DataFrame(scan)"])
def test_ctrl_c_ends_what_another_library_reads(library: str, texts: str, tmp_path: Path) -> None:
    """A stream has but words for it, so that the library raises what it does for errors; then Python hears of it."""
    setup = f"""
    import polars as pl
    pl.DataFrame(f.scan(limit=1))
    scan = f.scan({NONE})
    """
    script = f"""
    try:
        {library}
    except Exception as error:
        print(error, file=sys.stderr)
        time.sleep(1)
    """
    code, said = interrupted(script, texts, tmp_path / "out.amudai.shard", setup)
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
    f.scan(filter=sh.col("x").like("%none%")).count()
    """
    _, said = interrupted(script, texts, tmp_path / "out", after=1.5)
    assert said.rstrip().endswith("ValueError: heard"), said


def test_a_fork_reads_and_writes(texts: str, tmp_path: Path) -> None:
    """A fork has none of the threads of its parent."""
    f = sh.open(texts)
    expected = pa.table(f.scan(columns=["x"], limit=10, threads=2))
    rows = range(0, 500_000)
    memory = sh.store.MemoryStore()
    sh.write(expected, "t.amudai.shard", store=memory)
    child = os.fork()
    if child == 0:
        try:
            same = f.scan(threads=2, row_range=rows).count() == 500_000
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
