"""What the state knows of a table as a whole: its definition, and since when its rows are known whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final
from uuid import UUID

import msgspec

from tailer.errors import DefinitionError
from tailer.images.floors import Floor, Floors
from tailer.images.store import Store, number_of
from tailer.images.text import RowText
from tailer.rebuild import Table
from tailer.rebuild.table import Plan, plan_of
from tailer.schema.model import TableDefinition
from tailer.versions import StateDecoder

_PREFIX: Final = b"table/"
_HISTORY: Final = b"definition/"
_SHOWN: Final = b"shown/"
_CREATED: Final = b"created/"


class Redefined(msgspec.Struct, array_like=True):
    """A definition by which rows read differently, and whose images come in batches.

    `old`: the table before; `at`: when the definition took effect (µs); `cause`: the fields of the change row's
    `Cause`; `last`: the name of the last partition whose images are given.
    """

    old: TableFacts
    at: int
    cause: tuple[str | None, int | None, int | None, int | None, str | None]
    last: bytes = b""


class TableFacts(msgspec.Struct, array_like=True):
    """What is kept of a table.

    `whole`: all of it is known, its CREATE on. `epoch` grows with each loss, so that what was known whole before counts
    no more; `complete_since` (µs): a deletion not older than that tells all of what it covers. `forgotten`: the second
    before which tombstones were forgotten. `seq`: of the last image of the table as a whole, 0 for none. `floors`: of
    the ranges that a snapshot has read.

    A table that was dropped and created again with the same id has another incarnation, which begins at epoch `begun`.
    `ended_at`: the timestamp (µs) of the DROP that ended the one before; `reached`: the nodes whose log has shown that
    DROP; `previous`: the last definition of the one before; `behind`: nodes whose log showed a definition of it since.
    `supposed`: only changes of nodes whose log has not shown the DROP say that there is a next incarnation.

    `confirmed`: where all of the table has become known, and its rows are told so in batches: the name of the last
    partition that was; None where that is not under way. `whole` is set at its end. `redefined`: likewise of rows that
    read differently by the newest definition; these batches come first.
    """

    table: Table
    cdc: bool
    whole: bool
    complete_since: int
    epoch: int = 1
    forgotten: int | None = None
    seq: int = 0
    dropped: bool = False
    floors: tuple[Floor, ...] = ()
    begun: int = 1
    ended_at: int | None = None
    reached: frozenset[str] = frozenset()
    previous: Table | None = None
    behind: frozenset[str] = frozenset()
    confirmed: bytes | None = None
    supposed: bool = False
    redefined: Redefined | None = None

    @property
    def usual(self) -> bool:
        """Whether the rows of all partitions are read by the same definition, and complete by the same rule."""
        return self.confirmed is None and self.redefined is None


def first_facts(table: Table, since: int, learnt: int, *, created: bool, cdc: bool, captured: bool) -> TableFacts:
    """Of a table's first definition, which was in force at the server when it was `learnt` (µs). `since`: since when
    all is read (µs). `created`: its CREATE was seen. `captured`: it was, as long as it is read."""
    return TableFacts(table, cdc, created and captured, since) if captured else TableFacts(table, cdc, False, learnt, 2)


def incomplete(facts: TableFacts, until: int) -> TableFacts:
    """The same, where changes until then (µs) are missing: nothing that was known whole counts any more."""
    since = max(facts.complete_since, until)
    return msgspec.structs.replace(facts, whole=False, epoch=facts.epoch + 1, complete_since=since, confirmed=None)


class KnownTable:
    """A table by its newest definition, made ready."""

    def __init__(self, facts: TableFacts) -> None:
        self.facts = facts
        self._compared: TableDefinition | None = None
        self._is_same = False

    @property
    def id(self) -> str:
        """32 hex digits."""
        return self.facts.table.definition.id

    def is_of(self, definition: TableDefinition) -> bool:
        """Whether that is the definition. Asked for each batch of rows."""
        if definition is not self._compared:
            self._compared, self._is_same = definition, definition == self.facts.table.definition
        return self._is_same

    @cached_property
    def before(self) -> KnownTable:
        """The table by the definition before, while rows are brought to the newest one."""
        assert self.facts.redefined is not None, "rows are brought to another definition"
        return KnownTable(self.facts.redefined.old)

    def of(self, partition: bytes) -> KnownTable:
        """By the definition that the images of a partition have so far."""
        redefined = self.facts.redefined
        return self if redefined is None or partition <= redefined.last else self.before

    @cached_property
    def shown_id(self) -> str:
        """The id as rows have it."""
        return str(UUID(self.id))

    @cached_property
    def floors(self) -> Floors:
        return Floors(self.facts.floors)

    @cached_property
    def plan(self) -> Plan:
        return plan_of(self.facts.table)

    @cached_property
    def text(self) -> RowText:
        return RowText(self.plan)


class Tables:
    """The tables of a state, read once and kept in it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, KnownTable] = {}
        self._confirming: set[str] = set()
        for _, value in store.metas(_PREFIX):
            self._hold(_DECODER.decode(value))

    def __iter__(self) -> Iterator[KnownTable]:
        """All of them, by id, as they were when this began."""
        return iter([self._known[table_id] for table_id in sorted(self._known)])

    @property
    def confirming(self) -> bool:
        """Whether rows of any of them are to be brought to its newest definition, or reported as complete."""
        return bool(self._confirming)

    def is_replaced(self, table: KnownTable) -> bool:
        """Whether another table has the name of one that was dropped."""
        return any(
            each.facts.table.name == table.facts.table.name and each.id != table.id and not each.facts.dropped
            for each in self._known.values()
        )

    def get(self, table_id: str) -> KnownTable | None:
        """A table by its id, as digits or as rows have it; None for one that nobody defined."""
        return self._known.get(table_id.replace("-", ""))

    def of(self, table_id: str) -> KnownTable:
        """DefinitionError for a table that nobody defined."""
        known = self.get(table_id)
        if known is None:
            raise DefinitionError(
                f"a change of the table with id {table_id}, of which no definition is known",
                remedy="Give its definition before its changes.",
            )
        return known

    def keep(self, facts: TableFacts) -> KnownTable:
        """Keep what is known of a table now."""
        self._store.put_meta(_PREFIX + facts.table.definition.id.encode(), _ENCODER.encode(facts))
        return self._hold(facts)

    def _hold(self, facts: TableFacts) -> KnownTable:
        known = KnownTable(facts)
        self._known[known.id] = known
        (self._confirming.discard if facts.usual else self._confirming.add)(known.id)
        return known


