"""The measured figures as a table: what `results/` holds, as the markdown of docs/performance.md.

python -m tests.benchmarks.table            # print it
python -m tests.benchmarks.table --fill     # and put it into the page, in place of the one that is there
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.measured import ROOT
from tests.benchmarks.script import RESULTS

PAGE = ROOT / "docs" / "performance.md"
TITLES = {
    "decode": "The range reader, warm, on one core",
    "native": "The same rows as a native log",
    "shapes": "Other shapes of log: time per plain byte, by that of the perf segment",
    "genuine": "Rows that are no plain inserts, as a server wrote them",
    "maps": "Maps of few and of many keys, in order and not",
    "two_spans": "Two spans at once, and memory",
    "start": "A start beside a long log",
    "throughput": "A fresh process, all included",
    "outlets_files": "Data files beside plain output",
    "metrics": "What metrics cost a follower",
    "outlets_postgresql": "Changes in PostgreSQL, beside a bare COPY of the same rows",
    "fresh_machine": "A machine that never ran this: until compiled code gives the first row",
    "both_codes": "Compiled code of a wheel, beside code compiled for the very processor",
    "opening": "Opening a log, beside reading it",
    "writer": "A service's own log: rows made durable, by the bare disk and by SQLite",
    "writer_peers": "A durable row in a service's own log, beside SQLite, LMDB and JSON lines",
    "handover": "From a durable section to its subscriber, by a bare `queue.Queue`",
    "peers": "Beside Debezium's connector and Cassandra's own reader, on one live server",
    "outlets_kafka": "Changes in Kafka, beside Debezium's connector on one live server",
    "spark_latency": "A row on its way into `foreachBatch`",
    "spark_backlog": "A backlog of 1 GiB into Spark's `noop` sink",
    "spark_parquet": "A row of that backlog, beside the same row in Parquet",
    "spark_images": "A row in Spark whose images are made",
}


def filled(text: str, mark: str, made: str) -> str:
    """The page with what was made between `<!-- MARK -->` and its end."""
    place = re.compile(f"(?<=<!-- {mark} -->\n).*(?=<!-- end of {mark} -->)", re.DOTALL)
    if not place.search(text):
        raise LookupError(f"the page has no place for {mark}")
    return place.sub(lambda _: f"\n{made}\n", text, count=1)


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """A section for each result that is there."""
    return "\n".join("\n".join(_section(TITLES[name], results[name])) + "\n" for name in TITLES if name in results)


def when(result: Mapping[str, Any]) -> str:
    """When, on what and at what load something was measured."""
    machine = result["machine"]
    return (
        f"{result['at'][:10]}, commit {result['commit']}, {machine['cores']} × {machine['cpu']}, Python "
        f"{result['python']}, load average {machine['load'][0]} before and {result['load_after'][0]} after; "
        f"{result['repeat']} rounds."
    )


def _section(title: str, result: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    yield when(result)
    yield ""
    yield "| | median | best | target | |"
    yield "|---|---|---|---|---|"
    for line in result["figures"]:
        yield _row(line)


def _row(line: Mapping[str, Any]) -> str:
    sign, bound = ("≥", line["at_least"]) if "at_least" in line else ("≤", line.get("at_most"))
    target = "" if bound is None else f"{sign} {number(bound)}"
    met = "" if bound is None else "met" if line["met"] else "**missed**"
    return f"| {line['what']}, {line['unit']} | {number(line['median'])} | {number(line['best'])} | {target} | {met} |"


def number(value: float) -> str:
    """As the tables have it: three digits, or all of a large one."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def kept() -> dict[str, dict[str, Any]]:
    """The results, by name."""
    found = (json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json")))
    return {result["name"]: result for result in found}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.table", description="The table of all results.")
    parser.add_argument("--fill", action="store_true", help=f"put it into {PAGE.relative_to(ROOT)} too")
    parser.add_argument("--page", type=Path, default=PAGE, help="another page than that")
    chosen = parser.parse_args(arguments)
    made = table(kept())
    sys.stdout.write(made)
    if chosen.fill:
        chosen.page.write_text(filled(chosen.page.read_text(), "measured", made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
