"""One history from its seed to its result: where it runs, what it keeps, and the result as JSON.

A history whose result is there already is not run again.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers.postgres import PASSWORD, Postgres, UnavailableError
from tests.server.migrations.checks import Result, check
from tests.server.migrations.consumers import Source, Targets
from tests.server.migrations.history import history
from tests.server.migrations.places import place
from tests.server.migrations.runner import Ran, Runner

NETWORK = "127.0.36"


@dataclass(frozen=True)
class Plan:
    """`without`: steps that are left out. `server`: consumers have `--server`. `spark`: Spark's tables too."""

    seed: int
    steps: int = 100
    version: str = "5.0"
    nodes: int = 1
    server: bool = True
    spark: bool = False
    without: tuple[int, ...] = ()
    network: str = field(default=NETWORK, compare=False)

    @property
    def name(self) -> str:
        words = [f"seed{self.seed}", f"steps{self.steps}", self.version, f"nodes{self.nodes}"]
        words += ["" if self.server else "alone", "spark" if self.spark else ""]
        words += ["without" + "+".join(map(str, self.without)) if self.without else ""]
        return "-".join(word for word in words if word)

    def replay(self) -> str:
        """The command that runs it again."""
        words = [f"python -m tests.server.migrations {self.seed} --steps {self.steps} --version {self.version}"]
        words += [f"--nodes {self.nodes}", "" if self.server else "--no-server", "--spark" if self.spark else ""]
        words += [f"--without {','.join(map(str, self.without))}" if self.without else ""]
        return " ".join(word for word in words if word)


def run(plan: Plan, work: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """The result of a history, from `work/NAME.json` if it is there. Folders of one that was right are removed."""
    out = work / f"{plan.name}.json"
    if out.exists():
        found: dict[str, Any] = json.loads(out.read_text())
        return found
    folder = work / plan.name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "kept").mkdir(parents=True)
    began = time.monotonic()
    postgres = _postgres(say)
    try:
        targets = Targets(folder / "kept", postgres.to if postgres else None, PASSWORD)
        ran = _run(plan, folder, targets, say)
        result = check(ran, targets)
    finally:
        if postgres is not None:
            postgres.remove()
    made = _as_json(plan, ran, result, time.monotonic() - began)
    partial = out.with_suffix(".partial")
    partial.write_text(json.dumps(made, indent=1, ensure_ascii=False, default=str))
    partial.rename(out)
    if not result.differences:
        shutil.rmtree(folder)
    return made


def _run(plan: Plan, folder: Path, targets: Targets, say: Callable[[str], None]) -> Ran:
    at = place(plan.nodes, folder / "nodes", plan.version, plan.network)
    try:
        at.start()
        source = Source(at.path, at.servers if plan.server else None)
        runner = Runner(at, source, targets, folder, say, spark=plan.spark)
        return runner.run(history(plan.seed, plan.steps, plan.version, at.replication, plan.without), plan.seed)
    finally:
        at.kill()


def _postgres(say: Callable[[str], None]) -> Postgres | None:
    try:
        made = Postgres()
        made.start()
    except UnavailableError as error:
        say(f"without PostgreSQL: {error}")
        return None
    return made


def _as_json(plan: Plan, ran: Ran, result: Result, seconds: float) -> dict[str, Any]:
    ledger = ran.ledger
    return {
        "name": plan.name,
        "replay": plan.replay(),
        "seed": plan.seed,
        "version": plan.version,
        "nodes": plan.nodes,
        "server": plan.server,
        "steps": plan.steps,
        "seconds": round(seconds),
        "accepted": len(ledger.accepted),
        "refused": ledger.refused,
        "failed": ledger.failed,
        "disturbed": ran.disturbed,
        "remedied": [end.as_json() for end in ran.remedied],
        "tables": {name: len(table.rows) for name, table in ran.tables.items()},
        "ends": [end.as_json() for end in ran.ends],
        "lines": {consumer.name: len(consumer.lines()) for consumer in ran.consumers},
        **result.as_json(),
    }
