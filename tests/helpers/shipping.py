"""One run of a shipper, in this process; and how far one is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tailer.shipping.removal import Keeping
from tailer.shipping.ship import Shipping
from tailer.shipping.shippers import Shipper
from tailer.shipping.targets import open_target
from tailer.tail.patience import Patience


def ship(
    folder: Path,
    to: str,
    *,
    name: str = "ship",
    keep: int = 1,
    retry_for: float = 60.0,
    said: list[str] | None = None,
    **values: Any,
) -> int:
    """Ships what is there; how many files. The clock stands still while a target is away."""
    say = [].append if said is None else said.append
    given = {"format": None, "index": "{keyspace}.{table}", "leave_out_ranges": False, **values}
    target = open_target(to, given, say)
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    patience = Patience(retry_for, say, clock=lambda: now[0], sleep=sleep)
    try:
        shipper = Shipper(folder, name, target.name)
        try:
            run = Shipping(shipper, target, Keeping(keep), patience)
            run.run(once=True)
            return run.files
        finally:
            shipper.close()
    finally:
        target.close()


def sent(folder: Path, node: str, name: str = "ship") -> int:
    """The number of a node's last file that a shipper of that name has sent, by its own file; 0 before the first."""
    file = folder / ".cdc_tail" / "consumers" / f"{name}.json"
    held = json.loads(file.read_text())["nodes"].get(node) if file.exists() else None
    return 0 if held is None else int(held["upto"])
