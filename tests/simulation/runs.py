"""Runs and checks histories; shortens one that fails."""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from tests.simulation.compiled import Form, choose
from tests.simulation.consumers import ViolationError
from tests.simulation.history import History
from tests.simulation.operations import Operation, Source, drawn
from tests.simulation.world import StuckError

ORDERS: Final = 8
"""So many interleavings are tried of fewer operations."""

SHORTEN_SECONDS: Final = 300.0
"""Of CPU, for one history."""


@dataclass(frozen=True)
class Plan:
    """Of one history. `only`: the numbers of the operations that are left, from 0 on; None for all of them.
    `lying_disk`: fsync does nothing. `calls`: with a digest of all calls. `injected`: there is a fault in the product,
    and whatever it ends with is found. `back`: clocks go back. `form`: of the decoder. `order`: another one chooses
    other interleavings.
    """

    seed: int
    length: int
    source: Source
    only: tuple[int, ...] | None = None
    lying_disk: bool = False
    calls: bool = False
    injected: bool = False
    back: bool = False
    form: Form = "both"
    order: int = 0

    @property
    def operations(self) -> list[Operation]:
        made = drawn(self.seed, self.length, self.source)
        return made if self.only is None else [made[number] for number in self.only]

    def command(self) -> str:
        """What runs it again."""
        words = f"python -m tests.simulation --seed {self.seed} --operations {self.length} --source {self.source}"
        words += " --back" if self.back else ""
        words += "" if self.form == "both" else f" --form {self.form}"
        words += f" --order {self.order}" if self.order else ""
        return words if self.only is None else f"{words} --only {','.join(map(str, self.only))}"


@dataclass(frozen=True)
class Outcome:
    """`error`: the violated invariant. `summary`: counts as text. `done`: number of operations of each kind."""

    error: str | None
    steps: int
    summary: str
    digest: str | None
    done: Counter[str]


def played(plan: Plan) -> Outcome:
    """Run a history. When garbage is found depends on what this process did before, and what is closed with it would be
    part of the history: so none is looked for meanwhile."""
    gc.disable()
    try:
        return _played(plan)
    finally:
        # Coroutines of servers that were killed say at their end that nobody waited for it.
        hook, sys.unraisablehook = sys.unraisablehook, lambda told: None
        gc.collect()
        sys.unraisablehook = hook
        gc.enable()


def _played(plan: Plan) -> Outcome:
    operations = plan.operations
    choose(plan.seed, plan.form)
    history = History(plan.seed, operations, source=plan.source, back=plan.back, order=plan.order)
    if plan.lying_disk:
        history.disk.sync = lambda node: None  # type: ignore[method-assign]
    if plan.calls:
        history.world.log = blake2b(digest_size=16)
    error = None
    try:
        history.run()
    except (ViolationError, StuckError) as violated:
        error = str(violated)
    except Exception as ended:
        if not plan.injected:
            raise
        error = f"{type(ended).__name__}: {ended}"
    history.world.files.close()
    rows = {name: reader.taken for name, reader in history.readers.items()}
    summary = f"{history.world.steps} steps, {history.kills} kills, {history.failures} errors, rows {rows}"
    digest = None if history.world.log is None else history.world.log.hexdigest()
    return Outcome(error, history.world.steps, summary, digest, Counter(each.what for each in operations))


def shortened(plan: Plan, fails: Callable[[Plan], bool] | None = None) -> Plan:
    """The same history with as few operations as still fail, as far as there is time: pieces are left out, ever
    smaller ones. Fewer operations come at other moments, so some interleavings of them are tried. `fails`: whether a
    history does; by default by running it."""
    fails = fails or (lambda each: played(each).error is not None)
    until = time.process_time() + SHORTEN_SECONDS
    left: Sequence[int] = plan.only if plan.only is not None else range(plan.length)
    size = max(1, len(left) // 2)
    while time.process_time() < until:
        at, before = 0, len(left)
        while at < len(left) and time.process_time() < until:
            fewer = (*left[:at], *left[at + size :])
            tried = (replace(plan, only=fewer, order=plan.order + number) for number in range(ORDERS))
            failing = next((each for each in tried if fails(each)), None)
            if failing is not None:
                left, plan = fewer, failing
            else:
                at += size
        if size == 1 and len(left) == before:
            break
        size = max(1, min(size // 2, len(left) // 2))
    return replace(plan, only=tuple(left))
