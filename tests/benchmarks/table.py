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

from tests.benchmarks.measured import RESULTS, ROOT

PAGE = ROOT / "docs" / "performance.md"
TITLES = {
    "decode": "The range reader, warm, on one core",
    "native": "The same rows as a native log",
    "shapes": "Other shapes of log: time per plain byte, by that of the perf segment",
    "two_spans": "Two spans at once, and memory",
    "throughput": "A fresh process, all included",
    "fresh_machine": "A machine that never ran this: until compiled code gives the first row",
    "writer": "A service's own log: rows made durable, by the bare disk and by SQLite",
    "handover": "From a durable section to its subscriber, by a bare `queue.Queue`",
    "spark_latency": "A row on its way into `foreachBatch`",
    "spark_backlog": "A backlog of 1 GiB into Spark's `noop` sink",
}

_TABLE = re.compile(r"(?<=<!-- measured -->\n).*(?=<!-- end of measured -->)", re.DOTALL)


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """A section for each result that is there."""
    return "\n".join("\n".join(_section(TITLES[name], results[name])) + "\n" for name in TITLES if name in results)


def _section(title: str, result: Mapping[str, Any]) -> Iterator[str]:
    machine = result["machine"]
    yield f"### {title}"
    yield ""
    yield (
        f"{result['at'][:10]}, commit {result['commit']}, {machine['cores']} × {machine['cpu']}, Python "
        f"{result['python']}, load average {machine['load'][0]} before and {result['load_after'][0]} after; "
        f"{result['repeat']} rounds."
    )
    yield ""
    yield "| | median | best | target | |"
    yield "|---|---|---|---|---|"
    for line in result["figures"]:
        yield _row(line)


def _row(line: Mapping[str, Any]) -> str:
    sign, bound = ("≥", line["at_least"]) if "at_least" in line else ("≤", line.get("at_most"))
    target = "" if bound is None else f"{sign} {_number(bound)}"
    met = "" if bound is None else "met" if line["met"] else "**missed**"
    return (
        f"| {line['what']}, {line['unit']} | {_number(line['median'])} | {_number(line['best'])} | {target} | {met} |"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def stored() -> dict[str, dict[str, Any]]:
    """The results that have figures, by name."""
    found = (json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json")))
    return {result["name"]: result for result in found if "figures" in result}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.table", description="The table of all results.")
    parser.add_argument("--fill", action="store_true", help=f"put it into {PAGE.relative_to(ROOT)} too")
    parser.add_argument("--page", type=Path, default=PAGE, help="another page than that")
    chosen = parser.parse_args(arguments)
    made = table(stored())
    sys.stdout.write(made)
    if chosen.fill:
        text = chosen.page.read_text()
        chosen.page.write_text(_TABLE.sub(lambda _: f"\n{made}\n", text, count=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
