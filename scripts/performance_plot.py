#!/usr/bin/env python3
"""Draws `docs/performance.svg`, the plot that opens the page of the same name, from the results that are kept.

    scripts/performance_plot.py [--check]

Needs matplotlib (the extra `dev`); `--check` needs nothing, writes nothing, and exits 1 where the picture is not
current: the picture carries a digest of what it shows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.benchmarks.goals import Result, line
from tests.benchmarks.measured import ROOT
from tests.benchmarks.table import kept

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE: Final = ROOT / "docs" / "performance.svg"
OURS, THEIRS, TEXT = "#0b6e99", "#9a9a9a", "#333333"


READERS: Final = {
    "follow": "follow, a pipe",
    "python": "tailer.open(...).follow()",
    "debezium": "Debezium through Kafka",
}


class Bar(NamedTuple):
    """Rows a second of somebody."""

    label: str
    rows: float
    ours: bool


class Delay(NamedTuple):
    """Milliseconds, p50 and p99, from the log being durable to a consumer."""

    label: str
    p50: float
    p99: float
    ours: bool


def _bars(results: Mapping[str, Result]) -> Iterator[Bar]:
    def of(name: str, label: str, take: Callable[[Result], float], *, ours: bool = True) -> Iterator[Bar]:
        if name in results:
            try:
                yield Bar(label, take(results[name]), ours)
            except LookupError:
                return  # a result of an earlier form has no such line: the picture is drawn anew with the next one

    rows = "rows/s"
    yield from of("decode", "plain rows, typed Arrow", line("typed Arrow", rows))
    for shape in ("decimal", "set-remove", "counter", "range-delete", "list-append"):
        name = {"decimal": "decimals"}.get(shape, f"{shape.replace('-', ' ')}s")
        yield from of("genuine", f"{name}, typed Arrow", line(f"{shape}: typed Arrow", rows))
    yield from of("decode", "plain rows, generic Arrow", line("generic Arrow", rows))
    yield from of("decode", "plain rows, JSON lines on a pipe", line("JSON lines on a pipe", rows))
    theirs = line("Cassandra's own reader, counting only", rows)
    yield from of("decode", "Cassandra's own reader, counting only", theirs, ours=False)
    yield from of("spark_backlog", "Spark, typed, two cores", line("typed form", rows))
    kafka = line("Debezium through Kafka, backlog, from its first row on", rows)
    yield from of("peers", "Debezium's connector into Kafka, two cores", kafka, ours=False)


def _delays(results: Mapping[str, Result]) -> Iterator[Delay]:
    live = results.get("peers", {}).get("live", {})
    for name, label in READERS.items():
        for how, beside in (("alone", ""), ("together", ", beside the others")):
            if found := live.get(f"{name}, {how}", {}).get("delay_ms"):
                yield Delay(f"{label}{beside}", found["p50"], found["p99"], name != "debezium")
    if "spark_latency" in results:
        p50, p99 = (line(f"our settings: {mark}", "ms")(results["spark_latency"]) for mark in ("p50", "p99"))
        yield Delay("Spark's foreachBatch", p50, p99, True)


def shown(results: Mapping[str, Result]) -> tuple[list[Bar], list[Delay]]:
    """All that the picture shows."""
    return list(_bars(results)), list(_delays(results))


def digest(results: Mapping[str, Result]) -> str:
    """Of what the picture shows."""
    return hashlib.sha256(json.dumps(shown(results)).encode()).hexdigest()


def draw(results: Mapping[str, Result], out: Path) -> None:
    """Writes the picture. The same results give the same bytes with the same matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "performance", "font.size": 9})
    from matplotlib import pyplot

    bars, delays = shown(results)
    heights = [max(1, len(bars)), max(1, len(delays))]
    size = (9, 0.28 * sum(heights) + 1.9)
    picture, (above, below) = pyplot.subplots(2, 1, figsize=size, height_ratios=heights, layout="constrained")
    _draw_bars(above, bars)
    _draw_delays(below, delays)
    for axes in (above, below):
        axes.invert_yaxis()
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    picture.savefig(out, format="svg", metadata={"Date": None, "Description": digest(results)})
    pyplot.close(picture)


def _draw_bars(axes: Axes, bars: Sequence[Bar]) -> None:
    colors = [OURS if bar.ours else THEIRS for bar in bars]
    axes.barh([bar.label for bar in bars], [bar.rows for bar in bars], color=colors, height=0.7)
    for place, bar in enumerate(bars):
        axes.annotate(f" {bar.rows:,.0f}", (bar.rows, place), va="center", fontsize=8, color=TEXT)
    axes.set_title(
        "Rows a second of a backlog, on one core where nothing else is said (blue: cdc-tail)", loc="left", fontsize=10
    )
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1e6:g} million" if value else "0")
    axes.margins(x=0.12)


def _draw_delays(axes: Axes, delays: Sequence[Delay]) -> None:
    for place, delay in enumerate(delays):
        color = OURS if delay.ours else THEIRS
        axes.plot([delay.p50, delay.p99], [place, place], color=color, linewidth=2)
        axes.plot([delay.p50], [place], "o", color=color)
        axes.plot([delay.p99], [place], "|", color=color, markersize=10, markeredgewidth=2)
        told = f"  {delay.p50:.3g} / {delay.p99:.3g}"
        axes.annotate(told, (delay.p99, place), va="center", fontsize=8, color=TEXT)
    axes.set_yticks(range(len(delays)), [delay.label for delay in delays])
    axes.set_xscale("log")
    axes.set_xlim(1, max([100, *(3 * delay.p99 for delay in delays)]))
    axes.set_title("From the durable log to a consumer, p50 (dot) / p99 (bar)", loc="left", fontsize=10)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} ms")
    axes.margins(y=0.08)


def current() -> bool:
    """Whether the picture shows what is kept."""
    return PICTURE.exists() and digest(kept()) in PICTURE.read_text("utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Draws docs/performance.svg from the results that are kept.")
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    given = parser.parse_args(arguments)
    if not given.check:
        draw(kept(), PICTURE)
    elif not current():
        sys.stderr.write(f"{PICTURE.relative_to(ROOT)} does not show what is kept: run scripts/performance_plot.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
