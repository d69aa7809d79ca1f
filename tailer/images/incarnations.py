"""Tables that are dropped and created again with the same id: which incarnation something that a node logged is of.

A node's log shows the DROP at its position: what it logged before is of the earlier incarnation, what it logged later
of the new one. Nodes are read at different times, and the log of a node that was down shows no DROP. So until a node's
log has shown the DROP, its cells are of the earlier incarnation where their timestamps are at most that of the DROP
(the server removed them with the table), and all of them where its definition there is one of the earlier incarnation.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from tailer.images.tables import TableFacts, first_facts
from tailer.rebuild import Table
from tailer.rebuild.changes import Changed


def dropped(facts: TableFacts, node: str | None, time: int) -> TableFacts:
    """The table after a DROP at `time` (µs), as a node's log shows it."""
    reached = frozenset() if node is None else frozenset({node})
    return msgspec.structs.replace(
        facts, dropped=True, ended_at=time, reached=reached, previous=facts.table, behind=frozenset()
    )


def shown_again(facts: TableFacts, node: str | None, time: int | None) -> TableFacts:
    """The table where a node's log shows a DROP that is known already, or an earlier one."""
    if node is None or facts.ended_at is None or (time is not None and time < facts.ended_at):
        return facts
    return msgspec.structs.replace(facts, reached=facts.reached | {node}, behind=facts.behind - {node})


def is_earlier_drop(facts: TableFacts, node: str | None, time: int | None) -> bool:
    """Whether a DROP ended an earlier incarnation than the one that is known."""
    if facts.ended_at is None or node is None:
        return False
    return node not in facts.reached if time is None else time <= facts.ended_at


def created_again(
    facts: TableFacts, table: Table, learnt: int, *, cdc: bool, captured: bool, nodes: Collection[str]
) -> TableFacts:
    """The next incarnation of a dropped table. `learnt`: see `first_facts`. `nodes`: all that are followed."""
    begun = facts.epoch + 2
    whole = captured and facts.reached.issuperset(nodes)
    made = first_facts(table, (facts.ended_at or learnt) + 1, learnt, created=whole, cdc=cdc, captured=captured)
    epoch = begun if captured else begun + 1
    return msgspec.structs.replace(
        made, epoch=epoch, begun=begun, seq=facts.seq, ended_at=facts.ended_at, reached=facts.reached,
        previous=facts.previous,
    )  # fmt: skip


def reported(facts: TableFacts, node: str | None, table: Table) -> TableFacts | None:
    """The table where a node's log shows a definition; None where it is one of the earlier incarnation."""
    if node is None or facts.ended_at is None or node in facts.reached or table.definition == facts.table.definition:
        return facts if node not in facts.behind else msgspec.structs.replace(facts, behind=facts.behind - {node})
    return None if facts.previous is not None and _may_be_before(table, facts.previous) else facts


def _may_be_before(table: Table, last: Table) -> bool:
    """Whether a definition may be one that a table had before its last one: columns are only ever added."""
    known = {(column.kind, column.name): column.type for column in last.definition.columns}
    return all(known.get((column.kind, column.name)) == column.type for column in table.definition.columns)


def is_behind(facts: TableFacts, node: str) -> bool:
    """Whether a node's log may still show changes of an earlier incarnation."""
    return facts.ended_at is not None and node not in facts.reached


def without_earlier(facts: TableFacts, made: Changed) -> Changed:
    """A change of such a node without what it says of an earlier incarnation."""
    assert facts.ended_at is not None, "the node is behind"
    until = facts.ended_at
    return made._replace(facts=[fact for fact in made.facts if fact.stamp.write_ts > until])


def is_usual(facts: TableFacts, node: str) -> bool:
    """Whether all that a node's log has of the table from here on counts."""
    return not (facts.dropped or is_behind(facts, node))
