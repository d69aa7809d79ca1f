"""The lines that the table of results has of the peers: delays, CPU, rows a second, changes lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from tests.benchmarks.measured import figure

Runs = Mapping[str, Sequence[Mapping[str, Any]]]

READERS = {
    "follow": "`follow`, JSON lines on a pipe",
    "python": "`tailer.open(...).follow()`",
    "typed": "`tailer.open(...).read()`, typed",
    "debezium": "Debezium through Kafka",
    "cassandra": "Cassandra's own reader, counting only",
}


def figures(delays: Runs, taken: Runs, lost: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from _live(delays)
    yield from _backlog(taken)
    yield from _losses(lost)


def _live(delays: Runs) -> Iterator[dict[str, Any]]:
    for case, runs in delays.items():
        name, _, how = case.partition(", ")
        what = f"{READERS[name]}, {how}"
        for mark in ("p50", "p99"):
            yield figure(f"{what}: sidecar to consumer, {mark}", "ms", _low(each["delay_ms"][mark] for each in runs))
        if "until_sent_ms" in runs[0]:
            sent = _low(each["until_sent_ms"]["p50"] for each in runs)
            yield figure(f"{what}: sidecar to Kafka's producer, p50", "ms", sent)
        for key, when in (("cpu_percent", "25 rows a second"), ("idle_cpu_percent", "no rows")):
            for part in _own(runs[0][key]):
                spent = _low(each[key][part] for each in runs)
                yield figure(f"{what}: CPU with {when}, {part}", "% of a core", spent)
        missing = sum(each["missing"] for each in runs)
        yield figure(f"{what}: rows that did not come", "rows", {"median": missing}, at_most=0)
    ratios = [
        ours["delay_ms"]["p50"] / theirs["delay_ms"]["p50"]
        for ours, theirs in zip(delays["follow, together"], delays["debezium, together"], strict=True)
    ]
    yield figure("`follow`, together: p50", "× Debezium's", _low(ratios), at_most=1.0)


def _own(cpu: Mapping[str, float]) -> list[str]:
    """The processes that bring the rows; who only takes them is the same program for all."""
    return [part for part in cpu if part != "consumer"]


def _backlog(taken: Runs) -> Iterator[dict[str, Any]]:
    for name, runs in taken.items():
        what = f"{READERS[name]}, backlog"
        yield figure(what, "rows/s", _high(each["rows_per_second"] for each in runs))
        if "rows_per_second_once_it_runs" in runs[0]:
            running = _high(each["rows_per_second_once_it_runs"] for each in runs)
            yield figure(f"{what}, from its first row on", "rows/s", running)
        cpu = _low(sum(each["cpu_us_a_row"].values()) for each in runs)
        yield figure(f"{what}: CPU of all its processes", "µs a row", cpu)


def _losses(lost: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One line a reader and kind that loses something, and the sum of each reader."""
    for name, found in lost["kinds"].items():
        total = 0
        for kind, each in found["lost"].items():
            for where, count in each.items():
                total += count
                if count:
                    behind = " the plain rows behind, in the same segment" if where == "behind" else ""
                    what = f"{READERS[name]}: {kind}:{behind or ' lost'}"
                    yield figure(what, f"of {lost['written']}", {"median": count})
        bound = 0 if name == "follow" else None
        yield figure(f"{READERS[name]}: lost of all kinds", "changes", {"median": total}, at_most=bound)


def _low(values: Iterator[float] | Sequence[float]) -> dict[str, float]:
    found = list(values)
    return {"median": median(found), "best": min(found)}


def _high(values: Iterator[float]) -> dict[str, float]:
    found = list(values)
    return {"median": median(found), "best": max(found)}
