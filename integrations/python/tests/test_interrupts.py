"""Ctrl-C ends long operations with KeyboardInterrupt, and leaves no files."""

from __future__ import annotations

import http.client
import os
import re
import select
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import arrow_shard as sh
import pyarrow as pa
import pytest

BEGINNING = """
    import sys, time
    from pathlib import Path
    import arrow_shard as sh, pyarrow as pa, pyarrow.compute as pc
    path, out = sys.argv[1:3]
    one = Path(path).with_name("one.amudai.shard")

    def endless():
        batch = pa.record_batch({"a": pa.array(range(100_000))})
        while True:
            yield batch

    def rows():
        return pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), endless())

    f = sh.open(path)
    # Lazy imports take a while, so this triggers them before the measured work.
    pa.table(f.scan(limit=1))
    sh.dataset(path).head(1)
    large = pa.table({"a": pa.array(range(1_000_000))})
    large = pa.table({"a": pa.chunked_array([large["a"].chunk(0)] * 100).combine_chunks()})
"""

NONE = "filter=sh.col('x').like('%none%')"

# Each script is one call that would take minutes, except for the takes.
WORK = {
    "scan without a match": f"list(f.scan({NONE}))",
    "scan on one thread": f"list(f.scan({NONE}, threads=1))",
    "count": f"f.scan({NONE}).count()",
    "table of a dataset": "sh.dataset(path).to_table(filter=pc.match_substring(pc.field('x'), 'none'))",
    "write": "sh.write(rows(), out)",
    "write of a scan": f"sh.write(f.scan({NONE}), out)",
    "write of one batch": "sh.write(large, out, profile='minimal_size')",
    "verify": "f.verify()",
    "delete without a match": "sh.delete(path, sh.col('x').like('%none%'))",
    "delete of many rows": "sh.delete(path, sh.col('x').like('%9%'))",
    "delete by an expression of pyarrow": "sh.delete(path, pc.match_substring(pc.field('x'), 'none'))",
    "compact": "sh.compact(path, min_rows=1 << 30)",
    "compact to another": "sh.compact(path, to=Path(path).with_name('to.amudai.shard'), min_rows=1 << 30, threads=1)",
    "merge": "sh.merge([one] * 200_000, Path(path).with_name('to.amudai.shard'))",
    "append": "sh.append(path, [one] * 200_000)",
    "take": "while True:\n    f.take(range(0, f.num_rows, 10_000))",
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Writes a shard of texts that takes minutes to read: it refers to the same few texts again and again. Also
    writes a shard with one text into its folder."""
    folder = tmp_path_factory.mktemp("interrupts")
    few, many = str(folder / "few.amudai.shard"), str(folder / "many.amudai.shard")
    batch = pa.record_batch({"x": [f"some text number {i * 7919 % 1_000_003}" for i in range(200_000)]})
    sh.write(pa.Table.from_batches([batch] * 10), few, profile="fast", dictionary=False, stripe_rows=50_000)
    sh.merge([few] * 100, many)
    sh.write(pa.table({"x": ["one text"]}), folder / "one.amudai.shard")
    return many


def interrupted(script: str, path: str, out: Path, setup: str = "", after: float = 1.0) -> tuple[int, str]:
    """Runs a script, sends it SIGINT after its setup, and returns its exit code and error output."""
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


def files_beside(path: str) -> dict[str, tuple[int, int]]:
    """Returns the names of the files in a folder, with their inodes and sizes."""
    return {entry.name: (entry.inode(), entry.stat().st_size) for entry in os.scandir(Path(path).parent)}


@pytest.mark.parametrize("name", WORK)
def test_ctrl_c_is_heard(name: str, texts: str, tmp_path: Path) -> None:
    before = files_beside(texts)
    # One batch is written within seconds.
    after = 0.3 if name == "write of one batch" else 1.0
    code, said = interrupted(WORK[name], texts, tmp_path / "out.amudai.shard", after=after)
    assert said.rstrip().endswith("KeyboardInterrupt"), said
    assert code in (130, -signal.SIGINT), said
    assert os.listdir(tmp_path) == [] and files_beside(texts) == before


def test_ctrl_c_ends_a_scan_of_several(texts: str, tmp_path: Path) -> None:
    setup = "many = sh.open_many([path])"
    code, said = interrupted(f"many.scan({NONE}).count()", texts, tmp_path / "out", setup)
    assert said.rstrip().endswith("KeyboardInterrupt") and code in (130, -signal.SIGINT), said


@pytest.mark.parametrize("library", ["pa.table(scan)", "pl.DataFrame(scan)"])
def test_ctrl_c_ends_what_another_library_reads(library: str, texts: str, tmp_path: Path) -> None:
    """A C stream can pass on only text, so the library raises its own exception first; KeyboardInterrupt follows."""
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


DUCKDB = """
    import duckdb, polars as pl
    pl.DataFrame(f.scan(limit=1))
    few = f.scan(limit=1)
    duckdb.sql("SET threads = {threads}")
    duckdb.sql("select count(*) from few").fetchall()
    scan, query = f.scan({filter}), "select count(*) from scan"
"""


@pytest.mark.parametrize("call", ["pa.table(scan)", "pl.DataFrame(scan)", "duckdb.sql(query).fetchall()"])
def test_ctrl_c_shows_one_interrupt_with_a_traceback(call: str, texts: str, tmp_path: Path) -> None:
    """The exception of the library is shown as what it was: not as an error of a stream, and not as two exceptions."""
    setup = DUCKDB.format(threads=1, filter=NONE)
    code, said = interrupted(call, texts, tmp_path / "out.amudai.shard", setup)
    assert code != 0 and said.startswith("Traceback") and said.rstrip().endswith("KeyboardInterrupt"), said
    # DuckDB handles its own exception in Python code, where the interrupt arrives as a second one.
    count = 2 if "duckdb" in call else 1
    assert said.count("\nKeyboardInterrupt\n") == 1 and said.count("Traceback") == count and "lost" not in said, said


def test_a_stream_outlives_an_interrupt_of_something_else(texts: str) -> None:
    reader = pa.RecordBatchReader.from_stream(sh.open(texts).scan(batch_size=1_000))
    assert reader.read_next_batch().num_rows == 1_000
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        time.sleep(1)
    assert reader.read_next_batch().num_rows == 1_000


def test_ctrl_c_before_the_first_batch_on_another_thread_ends_a_stream(texts: str) -> None:
    """An engine may have got the stream, and not have read from it yet."""
    reader = pa.RecordBatchReader.from_stream(sh.open(texts).scan(batch_size=1_000))
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        time.sleep(1)
    with ThreadPoolExecutor(1) as pool, pytest.raises(Exception, match="KeyboardInterrupt"):
        pool.submit(reader.read_next_batch).result()


def test_ctrl_c_between_two_batches_ends_a_stream_of_another_thread(texts: str) -> None:
    """An engine may open the stream on a thread of its own, and work between two batches."""
    with ThreadPoolExecutor(1) as pool:
        scan = sh.open(texts).scan(batch_size=1_000)
        reader = pool.submit(pa.RecordBatchReader.from_stream, scan).result()
        assert pool.submit(reader.read_next_batch).result().num_rows == 1_000
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
            time.sleep(1)
        with pytest.raises(Exception, match="KeyboardInterrupt"):
            pool.submit(reader.read_next_batch).result()


@pytest.mark.parametrize("turn", range(6))
def test_ctrl_c_ends_a_query_of_duckdb_on_several_threads(turn: int, texts: str, tmp_path: Path) -> None:
    """DuckDB may open and read the stream on a thread of its own, where Python runs no signal handlers. If it sees the
    signal first, it raises an exception of its own. With a filter of its own, it works between two batches.
    ``asyncio.run`` sets Python's own action for the signal again.
    """
    setup = DUCKDB.format(threads=2, filter=NONE if turn % 2 else "")
    if turn > 2:
        setup += "    import asyncio; asyncio.run(asyncio.sleep(0))\n"
    query = "query" if turn % 2 else "query + \" where x like '%none%'\""
    code, said = interrupted(f"duckdb.sql({query}).fetchall()", texts, tmp_path / "out.amudai.shard", setup)
    assert code != 0 and said.startswith("Traceback"), said
    assert "KeyboardInterrupt" in said or said.rstrip().endswith("RuntimeError: Query interrupted"), said


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_ctrl_c_ends_a_lazy_frame(engine: str, texts: str, tmp_path: Path) -> None:
    setup = """
    import polars as pl
    sh.scan_polars(path).head(1).collect()
    lazy = sh.scan_polars(path).filter(pl.col("x").str.contains("none")).select("x")
    """
    code, said = interrupted(f"lazy.collect(engine='{engine}')", texts, tmp_path / "out.amudai.shard", setup)
    assert code in (130, -signal.SIGINT) and "KeyboardInterrupt" in said, said
    # With its streaming engine, polars raises two interrupts over every source in Python, and the traceback is lost.
    if engine == "in-memory":
        assert said.startswith("Traceback") and said.rstrip().endswith("KeyboardInterrupt"), said
        assert said.count("Traceback") == 1 and "lost" not in said, said


def test_an_exception_after_an_interrupt_is_shown_as_it_is(texts: str, tmp_path: Path) -> None:
    """The hook that shows an interrupt does not outlive it."""
    script = f"""
    before = sys.excepthook
    try:
        try:
            pa.table(f.scan({NONE}))
        except Exception:
            time.sleep(1)
    except KeyboardInterrupt:
        pass
    raise ValueError("another")
    """
    _, said = interrupted(script, texts, tmp_path / "out.amudai.shard")
    assert said.rstrip().endswith("ValueError: another") and "KeyboardInterrupt" not in said, said


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


class Slow(BaseHTTPRequestHandler):
    """A proxy of a store that delays one PUT request. If the client is gone by then, the request is dropped."""

    protocol_version = "HTTP/1.1"
    store: str
    held: str
    puts_before: list[None]
    is_held: threading.Event

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_like = self.command == "PUT" and self.path.endswith(self.held)
        if is_like and self.puts_before:
            self.puts_before.pop()
        elif is_like and not self.is_held.is_set():
            self.is_held.set()
            time.sleep(2)
            if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(1, socket.MSG_PEEK):
                return
        store = http.client.HTTPConnection(self.store)
        store.request(self.command, self.path, body, dict(self.headers))
        answer = store.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "content-length", "date", "server", "transfer-encoding"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(content)
        store.close()

    do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = forward

    def log_message(self, format: str, *args: object) -> None:
        pass


def interrupted_at(held: str, call: str, s3: str, puts_before: int = 0) -> str:
    """Runs a call in a process, sends it SIGINT while it waits for the answer to a PUT request of an object, after
    `puts_before` earlier ones, and returns its error output.
    """
    is_held = threading.Event()
    members = {"held": held, "puts_before": [None] * puts_before, "is_held": is_held}
    handler = type("Held", (Slow,), {"store": s3.removeprefix("http://"), **members})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        script = f"""
            import arrow_shard as sh
            store = sh.store.S3Store("tables", endpoint="http://127.0.0.1:{server.server_port}", region="us-east-1",
                                     access_key_id="key", secret_access_key="secret",
                                     client_options={{"allow_http": True}})
            {call}
        """
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stderr=subprocess.PIPE, text=True)
        try:
            assert is_held.wait(60)
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
            server.shutdown()
    return said


def objects(s3: str, folder: str) -> list[str]:
    """Returns the names of the objects in a folder."""
    with urllib.request.urlopen(f"{s3}/tables?list-type=2&prefix={folder}/", timeout=5) as answer:
        return re.findall(f"<Key>{folder}/(.*?)</Key>", answer.read().decode())


def test_ctrl_c_does_not_break_a_finish_off(s3: str, bucket: sh.store.S3Store) -> None:
    sh.write(pa.table({"a": [1, 2, 3]}), "finish/source/t.amudai.shard", store=bucket)
    source = "sh.open('finish/source/t.amudai.shard', store=store)"
    call = f"sh.write({source}, 'finish/t.amudai.shard', store=store, layout='two_level')"
    said = interrupted_at("finish/t.amudai.shard", call, s3)
    assert said.rstrip().endswith("KeyboardInterrupt"), said
    assert pa.table(sh.open("finish/t.amudai.shard", store=bucket))["a"].to_pylist() == [1, 2, 3]


@pytest.fixture
def small(bucket: sh.store.S3Store) -> str:
    """Writes a shard to the store with stripes in turn: two small ones, a large one, and so on. Returns its folder."""
    folder = f"small-{time.monotonic_ns()}"
    paths = [f"{folder}/{name}.amudai.shard" for name in "abcde"]
    for i, (path, stripe_rows) in enumerate(zip(paths, (10, 20, 10, 20, 10))):
        rows = pa.table({"a": range(i * 20, i * 20 + 20)})
        sh.write(rows, path, store=bucket, layout="two_level", stripe_rows=stripe_rows)
    sh.merge(paths, f"{folder}/t.amudai.shard", store=bucket)
    return folder


def test_ctrl_c_does_not_break_a_commit_off(s3: str, bucket: sh.store.S3Store, small: str) -> None:
    path = f"{small}/t.amudai.shard"
    said = interrupted_at(path, f"sh.compact('{path}', min_rows=15, store=store)", s3)
    assert said.rstrip().endswith("KeyboardInterrupt"), said
    f = sh.open(path, store=bucket)
    assert f.num_stripes == 5 and pa.table(f)["a"].to_pylist() == list(range(100))


def test_ctrl_c_takes_back_what_a_compaction_sent(s3: str, bucket: sh.store.S3Store, small: str) -> None:
    path, before = f"{small}/t.amudai.shard", objects(s3, small)
    said = interrupted_at(".amudai.stripe", f"sh.compact('{path}', min_rows=15, store=store)", s3, puts_before=1)
    assert said.rstrip().endswith("KeyboardInterrupt"), said
    assert len(before) == 14 and objects(s3, small) == before
    assert sh.open(path, store=bucket).num_stripes == 8


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
    """A forked process has no threads of its parent."""
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
