"""What does reading a node by HTTP cost beside reading its folder?

One `cdc-tail serve` on this machine, plain and with TLS. A row at a time: `follow http://` beside `follow DIR`, on the
same folder in the same run, as in `latency.py`. In bulk: a full segment read whole, `--once` into nothing, by folder,
by HTTP and by HTTPS in turns: seconds on the clock and of processor, of the reader and of `serve`. And what `serve`
takes while twenty readers wait for a list in which nothing changes.

    python -m tests.benchmarks.served PERF_ARCHIVE --repeat 5 --keep
"""

from __future__ import annotations

import http.client
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.benchmarks.latency import GAP_SECONDS, WARM_UP_ROWS, Watched
from tests.benchmarks.measured import (
    FOLLOW,
    compile_ahead,
    environment,
    figure,
    low,
    percentiles,
    ratio,
    schema_in,
    unpacked,
)
from tests.benchmarks.script import Begun, perf_parser, published
from tests.benchmarks.single_rows import GrowingSegment, load_material
from tests.benchmarks.throughput import measure
from tests.helpers.certificate import Authority

NAME = "served"
QUESTION = "What does reading a node by HTTP cost beside reading its folder?"
TARGETS = {"p50_more_ms": 3.0, "bulk_to_folder": 0.7, "idle_percent": 1.0}
ROWS = 200
WAITING = 20
IDLE_SECONDS = 30.0
LOCAL = "127.0.0.1"


class Serving(NamedTuple):
    """A running `serve`: its address, and its process."""

    url: str
    process: psutil.Process

    def cpu(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Serving]:
    """`cdc-tail serve` of a folder on a free port, until the context ends."""
    command = [
        *FOLLOW[:-1],
        "serve",
        str(folder),
        "--listen",
        f"{LOCAL}:0",
        "--status-listen",
        f"{LOCAL}:0",
        "--no-auth",
    ]
    with subprocess.Popen([*command, *words], stderr=subprocess.PIPE, env=environment(), text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            # What is said later goes nowhere, and must not fill the pipe.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield Serving(line.rpartition(" at ")[2].strip(), psutil.Process(process.pid))
        finally:
            process.terminate()


def latency(rows: int, seed: int) -> dict[str, Any]:
    """One run of `follow http://` beside `follow DIR`."""
    with ExitStack() as stack:
        parent = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        log = stack.enter_context(tempfile.TemporaryFile())
        growing = stack.enter_context(GrowingSegment(parent, load_material()))
        node = stack.enter_context(serving(growing.folder))
        places = {"folder": growing.folder, "http": node.url}
        watched = {
            name: stack.enter_context(Watched([*FOLLOW, place, "--output", "json"], log))
            for name, place in places.items()
        }
        for number in range(1, WARM_UP_ROWS + 1):
            growing.write_row()
            growing.publish()
            for process in watched.values():
                process.await_lines(number)
        gaps, written = random.Random(seed), []
        for _ in range(rows):
            growing.write_row()
            written.append(growing.publish())
            time.sleep(gaps.uniform(*GAP_SECONDS))
        found = {}
        for name, process in watched.items():
            process.await_lines(WARM_UP_ROWS + rows)
            delays = [read - promised for promised, read in zip(written, process.read_at[WARM_UP_ROWS:], strict=True)]
            found[f"{name}_ms"] = percentiles(delays)
    return {**found, "p50_more_ms": round(found["http_ms"]["p50"] - found["folder_ms"]["p50"], 3)}


def bulk(folder: Path, schema: Path | None, repeat: int) -> dict[str, Any]:
    """Seconds of each way, and what of them `serve` took of processor."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        authority = Authority(Path(name))
        node = authority.issue("node", addresses=(LOCAL,))
        plain = stack.enter_context(serving(folder))
        secure = stack.enter_context(serving(folder, "--cert", str(node.cert), "--key", str(node.key)))
        ways: dict[str, tuple[list[str], Serving | None]] = {
            "folder": ([str(folder)], None),
            "http": ([plain.url], plain),
            "https": ([secure.url, "--node-ca", str(authority.ca)], secure),
        }
        told = [] if schema is None else ["--schema", str(schema)]
        rounds: dict[str, list[float]] = {}
        for number in range(repeat + 1):
            for way, (words, server) in ways.items():
                before = 0.0 if server is None else server.cpu()
                read = measure([*FOLLOW, *words, "--once", "--output", "arrow", *told], pipe=False)
                if number == 0:
                    # What the log defines is on record from then on, for all of them.
                    continue
                rounds.setdefault(f"{way}: seconds", []).append(read["seconds"])
                rounds.setdefault(f"{way}: CPU of the reader", []).append(read["cpu_seconds"])
                if server is not None:
                    rounds.setdefault(f"{way}: CPU of serve", []).append(server.cpu() - before)
    return rounds


def waiting(folder: Path, readers: int, seconds: float) -> float:
    """Percent of a core that `serve` takes while so many wait for news."""
    with serving(folder) as node, ExitStack() as stack:
        host, _, port = node.url.rpartition("/")[2].partition(":")
        ended = threading.Event()

        def wait() -> None:
            connection = http.client.HTTPConnection(host, int(port), timeout=60)
            etag = ""
            while not ended.is_set():
                connection.request("GET", f"/api/v1/cdc/segments?etag={etag}&wait=25s")
                response = connection.getresponse()
                response.read()
                etag = (response.headers.get("ETag") or "").strip('"')
            connection.close()

        for _ in range(readers):
            threading.Thread(target=wait, daemon=True).start()
        stack.callback(ended.set)
        time.sleep(3.0)
        before, began = node.cpu(), time.monotonic()
        time.sleep(seconds)
        return round(100 * (node.cpu() - before) / (time.monotonic() - began), 3)


def run(perf: Path, table: str, repeat: int, rows: int = ROWS, idle: float = IDLE_SECONDS) -> dict[str, Any]:
    compile_ahead()
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    with tempfile.TemporaryDirectory() as name:
        source = unpacked(perf, Path(name))
        folder = Path(name) / "served" / "cdc_raw"
        folder.mkdir(parents=True)
        for file in source.iterdir():
            if file.name.startswith("CommitLog-"):
                (folder / file.name).write_bytes(file.read_bytes())
        single = [latency(rows, seed) for seed in range(max(repeat // 2, 1))]
        found = bulk(folder, schema_in(source), repeat)
        percent = waiting(folder, WAITING, idle)
    more = low([each["p50_more_ms"] for each in single])
    ways = ("http", "https")
    compared = {way: ratio(found, "folder: seconds", f"{way}: seconds") for way in ways}
    met = {
        "p50": more["median"] <= TARGETS["p50_more_ms"],
        "bulk": compared["http"]["median"] >= TARGETS["bulk_to_folder"],
        "idle": percent < TARGETS["idle_percent"],
    }
    figures = [figure(f"{way}: rate by that of the folder", "×", compared[way]) for way in ways]
    figures.append(figure("a row by HTTP: more than by the folder, p50", "ms", more))
    return begun.result(
        figures=figures, idle_percent=percent, waiting=WAITING, met=met, runs={"single": single, "bulk": found}
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = perf_parser(NAME, QUESTION, 5)
    parser.add_argument("--rows", type=int, default=ROWS, help="single rows of each run (default: %(default)s)")
    parser.add_argument("--idle", type=float, default=IDLE_SECONDS, help="idle seconds (default: %(default)s)")
    return published(parser, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