def remember(store: Store, old: TableDefinition, new: TableDefinition, seq: int) -> None:
    """Keep the definition that the `schema` image of number `seq` begins; before the first one also the one before."""
    if not definitions_in(store, new.id):
        store.put_meta(_history(old.id, 0), _ENCODER.encode(old))
    store.put_meta(_history(new.id, seq), _ENCODER.encode(new))


def definitions_in(store: Store, table_id: str) -> list[tuple[int, TableDefinition]]:
    """The definitions of a table, each with the number of the `schema` image that begins it; 0 for the first.

    Empty if the definition never changed. `table_id`: 32 hex digits.
    """
    prefix = _HISTORY + table_id.encode() + b"/"
    found = store.metas(prefix)
    return [(int.from_bytes(key[-_SEQ_BYTES:], "big"), _DEFINITIONS.decode(value)) for key, value in found]


def had_by(store: Store, table_id: str) -> list[TableDefinition]:
    """All definitions that a table had, in earlier incarnations too; empty if it never changed."""
    return [each for _, each in definitions_in(store, table_id)]


def shown_before(store: Store, table_id: str, table: Table, node: str | None) -> int | None:
    """Which of the definitions that are known already a node shows that is read late, by number; None for a new one.

    RENAME leaves nothing in a definition by which two could be ordered, and a second one may lead back to the first.
    But each node's log has them in order: it shows none of before the last one that it showed.
    """
    behind = 0 if node is None else shown_by(store, table_id, node)
    history = definitions_in(store, table_id)
    return next((seq for seq, each in history if seq >= behind and each == table.definition), None)


def put_shown(store: Store, table_id: str, node: str, seq: int) -> None:
    """Keep which of the definitions of a table, by the number of its `schema` image, a node's log showed last."""
    if seq != shown_by(store, table_id, node):
        store.put_meta(_shown(table_id, node), seq.to_bytes(_SEQ_BYTES, "big"))


def shown_by(store: Store, table_id: str, node: str) -> int:
    """As `put_shown`; 0 where that is not known, or the first one."""
    return number_of(store.meta(_shown(table_id, node)))


def put_created(store: Store, table_id: str, time: int | None) -> None:
    """Keep when (µs) a table was created that a log shows; None: the log shows no CREATE, or not its time."""
    if time is not None and time > created_at(store, table_id):
        store.put_meta(_CREATED + table_id.encode(), time.to_bytes(8, "big"))


def created_at(store: Store, table_id: str) -> int:
    """The time (µs) of the newest CREATE of this id that any log has shown; 0 where none has."""
    return number_of(store.meta(_CREATED + table_id.encode()))


def _shown(table_id: str, node: str) -> bytes:
    return _SHOWN + table_id.encode() + b"/" + node.encode()


def _history(table_id: str, seq: int) -> bytes:
    return _HISTORY + table_id.encode() + b"/" + seq.to_bytes(_SEQ_BYTES, "big")


def definition_in(store: Store, table_id: str) -> TableDefinition | None:
    """The newest definition of one table of a state, by its id as digits; None for one that nobody defined."""
    found = store.meta(_PREFIX + table_id.encode())
    return None if found is None else _DECODER.decode(found).table.definition


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = StateDecoder[TableFacts](TableFacts, "a table of the state of images")
_DEFINITIONS: Final = StateDecoder[TableDefinition](TableDefinition, "a definition in the state of images")
_SEQ_BYTES: Final = 8
