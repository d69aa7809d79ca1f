"""Writes the tables of metrics into docs/metrics.md, between their markers, from the table that the program itself has.

python scripts/metric_table.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tailer.metrics.declared import FOLLOWER, NODE, STREAM, SUBSCRIPTION, WRITER, Metric

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
TABLES: dict[str, Sequence[Metric]] = {
    "follower": FOLLOWER,
    "stream": STREAM,
    "writer": WRITER,
    "subscription": SUBSCRIPTION,
    "node": NODE,
}


def rows(metrics: Sequence[Metric]) -> Iterator[str]:
    yield "| metric | kind | labels | |"
    yield "|---|---|---|---|"
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |"


def current(page: str) -> str:
    """The page's text with its tables as they should be."""

    def made(found: re.Match[str]) -> str:
        return "\n".join((f"<!-- metrics: {found[1]} -->", "", *rows(TABLES[found[1]]), "", "<!-- end of metrics -->"))

    return re.sub(r"<!-- metrics: (\w+) -->.*?<!-- end of metrics -->", made, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(current(PAGE.read_text("utf-8")), "utf-8")
