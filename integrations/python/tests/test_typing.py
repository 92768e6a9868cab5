"""Stubs match the extension module, and type checkers use them for users' code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import arrow_shard as sh

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "python"


def run(*arguments: str) -> str:
    """Runs a Python module that must exit without errors, and returns its output."""
    environment = {**os.environ, "MYPYPATH": str(PACKAGE)}
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=HERE.parent, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_stubs_describe_the_extension_module(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    # A build without the feature `datafusion` does not have this method.
    provider = "__datafusion_table_provider__"
    absent.write_text("" if hasattr(sh.ShardFile, provider) else f"arrow_shard._lib.ShardFile.{provider}\n")
    run("mypy.stubtest", "arrow_shard._lib", "--mypy-config-file", "pyproject.toml", "--allowlist", str(absent))


def test_the_package_is_typed() -> None:
    run("mypy", "--config-file", "pyproject.toml", "-p", "arrow_shard")


def test_code_of_users_is_checked(tmp_path: Path) -> None:
    good = tmp_path / "good.py"
    good.write_text(
        "import arrow_shard as sh\n"
        "f = sh.open('a', store=None)\n"
        "scan: sh.Scan = f.scan(columns=['a'], filter=(sh.col('a') > 5) & ~sh.col('b').is_null(), limit=3)\n"
        "rows: int = sum(batch.num_rows for batch in scan)\n"
        "done: sh.WriteSummary = sh.write(scan, 'b', profile='fast', sorting_columns=['a'])\n"
        "deleted: int | None = sh.delete('b', 'a > 5').changed_rows\n"
        "stores = (sh.store.S3Store, sh.store.from_url)\n"
    )
    run("mypy", "--strict", str(good))
    bad = tmp_path / "bad.py"
    bad.write_text("import arrow_shard as sh\nsh.open('a').scan(colums=['a'])\nsh.open(5)\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(bad)],
        env={**os.environ, "MYPYPATH": str(PACKAGE)}, capture_output=True, text=True,
    )
    assert 'Unexpected keyword argument "colums"' in done.stdout and "Found 2 errors" in done.stdout, done.stdout
