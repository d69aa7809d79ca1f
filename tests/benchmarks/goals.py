"""What was set as a goal, and where its figure stands: the one list behind the table that opens docs/performance.md.

A goal names the kept result (`results/NAME.json`) and how its figure is found there. `cause`: why it is missed, for as
long as it is. Measures nothing and prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Result = Mapping[str, Any]


class Goal(NamedTuple):
    """`at_least` or `at_most` is the goal; `take` gives the figure of a result, or raises LookupError."""

    subject: str
    what: str
    unit: str
    result: str
    take: Callable[[Result], float]
    at_least: float | None = None
    at_most: float | None = None
    cause: str = ""


def line(what: str, unit: str, which: str = "median") -> Callable[[Result], float]:
    """A line of the result's figures."""

    def take(result: Result) -> float:
        for found in result["figures"]:
            if (found["what"], found["unit"]) == (what, unit):
                return float(found[which])
        raise LookupError(f"no figure {what!r} in {unit}")

    return take


def at(*place: str) -> Callable[[Result], float]:
    """A number inside the result."""

    def take(result: Result) -> float:
        found: Any = result
        for key in place:
            found = found[key]
        return float(found)

    return take


def times(above: str, below: str) -> Callable[[Result], float]:
    """One case's seconds by another's, medians."""
    return lambda result: at("seconds", above, "median")(result) / at("seconds", below, "median")(result)


ROWS = "rows/s"
SHAPES = ("list-append", "map-put", "set-remove", "counter", "range-delete")


def _shapes() -> list[Goal]:
    subject = "Rows that are no plain inserts, one core, best of 9"
    made = []
    for shape in SHAPES:
        name = shape.replace("-", " ")
        for form, least in (("typed", 1_000_000), ("generic", 800_000)):
            take = line(f"{shape}: {form} Arrow", ROWS, "best")
            made.append(Goal(subject, f"{name}, {form}", ROWS, "genuine", take, at_least=least))
    decimal = line("decimal: typed Arrow", ROWS, "best")
    made.append(Goal(subject, "three decimals a row, typed", ROWS, "genuine", decimal, at_least=2_000_000))
    for form in ("typed", "generic"):
        take = line(f"mixed-tenth: {form} Arrow, a row", "× inserts alone", "best")
        unit = "× a table without"
        made.append(Goal(subject, f"one list append in ten rows, {form}", unit, "genuine", take, at_most=1.5))
    return made


def _reading() -> list[Goal]:
    subject = "Other logs, and opening one"
    return [
        Goal(
            subject,
            "500 columns, all of them set: typed",
            "× generic",
            "shapes",
            times("wide rows, all set typed", "wide rows, all set arrow"),
            at_most=1.0,
        ),
        Goal(
            subject,
            "maps of 384 keys out of order, typed: time a key",
            "× maps of 24",
            "maps",
            line("384 keys shuffled: typed Arrow, a key", "× 24 keys"),
            at_most=1.5,
        ),
        Goal(
            subject,
            "batch sync with LZ4, one row a section, typed",
            "× plain rows, a byte",
            "shapes",
            line("batch sync, lz4: typed Arrow", "× perf, a byte"),
            at_most=4.0,
        ),
        Goal(
            subject,
            "`tailer.open(...).read()`, typed",
            "× the reader alone",
            "opening",
            line("typed: opened, nothing known", "× reader"),
            at_most=1.15,
            cause="it looks for definitions before it reads, and reads rows that are not in the processor's cache",
        ),
        Goal(
            subject,
            "plain rows, typed",
            "× Cassandra's own reader",
            "decode",
            line("typed Arrow", "× Cassandra's reader"),
            at_least=8.0,
        ),
        Goal(
            subject,
            "the first row of compiled code on a machine that never ran this, from a wheel",
            "s of processor",
            "fresh_machine",
            line("wheel: CPU to the first row", "s"),
            at_most=10.0,
        ),
    ]


def _live() -> list[Goal]:
    subject = "Live, and beside others"
    return [
        Goal(
            subject,
            "from the sidecar to the terminal, p50",
            "ms",
            "latency",
            at("medians", "plain", "follow_ms", "p50"),
            at_most=5.0,
        ),
        Goal(
            subject,
            "from the sidecar to the terminal, p99",
            "ms",
            "latency",
            at("medians", "plain", "follow_ms", "p99"),
            at_most=20.0,
        ),
        Goal(
            subject,
            "what metrics take of a follower that is idle, scraped once a second",
            "% of a core",
            "metrics",
            line("idle, scraped once a second: metrics more", "% of a core"),
            at_most=1.0,
        ),
        Goal(
            subject,
            "on one live server: p50",
            "× Debezium's",
            "peers",
            line("`follow`, together: p50", "× Debezium's"),
            at_most=1.0,
        ),
        Goal(
            subject,
            "on one live server: changes lost, all kinds",
            "changes",
            "peers",
            line("`follow`, JSON lines on a pipe: lost of all kinds", "changes"),
            at_most=0,
        ),
        Goal(
            subject,
            "a row on its way into `foreachBatch`, p50",
            "× an empty source",
            "spark_latency",
            line("our settings: p50", "× empty source"),
            at_most=1.25,
        ),
        Goal(
            subject,
            "a backlog of 1 GiB in Spark, typed, two cores: processor time a row",
            "× the same rows as Parquet",
            "spark_parquet",
            line("typed form", "× Parquet, processor a row"),
            at_most=2.0,
        ),
    ]


def _images() -> list[Goal]:
    subject = "Images and snapshots"
    median = ("medians", "compiled small")
    return [
        Goal(subject, "a row that changes", "µs", "images_cost", at(*median, "changed"), at_most=15.0),
        Goal(subject, "a row that is told again", "µs", "images_cost", at(*median, "again"), at_most=4.0),
        Goal(
            subject,
            "a row that changes in a partition of 100,000",
            "× in a small one",
            "images_cost",
            at("ratios", "big_to_small"),
            at_most=2.0,
        ),
        Goal(
            subject,
            "a snapshot into files, with images, rows/s",
            "× a plain paged SELECT",
            "snapshot",
            at("ratios", "snapshot_to_select"),
            at_least=0.8,
        ),
    ]


def _writer() -> list[Goal]:
    subject = "The writer of a service's own log"
    return [
        Goal(
            subject,
            "rows encoded and appended, many at once (2.5 µs each)",
            ROWS,
            "writer",
            line("one core periodic, many at once 1", ROWS),
            at_least=400_000,
        ),
        Goal(
            subject,
            "rows durable, 64 a sync (5 µs each)",
            ROWS,
            "writer",
            line("one core batch, 64 rows a sync 1", ROWS),
            at_least=200_000,
            cause="a sync of this disk alone takes 2.3 µs of each row's 6.5",
        ),
        Goal(
            subject,
            "64 tasks, each row durable before the next",
            ROWS,
            "writer",
            line("batch tasks 64 writers", ROWS),
            at_least=60_000,
        ),
        Goal(
            subject,
            "64 threads, each row durable before the next",
            "× the same wake-ups with no log",
            "writer",
            line("batch threads 64 writers", "× the null log's rate"),
            at_least=0.7,
        ),
    ]


GOALS = (*_shapes(), *_reading(), *_live(), *_images(), *_writer())
