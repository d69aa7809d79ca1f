"""Tables that are dropped and created again with the same id: which incarnation something that a node logged is of.

A node's log shows the DROP at its position: what it logged before is of the earlier incarnation, what it logged later
of the new one. Nodes are read at different times, and the log of a node that was down shows no DROP. So until a node's
log has shown the DROP, its cells are of the earlier incarnation where their timestamps are at most that of the DROP
(the server removed them with the table), and all of them where its definition there is one of the earlier incarnation.

A CREATE of a later time than the DROP shows as much as the DROP. Cells newer than the DROP let the next incarnation
begin before any CREATE is shown: it is supposed. Where the logs of all nodes show the DROP, and no CREATE yet, it ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from tailer.images.tables import TableFacts, first_facts
from tailer.rebuild import Table
from tailer.rebuild.changes import Changed
from tailer.schema.model import TableDefinition


def dropped(facts: TableFacts, node: str | None, time: int) -> TableFacts:
    """The table after a DROP at `time` (µs), as a node's log shows it."""
    reached = frozenset() if node is None else frozenset({node})
    return msgspec.structs.replace(
        facts,
        dropped=True,
        ended_at=time,
        reached=reached,
        previous=facts.table,
        behind=frozenset(),
        supposed=False,
    )


def shown_again(facts: TableFacts, node: str | None, time: int | None) -> TableFacts:
    """The table where a node's log shows a DROP that is known already, or an earlier one; of a dropped table also a
    later one."""
    if node is None or (facts.ended_at is not None and time is not None and time < facts.ended_at):
        return facts
    if facts.ended_at is None:
        return msgspec.structs.replace(facts, behind=facts.behind - {node})
    if facts.dropped and time is not None and time > facts.ended_at:
        # It ended an incarnation that only other logs show: they have to show this DROP too.
        return dropped(facts, node, time)
    return msgspec.structs.replace(facts, reached=facts.reached | {node}, behind=facts.behind - {node})


def is_earlier_drop(facts: TableFacts, node: str | None, time: int | None, created: int) -> bool:
    """Whether a DROP ended an earlier incarnation than the one that is known. `created`: see `created_at`."""
    if node is not None and time is not None and time < created:
        return True
    if facts.ended_at is None or node is None:
        return False
    return node not in facts.reached if time is None else time <= facts.ended_at


def shows_next(facts: TableFacts, node: str, made: int) -> bool:
    """Whether a node's log, which has not shown the DROP, shows a CREATE of the time `made` (µs) behind it."""
    return is_behind(facts, node) and facts.ended_at is not None and made > facts.ended_at


def shown_created(facts: TableFacts, node: str, made: int | None) -> TableFacts:
    """The table where a node's log shows a CREATE of the time `made` (µs).

    All cells of before this time are of an earlier incarnation, until the node's log has shown as much.
    """
    if made is None or facts.ended_at is None or made <= facts.ended_at:
        return facts
    return msgspec.structs.replace(
        facts, ended_at=made - 1, reached=facts.reached | {node}, behind=facts.behind - {node}
    )


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


def supposed_again(facts: TableFacts, table: Table, learnt: int) -> TableFacts:
    """Likewise where only a node says so whose log has shown neither the DROP nor the CREATE."""
    # It captures, or the node would not say anything. Whether it did so from its CREATE on, the CREATE shows.
    again = created_again(facts, table, learnt, cdc=True, captured=True, nodes=())
    return msgspec.structs.replace(again, whole=False, supposed=True)


def is_unfounded(facts: TableFacts, nodes: Collection[str]) -> bool:
    """Whether the logs of all nodes have shown the DROP behind which a table is supposed to be created again."""
    return facts.supposed and facts.reached.issuperset(nodes)


def is_of_next(facts: TableFacts, node: str | None, table: Table, earlier: Iterable[TableDefinition] = ()) -> bool:
    """Whether a definition that a node's log shows cannot be one of a dropped table. `earlier`: all that it had, in its
    earlier incarnations too: a node may be behind by several."""
    if node is None or facts.previous is None or table.definition in earlier:
        return False
    return not _may_be_before(table, facts.previous)


def has_other_key(facts: TableFacts, table: Table) -> bool:
    """Whether a definition is of another incarnation for certain, though nothing has shown the DROP and the CREATE: no
    statement of a server changes a key's types."""
    return not table.native and _key_types(facts.table) != _key_types(table)


def _key_types(table: Table) -> list[tuple[str, int, str, bool]]:
    columns = (each for each in table.definition.columns if each.kind in ("partition_key", "clustering"))
    return sorted((each.kind, each.position, each.type, each.desc) for each in columns)


def reported(facts: TableFacts, node: str | None, table: Table) -> TableFacts | None:
    """The table where a node's log shows a definition; None where it is one of the earlier incarnation."""
    if node is None or facts.ended_at is None or node in facts.reached or table.definition == facts.table.definition:
        return facts if node not in facts.behind else msgspec.structs.replace(facts, behind=facts.behind - {node})
    older = has_other_key(facts, table) or (facts.previous is not None and _may_be_before(table, facts.previous))
    return None if older else facts


def fell_behind(facts: TableFacts, node: str | None) -> TableFacts:
    """The table where a node's log shows a definition of the earlier incarnation."""
    return msgspec.structs.replace(facts, behind=facts.behind.union(filter(None, [node])))


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
