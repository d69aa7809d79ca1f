"""The compiled build over every recorded set: the rows, faults and texts of the plain one."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from tailer.errors import CdcError
from tailer.options.tail import TailOptions
from tailer.rows import mutations
from tailer.rows.choice import Made
from tailer.tail.follow import steps
from tests.helpers.sets import STAGES, Place, folders, key_options
from tests.helpers.tails import open_tail
from tests.oracle import recording
from tests.unit.rows.twins import build_both
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = [compiled_only, pytest.mark.slow]

LAST = {name: count - 1 for name, count in STAGES.items()}


@pytest.mark.parametrize(
    "place", [place for place in folders() if place.part in ("cdc_raw", LAST.get(place.set))], ids=str
)
def test_every_table_of_every_set(place: Place, sets_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The reader loads it too, in a thread: two at once can meet a module that is half there.
    import_module("tailer.rows.generic.compiled.build")
    monkeypatch.setattr(mutations, "shown_rows", lambda *what: Made(*build_both(*what[:-1])))
    options, environment = key_options(sets_root / place.set)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    keystore = Path(options[1]) if options else None
    every = {f"{held.keyspace}.{held.table}" for held in recording(sets_root / place.set).final.definitions.values()}
    chosen = TailOptions(tables=tuple(every), tables_may_come=True, stopped=True, settle_seconds=0.1, keystore=keystore)
    rows = 0
    # Some sets end in the error they were recorded for.
    with open_tail(place.folder(sets_root), chosen, writes=False) as tail, suppress(CdcError):
        for step in steps(tail, once=True, say=lambda notice: None):
            for task in step.tasks:
                rows += sum(len(batch) for batch in tail.read(task))
            tail.advance(step)
    assert rows > 0 or place.set in STAGES
