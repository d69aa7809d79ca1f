"""Schema changes while the workload runs: one after the other, in turns, through node 1.

CREATE, ADD, DROP and re-ADD of a column, first and last static column, DROP and CREATE with the same id and with
another one, TRUNCATE. Two of them need every node, because Cassandra itself is not exact without: TRUNCATE is refused
while a node is down, and a node that missed DROP and CREATE of one id keeps the old rows.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server.cluster.cluster import Cluster
from tests.server.cluster.hour.statements import SchemaState
from tests.server.cluster.hour.tables import BY_NAME, KEYSPACE, made
from tests.server.cluster.hour.workload import LASTING, Workload
from tests.server.cluster.workload import refusals

STATEMENT_SECONDS = 60
MADE_AT_ONCE = 4
SETTLED_SECONDS = 2.0
"""Between the last write of a table and its DROP where it comes back with the same id: no copy is under way then."""


class SchemaChanges:
    """Makes a change every `seconds`. `whole`: set while all nodes are up and no hints are pending."""

    def __init__(
        self,
        cluster: Cluster,
        workload: Workload,
        schema: SchemaState,
        seconds: float,
        file: Path,
        whole: threading.Event,
    ) -> None:
        self._cluster = cluster
        self._workload = workload
        self._schema = schema
        self._seconds = seconds
        self._out = file.open("a")
        self._whole = whole
        self._made = 0
        self._again_id: str | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="schema changes")
        self._free = threading.Lock()
        self._failure: Exception | None = None
        self.done: Counter[str] = Counter()

    def start(self) -> None:
        self._thread.start()

    def pause(self, on: bool) -> None:
        """No change is under way between `pause(True)` and `pause(False)`."""
        if on:
            self._free.acquire()
        else:
            self._free.release()

    def stop(self) -> None:
        """Returns when the last change is done; raises what went wrong, once."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        self._out.close()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _run(self) -> None:
        turns: list[Callable[[Any], None]] = [
            self._create, self._drop_and_add, self._same_id, self._add_and_drop, self._truncate, self._static,
            self._create, self._other_id, self._drop_and_add, self._drop_made, self._same_id, self._static,
            self._truncate,
        ]  # fmt: skip
        try:
            with self._cluster.nodes[LASTING].session() as session:
                turn = 0
                while not self._end.wait(self._seconds):
                    with self._free:
                        turns[turn % len(turns)](session)
                    turn += 1
        except Exception as failure:
            self._failure = failure

    def _do(self, session: Any, kind: str, cql: str) -> bool:
        """Whether the server did it. What it refused is noted and is no failure of the run: a node may be away."""
        sent, refusal = time.time(), None
        try:
            session.execute(cql, timeout=STATEMENT_SECONDS)
            self.done[kind] += 1
        except refusals() as refused:
            refusal = f"{type(refused).__name__}: {refused}"[:300]
            self.done["refused"] += 1
        line = {"kind": kind, "cql": cql, "sent": sent, "done": time.time(), "refusal": refusal}
        self._out.write(json.dumps(line) + "\n")
        self._out.flush()
        return refusal is None

    def _create(self, session: Any) -> None:
        self._made += 1
        if self._do(session, "create", made(self._made).create()):
            with self._schema.lock:
                self._schema.made.append(self._made)
            if self._made % 3 == 0:
                self._do(session, "add", f"ALTER TABLE {KEYSPACE}.{made(self._made).name} ADD later text")

    def _drop_made(self, session: Any) -> None:
        with self._schema.lock:
            if len(self._schema.made) <= MADE_AT_ONCE:
                return
            number = self._schema.made.pop(0)
        self._do(session, "drop_table", f"DROP TABLE {KEYSPACE}.{made(number).name}")

    def _drop_and_add(self, session: Any) -> None:
        """A column goes and comes back at once, with the same type."""
        self._note_column("x", False)
        self._do(session, "drop_column", f"ALTER TABLE {KEYSPACE}.altered DROP x")
        self._end.wait(min(3.0, self._seconds / 2))
        self._do(session, "add_again", f"ALTER TABLE {KEYSPACE}.altered ADD x bigint")
        self._note_column("x", self._has(session, "altered", "x"))

    def _add_and_drop(self, session: Any) -> None:
        """A column that comes in one turn and goes in the next; it is written while it goes."""
        if self._has(session, "altered", "y"):
            self._do(session, "drop_column", f"ALTER TABLE {KEYSPACE}.altered DROP y")
        else:
            self._do(session, "add", f"ALTER TABLE {KEYSPACE}.altered ADD y bigint")
        self._note_column("y", self._has(session, "altered", "y"))

    def _static(self, session: Any) -> None:
        there = self._has(session, "shelf", "s")
        change = "DROP s" if there else "ADD s bigint static"
        self._do(session, "drop_static" if there else "add_static", f"ALTER TABLE {KEYSPACE}.shelf {change}")
        there = self._has(session, "shelf", "s")
        with self._schema.lock:
            self._schema.shelf_static = there

    def _same_id(self, session: Any) -> None:
        if not self._whole.is_set():
            return
        with self._workload.closed("again"):
            time.sleep(SETTLED_SECONDS)
            table_id = self._id(session, "again")
            if not self._whole.is_set():
                return
            if table_id is not None:
                self._again_id = table_id
                self._do(session, "drop_table", f"DROP TABLE {KEYSPACE}.again")
            self._do(session, "create_same_id", BY_NAME["again"].create(table_id=self._again_id))

    def _other_id(self, session: Any) -> None:
        self._do(session, "drop_table", f"DROP TABLE {KEYSPACE}.anew")
        self._do(session, "create_other_id", BY_NAME["anew"].create())

    def _truncate(self, session: Any) -> None:
        if self._whole.is_set():
            self._do(session, "truncate", f"TRUNCATE {KEYSPACE}.cleared")

    def _note_column(self, name: str, there: bool) -> None:
        """For the writers: a column of `altered` that may be written, or may not."""
        with self._schema.lock:
            columns = self._schema.altered_columns
            self._schema.altered_columns = columns | {name} if there else columns - {name}

    def _has(self, session: Any, table: str, column: str) -> bool:
        """Asked of the server: a change that timed out may have been made."""
        query = (
            f"SELECT type FROM system_schema.columns WHERE keyspace_name = '{KEYSPACE}' AND table_name = '{table}' "
            f"AND column_name = '{column}'"
        )
        return session.execute(query).one() is not None

    def _id(self, session: Any, table: str) -> str | None:
        query = f"SELECT id FROM system_schema.tables WHERE keyspace_name = '{KEYSPACE}' AND table_name = '{table}'"
        found = session.execute(query).one()
        return None if found is None else str(found[0])
