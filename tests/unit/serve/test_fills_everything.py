"""One client fills whatever it may for a while, another one works beside it: each budget holds, and nobody waits.

Some seconds; a minute where `make soak SOAK=serve` runs it. Figures are printed (`-s`), and never asserted.
"""

from __future__ import annotations

import itertools
import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from tailer.limits import KIB, MIB
from tailer.options.listen import LOCAL
from tailer.serve.clients import Client, Clients
from tailer.serve.holds import HOLDS_MAX
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.outage import LONG
from tests.helpers.served import BASE, ServedNode, served

FIRST: Final = 1_700_000_000_001
SECONDS: Final = 60.0 if LONG else 2.0
NAMES: Final = 100 if LONG else 8
JOURNAL: Final = (64 if LONG else 1) * MIB
QUARANTINE: Final = (256 if LONG else 2) * MIB
FILLER, WORKER = "a-token-of-who-fills-it", "a-token-of-who-works-on"
BUDGETS: Final = {"most": NAMES, "journal_bytes": JOURNAL, "quarantine_bytes": QUARANTINE}
KNOWN: Final = Clients(
    {},
    [(FILLER.encode(), Client("filler", "f-", **BUDGETS)), (WORKER.encode(), Client("worker", "w-", **BUDGETS))],
)
OTHER_BYTES: Final = 8 * MIB
"""Of a client's names, leases and holds, and of what a file has around its content."""


class Asking:
    """One connection of a client."""

    def __init__(self, node: ServedNode, token: str) -> None:
        self._connection = HTTPConnection(LOCAL, node.port, timeout=60)
        self._token = token
        self.answers: Counter[tuple[str, int, str]] = Counter()
        self.seconds: list[float] = []

    def close(self) -> None:
        self._connection.close()

    def ask(self, kind: str, method: str, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
        began = time.monotonic()
        shown = {"Authorization": f"Bearer {self._token}", **{key.replace("_", "-"): headers[key] for key in headers}}
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, BASE + path, data, shown)
        answer = self._connection.getresponse()
        found: dict[str, Any] = json.loads(answer.read())
        self.seconds.append(time.monotonic() - began)
        self.answers[kind, answer.status, found.get("error", "") if answer.status != 200 else ""] += 1
        return found

    def lease(self, name: str) -> dict[str, str]:
        taken = self.ask("name", "PUT", f"/consumers/{name}", {"reader": name})
        return {"X_Cdc_Lease": str(taken.get("version", 1)), "X_Cdc_Reader": name}

    def record(self, name: str, lease: dict[str, str], number: int, size: int) -> None:
        count = self.ask("count", "GET", f"/records?from={10**9}")["count"]
        skip = {"kind": "skip", "consumer": name, "at": [FIRST, number], "reason": "x" * size, "lost": 0}
        self.ask("record", "POST", "/records", {"expected": count, "records": [skip], "consumer": name}, **lease)

    def aside(self, name: str, lease: dict[str, str], number: int, size: int) -> None:
        entry = {"node": "n", "segment": FIRST, "offset": number, "file": "f", "code": 3, "reason": "r"}
        entry["bytes"] = "00" * size
        self.ask("aside", "POST", f"/consumers/{name}/quarantine", {"entries": [entry]}, **lease)

    def hold(self, name: str) -> None:
        self.ask("hold", "PUT", f"/holds/{name}", {"node": "local", "segment": FIRST, "seconds": 3600.0})


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 2)


def filling(asking: Asking, numbers: Iterator[int], what: str) -> None:
    """One more of one kind."""
    number = next(numbers)
    name = f"f-{number % (2 * NAMES)}"
    match what:
        case "names":
            asking.lease(f"f-{number}")
        case "records":
            asking.record(name, asking.lease(name), number, 200 * KIB)
        case "aside":
            asking.aside(name, asking.lease(name), number, 300 * KIB)
        case "holds":
            asking.hold(f"{number}-{'x' * 100}")


def working(asking: Asking, numbers: Iterator[int]) -> None:
    """What a reader does all day."""
    number = next(numbers)
    lease = asking.lease("w-one")
    asking.ask("list", "GET", "/segments")
    asking.record("w-one", lease, number, 100)
    asking.aside("w-one", lease, number, 100)
    asking.hold("job")


def used(state: Path) -> int:
    return sum(path.stat().st_size for path in state.rglob("*") if path.is_file())


def run_for(seconds: float, threads: list[threading.Thread], stop: threading.Event) -> None:
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()


def shown(asking: Asking) -> str:
    took = f"median {statistics.median(asking.seconds):.4f} s, max {max(asking.seconds):.3f} s"
    return f"{dict(asking.answers)}, {took}"


def test_one_client_fills_everything_and_another_one_works(log: LogFolder) -> None:
    stop, numbers = threading.Event(), itertools.count(1)
    failures: list[BaseException] = []

    def repeated(work: Callable[[], None]) -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            failures.append(error)

    with served(log.path, clients=KNOWN) as node:
        fillers = [(what, Asking(node, FILLER)) for what in ("names", "records", "aside", "holds") for _ in range(3)]
        worker = Asking(node, WORKER)
        before = psutil.Process().memory_info().rss
        works = [lambda what=what, asking=asking: filling(asking, numbers, what) for what, asking in fillers]
        works.append(lambda: working(worker, numbers))
        threads = [threading.Thread(target=repeated, args=[work]) for work in works]
        run_for(SECONDS, threads, stop)
        for each in (worker, *(asking for _, asking in fillers)):
            each.close()
        grown = psutil.Process().memory_info().rss - before
    assert failures == []
    state = log.path.with_name("cdc_raw.cdc_tail")
    said = sum((asking.answers for _, asking in fillers), Counter[tuple[str, int, str]]())
    print(f"\n{SECONDS:.0f} s: {dict(said)}\nworker: {shown(worker)}")
    print(f"state: {used(state) / MIB:.1f} MiB, memory: {grown / MIB:+.0f} MiB")
    # The worker has had what it asked for; a journal that went on meanwhile is read and posted to again.
    assert {(status, word) for _, status, word in worker.answers} <= {(200, ""), (409, "behind")}
    assert worker.answers["record", 200, ""]
    # And the other one each of its budgets, and no more.
    refused = {word for _, status, word in said if status != 200}
    assert {"journal-full", "quarantine-full", "not-allowed"} <= refused
    assert refused <= {"journal-full", "quarantine-full", "not-allowed", "behind", "no-lease", "superseded"}
    assert used(state) < JOURNAL + QUARANTINE + OTHER_BYTES
    assert len(list((state / "consumers").glob("*.hold"))) <= HOLDS_MAX + 1
    assert len(list((state / "consumers").glob("f-*.lease"))) <= NAMES
