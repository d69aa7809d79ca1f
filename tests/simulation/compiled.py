"""Which form of the decoder a history runs. All forms are loaded before any history: from the real disk."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Literal

from tests.simulation.faults import ROOT

Form = Literal["plain", "compiled", "both"]


def load() -> None:
    """The compiled form, all of it; what is not kept is compiled first."""
    from tailer.jit import ahead, ready, store

    if store.kept() is None:
        subprocess.run([sys.executable, *ahead.COMMAND], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    # Without the thread that loads it in production: no other thread runs here yet.
    ready._choice._wanted |= dict.fromkeys(module for module, _ in ahead.COMPILED)
    ready._choice._load()
    notices = ready.take_notices()
    assert ready._choice._stage is ready._Stage.READY, notices


def choose(seed: int, form: Form) -> None:
    """For the history of a seed. Of both forms every second one has the compiled one."""
    from tailer.jit import ready

    compiled = seed % 2 == 1 if form == "both" else form == "compiled"
    ready._choice._stage = ready._Stage.READY if compiled else ready._Stage.OFF
