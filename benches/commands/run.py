"""How long do everyday jobs take `arrow-shard`, next to `duckdb` and polars?

    pip install duckdb-cli polars pyarrow numpy
    cargo install --path . --features cli
    cargo install --path integrations/sql
    python benches/commands/generate.py 3000000 /var/tmp/orders.csv
    python benches/commands/run.py /var/tmp/orders.csv /var/tmp/work

Each job runs as a process of each program, in changing order; the table shows the median of the seconds, and the
highest anonymous memory (RssAnon of Linux, summed over a process and its children; file mappings do not count). The
first run of each warms up the page cache and does not count. `--jobs` selects jobs by a part of their names.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from jobs import JOBS, Job

SAMPLE_SECONDS = 0.002


def children(pid: int) -> list[int]:
    """Returns a process and all its descendants."""
    found = [pid]
    for parent in found:
        try:
            listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += [int(child) for child in listed.split()]
    return found


def anonymous_bytes(pid: int) -> int:
    """Returns the anonymous memory of a process and its descendants, in bytes."""
    total = 0
    for process in children(pid):
        try:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))
    return total


class Measured:
    """Seconds and the highest memory of one run of a command, with the end of what it printed."""

    def __init__(self, command: str, folder: Path, limit: float) -> None:
        self.bytes = 0
        self.seconds = float("inf")
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, shell=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        watcher = threading.Thread(target=self._watch, args=[process])
        watcher.start()
        try:
            self.output, _ = process.communicate(timeout=limit)
            self.seconds = time.perf_counter() - begin
        except subprocess.TimeoutExpired:
            for pid in reversed(children(process.pid)):
                os.kill(pid, 9)
            self.output = "stopped"
            process.communicate()
        watcher.join()
        if process.returncode > 0:
            sys.exit(f"{command}\n{self.output}")

    def _watch(self, process: subprocess.Popen[str]) -> None:
        while process.poll() is None:
            self.bytes = max(self.bytes, anonymous_bytes(process.pid))
            time.sleep(SAMPLE_SECONDS)


def remove_outputs(folder: Path) -> None:
    """Removes the outputs of the last run, files and folders."""
    for path in folder.glob("out*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def prepare(csv: Path, folder: Path) -> None:
    """Makes the inputs of all jobs in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "orders.csv"
    link.unlink(missing_ok=True)
    link.symlink_to(csv.resolve())
    if not (folder / "orders.csv.gz").exists():
        with csv.open("rb") as plain, gzip.open(folder / "orders.csv.gz", "wb", compresslevel=6) as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
    first = JOBS[0].commands()
    for program, suffix in [("arrow-shard", "amudai.shard"), ("duckdb", "parquet")]:
        target = folder / f"orders.{suffix}"
        if not target.exists():
            Measured(first[program].replace("{out}", "out"), folder, limit=3600)
            (folder / f"out.{suffix}").rename(target)
            shutil.copyfile(target, folder / f"copy.{suffix}")


def measure(job: Job, folder: Path, runs: int, limit: float, show: bool) -> str:
    """Runs a job and returns its line of the table."""
    times: dict[str, list[float]] = {program: [] for program in job.commands()}
    memory = dict.fromkeys(times, 0)
    for turn in range(runs + 1):
        for program, command in random.sample(list(job.commands().items()), len(times)):
            remove_outputs(folder)
            measured = Measured(command.replace("{out}", "out"), folder, limit)
            if show and turn == 0:
                print(f"# {program}: {command}\n{measured.output.rstrip()}", file=sys.stderr)
            if turn > 0 or runs == 1:
                times[program].append(measured.seconds)
                memory[program] = max(memory[program], measured.bytes)
        if runs == 1:
            break
    remove_outputs(folder)
    seconds = " | ".join(f"{statistics.median(values):.2f}" for values in times.values())
    megabytes = " | ".join(f"{value / 1e6:.0f}" for value in memory.values())
    return f"| {job.name} | {seconds} | {megabytes} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", type=Path)
    parser.add_argument("folder", type=Path, help="for inputs and outputs; its outputs are removed")
    parser.add_argument("--runs", type=int, default=5, help="counted runs; 1 runs each command once, without warming up")
    parser.add_argument("--jobs", default="", help="parts of the names of jobs, separated by commas")
    parser.add_argument("--limit", type=float, default=900, help="seconds after which a command is stopped")
    parser.add_argument("--show", action="store_true", help="print each command and what it prints")
    arguments = parser.parse_args()
    prepare(arguments.csv, arguments.folder)
    print("| job | s: arrow-shard | duckdb | polars | MB: arrow-shard | duckdb | polars |\n|-|-:|-:|-:|-:|-:|-:|")
    for job in JOBS:
        if any(part in job.name for part in arguments.jobs.split(",")):
            line = measure(job, arguments.folder, arguments.runs, arguments.limit, arguments.show)
            print(line, flush=True)


if __name__ == "__main__":
    main()
