"""Random interleavings of schema changes, two consumers of one journal, and a server that responds late.

Which definition is in force at a row is what the model says (`tests.helpers.schema_world`), never the program.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tailer.errors import DefinitionError
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.schema.model import TableDefinition
from tailer.schema.server import read_session
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import SkipRecord
from tailer.state.node_log import folder_log
from tailer.tail.open import tail_parts
from tailer.tail.tail import Tail
from tests.helpers.schema_world import LateSession, World, Written, new_world
from tests.helpers.tails import change_rows

SEEDS = range(60)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Consumer:
    """One of the two. `found`: what the program has wrong, by kind."""

    def __init__(self, world: World, name: str, clock: Clock) -> None:
        self.name = name
        self.found: Counter[str] = Counter()
        self.what: list[str] = []
        self.taken: set[int] = set()
        self._world = world
        self._options = TailOptions(consumer=name, server="db", tables=("ks.*",), settle_seconds=0)
        self._clock = clock
        self._tail: Tail | None = None

    def run(self, most: int) -> None:
        """So many steps at most."""
        tail = self._opened()
        for row in change_rows(tail, most, 300):
            self._take(tail, row)

    def restart(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def _opened(self) -> Tail:
        if self._tail is None:
            log = folder_log(self._world.folder.path, None)
            self._tail = Tail(tail_parts(log, self._options, clock=self._clock))
            self._tail.__enter__()
        return self._tail

    def _take(self, tail: Tail, row: dict[str, object]) -> None:
        if row["op"] not in ("insert", "update", "upsert"):
            return
        number = row["partition_key"]["pk"]  # type: ignore[index]
        self.taken.add(number)
        written = next((each for each in self._world.rows if each.number == number), None)
        if written is None:
            # Written while its table did not capture: that is no loss.
            return
        if row["columns"] != written.values:
            self._wrong("values", f"{written}: {row['columns']}")
        at = Position(row["segment"], row["offset"])  # type: ignore[arg-type]
        held = tail.parts.definitions.history.as_of(at).get(written.table.id.hex)
        self._compare(held, written, at)

    def _compare(self, held: TableDefinition | None, written: Written, at: Position) -> None:
        if held is None:
            self._wrong("no definition", f"{at}: {written}")
            return
        if held.dropped:
            self._wrong("A2: a table that lives counts as dropped", f"{at}: {written}")
        lost = held.id in self._world.lost
        have = {(c.name, c.kind, c.type) for c in held.columns if not c.dropped}
        want = {(c.name, c.kind, c.type) for c in written.table.columns}
        # Of a table that was dropped behind a change that the log lost, nobody can say what it was.
        known = held.id not in self._world.gone & self._world.lost
        if known and not (want <= have if lost else want == have):
            self._wrong("columns", f"{at}: {sorted(have)} and not {sorted(want)}")
        dropped = {name for name, _ in written.ever}
        for column in held.columns:
            if not column.dropped and column.dropped_time is not None and column.name not in dropped:
                self._wrong("A3: a column counts as dropped and added again", f"{at}: {column}")

    def _wrong(self, kind: str, what: str) -> None:
        self.found[kind] += 1
        self.what.append(f"{self.name}: {kind}: {what}")

    def missing(self, path: Path) -> list[str]:
        """Rows that neither came nor are on record as put aside. Only rows of a table may be put aside of which the log
        lost a change, and that was dropped before anybody asked."""
        journal = FolderJournal(path / "cdc_raw.cdc_tail", writable=False)
        skips = sum(isinstance(r, SkipRecord) and r.consumer == self.name for r in journal.read())
        absent = [each for each in self._world.rows if each.number not in self.taken]
        wrong = [each for each in absent if each.table.id.hex not in self._world.gone & self._world.lost]
        return [f"{self.name}: A14: passed over: {each}" for each in (absent if len(absent) > skips else wrong)]


def interleave(path: Path, seed: int, patch: pytest.MonkeyPatch) -> tuple[Counter[str], list[str]]:
    """One run: what the program has wrong, by kind, and in words."""
    chance, clock = random.Random(seed), Clock()
    world = new_world(path / "cdc_raw", seed)
    patch.setattr("tailer.definitions.outside.read_server", lambda server: read_session(LateSession(world, chance)))
    near, far = Consumer(world, "near", clock), Consumer(world, "far", clock)
    found: Counter[str] = Counter()
    words: list[str] = []
    ended = False
    with ExitStack() as closing:
        closing.callback(near.restart)
        closing.callback(far.restart)
        try:
            for _ in range(chance.randrange(40, 90)):
                world.step()
                clock.now += chance.choice((1.0, 1.0, 61.0))
                if chance.random() < 0.4:
                    near.run(chance.choice((1, 50)))
                if chance.random() < 0.08:
                    far.run(chance.choice((1, 2, 50)))
                if chance.random() < 0.1:
                    chance.choice((near, far)).restart()
            world.close()
            for each in (near, far):
                for _ in range(3):
                    each.run(200)
        except DefinitionError as error:
            ended = True
            if not world.gone & world.lost:
                found["an entry cannot be decoded"] += 1
                words.append(error.sentence())
    if not (found or ended):
        for each in (near, far):
            if missing := each.missing(path):
                found["A14: rows were passed over without a word"] += 1
                words += missing
    for each in (near, far):
        found += each.found
        words += each.what
    return found, words


@pytest.mark.parametrize("seed", SEEDS)
def test_each_row_is_read_by_the_definition_in_force_there(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, words = interleave(tmp_path, seed, monkeypatch)
    assert not found, "\n".join(words[:10])
