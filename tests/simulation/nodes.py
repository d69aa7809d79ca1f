"""The Cassandra nodes of a history: their servers, what they are told to do, and what SELECT at ALL shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.helpers.images.partitions import Partition, Rows
from tests.helpers.images.tables import ModelTable
from tests.simulation.cassandra import CassandraNode
from tests.simulation.database import Change, Database, Held, merged
from tests.simulation.logged import Ledger
from tests.simulation.system_schema import SystemSchema
from tests.simulation.world import Process, this_process, this_world


@dataclass(frozen=True)
class Work:
    """What a server is to do: `write` a change by the first so many definitions, `define` them, `truncate` a table,
    `sync`, `roll` or `drain`."""

    what: str
    definitions: int = 0
    change: Change | None = None
    truncation: Callable[[int, int], Change] | None = None


@dataclass(eq=False)
class Node:
    """One of them. `down`: nobody starts its server again. `executed`: so many of the definitions; `schema`: what they
    make of its `system_schema`. `skew_ns`: of its clock, which may go back where `back` says so."""

    name: str
    home: Path
    release: str
    todo: list[Work] = field(default_factory=list)
    down: bool = False
    executed: int = 0
    schema: SystemSchema = field(default_factory=SystemSchema)
    unsynced: bool = False
    skew_ns: int = 0
    back: bool = False

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.name, back=self.back)
        self.held = Held()
        self._process: Process | None = None
        self._behind = 0

    def begins(self, process: Process) -> None:
        """Its server runs from now on, as that process."""
        self._process, self._behind, self.unsynced = process, len(self.todo), False

    def ends(self) -> None:
        self._process = None

    def taken(self) -> Work:
        self._behind = max(0, self._behind - 1)
        return self.todo.pop(0)

    def runs(self) -> bool:
        return self._process is not None and self._process.alive

    def has_hints(self) -> bool:
        """Whether it has all that it missed while it did not run."""
        return self._behind == 0

    @property
    def folder(self) -> Path:
        return self.home / "cdc_raw"


class Nodes:
    """All of a history: each has every partition."""

    def __init__(
        self,
        seed: int,
        home: Path,
        count: int,
        now_us: Callable[[], int],
        *,
        pinned: bool = True,
        back: bool = False,
        keeps_keys: bool = False,
        skewed: bool = False,
    ) -> None:
        """`pinned`: there is a row that is captured beside each change of the schema: a segment without one is removed
        unread. `keeps_keys`, `skewed`: see `Database`."""
        self._seed, self._now_us, self._pinned = seed, now_us, pinned
        self.database = Database(seed, stays=not pinned, keeps_keys=keeps_keys, skewed=skewed)
        self._definitions: list[Change] = self.database.creations()
        """Every change of the schema, in order. A server keeps its schema: no change of it gets lost."""
        self._definitions.append(self.database.pin(0, self._second()))
        self._first = len(self._definitions)
        release = Random(f"{seed} release").choice(("4.1.10", "5.0.9"))
        self.all = [
            Node(f"n{number + 1}", home / f"n{number + 1}", release, back=back and not number)
            for number in range(count)
        ]
        self._tables = {self._first: dict(self.database.tables)}
        """All tables, by how many definitions there are."""

    def write(self, number: int) -> None:
        """Some of the nodes are told to log a statement; one that runs is among them."""
        self.database.keep_up(self._now_us())
        change = self.database.write(number, self._second())
        random = Random(f"{self._seed} on {number}")
        chosen = random.sample(self.all, random.randint(1, len(self.all)))
        if all(node.down for node in chosen):
            chosen.append(next(node for node in self.all if not node.down))
        for node in chosen:
            node.todo.append(Work("write", len(self._definitions), change))

    def write_odd(self, number: int, table: ModelTable) -> None:
        """The first node logs a statement on a table that no definition names."""
        self.database.keep_up(self._now_us())
        change = self.database.odd(number, self._second(), table)
        self.all[0].todo.append(Work("write", len(self._definitions), change))

    def write_to_all(self, number: int) -> None:
        """Each node runs, and logs a row that is captured, durably."""
        self.database.keep_up(self._now_us())
        change = self.database.pin(number, self._second())
        for node in self.all:
            node.down = False
            node.todo += [Work("write", len(self._definitions), change), Work("sync")]

    def alter(self, number: int) -> None:
        """All are told of a change of the schema."""
        self.database.keep_up(self._now_us())
        changes = self.database.alter(number)
        self._definitions += changes
        # Who does not see that a table is not captured any more gets what the log has of it beside captured rows.
        if self._pinned or any(each.captures for each in changes):
            self._definitions.append(self.database.pin(len(self._definitions), self._second()))
        self._tables[len(self._definitions)] = dict(self.database.tables)
        for node in self.all:
            node.todo.append(Work("define", len(self._definitions)))

    def truncate(self, number: int) -> None:
        """All are told to throw away what they have of a table."""
        self.database.keep_up(self._now_us())
        at = self.database.truncation(number)
        pin = self.database.pin(-number, self._second())
        for node in self.all:
            node.todo.append(Work("truncate", len(self._definitions), pin, at))

    def serve(self, node: Node) -> int:
        """One run of a node's server, in the process that calls this."""
        process = this_process()
        process.skew_ns = node.skew_ns
        server = CassandraNode(node.home, node.ledger)
        self._define(server, node, self._first)
        node.begins(process)
        while True:
            this_world().wait(lambda: bool(node.todo), None)
            work = node.taken()
            self._define(server, node, work.definitions)
            match work.what:
                case "write":
                    assert work.change is not None, "there is something to write"
                    node.unsynced = True
                    server.write(work.change)
                case "truncate":
                    assert work.truncation is not None, "something is to be truncated"
                    assert work.change is not None, "there is a row beside it"
                    server.sync()
                    server.write(work.truncation(*server.position))
                    server.write(work.change)
                    server.sync()
                case "sync":
                    server.sync()
                    node.unsynced = False
                case "roll":
                    server.roll()
                    node.unsynced = False
                case "drain":
                    node.ends()
                    server.stop()
                    return 0

    def _define(self, server: CassandraNode, node: Node, count: int) -> None:
        """Execute what was not of the first definitions, and log what the log has not of them."""
        lacking = [each for each in self._definitions[:count] if not node.ledger.has(each)]
        if lacking:
            server.sync()
            for change in lacking:
                server.write(change)
            for change in self._definitions[node.executed : count]:
                node.schema.apply(change.mutation)
            node.executed = max(node.executed, count)
            server.sync()

    # What clients are told

    @property
    def nodes(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.all}

    def tables(self) -> Mapping[str, ModelTable] | None:
        """See `server.Servers`."""
        executed = {node.executed for node in self.all}
        if len(executed) > 1 or not all(node.runs() and node.has_hints() for node in self.all):
            return None
        return self._tables[executed.pop()]

    def sync(self) -> None:
        """See `server.Servers`."""
        for node in self.all:
            node.todo.append(Work("sync"))

    def is_durable(self) -> bool:
        """See `server.Servers`."""
        return not any(node.runs() and (node.todo or node.unsynced) for node in self.all)

    def partitions(self, table: str) -> Mapping[int, Partition]:
        """See `server.Servers`."""
        return merged(self._held(), table)

    def now(self) -> int:
        """See `server.Servers`."""
        return self._second()

    def altered(self, image: Any) -> ModelTable | None:
        """A table as the schema change left it that an image tells of: where the log does not show it there, a server
        told of it, or another node. None where there is no such table any more."""
        change = None
        if image.node is not None:
            change = self.nodes[image.node].ledger.change_at(image.segment, image.offset)
        if change is not None and change.altered:
            return next(table for table in change.altered if table.id == image.table_id)
        if not self._pinned or image.node is None:
            return next((table for table in self.database.tables.values() if table.id == image.table_id), None)
        return None

    def version(self) -> tuple[int, ...]:
        """What `selected` gives changes no more often than this."""
        return (self._second(), *(len(node.ledger.durable) for node in self.all))

    def selected(self) -> dict[str, dict[int, Rows]]:
        """What SELECT at ALL shows of each table, by its id, of what is durable."""
        return self.database.selected(self._held(), self._second())

    def _held(self) -> list[Held]:
        for node in self.all:
            node.held.take(each.change for each in node.ledger.durable[node.held.taken :])
        return [node.held for node in self.all]

    def _second(self) -> int:
        return self._now_us() // 10**6
