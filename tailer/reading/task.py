"""What is read, and by which definitions: all that decides the rows of a span. It travels to executors; values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tailer.position import Span
from tailer.reading.transactions import Transaction
from tailer.schema.extras import NO_EXTRAS, Extras
from tailer.schema.masks import NO_MASKS, Masks
from tailer.schema.model import TableDefinition
from tailer.schema.ring import Primaries
from tailer.schema.selection import Selection
from tailer.schema.typed import TypedTable
from tailer.types.texts import OddKeys

DefinitionsById = Mapping[str, TableDefinition]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of definitions inside a span: entries that begin at `end` (logical) or later see it.

    `told`: the entry that ends there made it. What a server or another node reported has no rows: it may be known to
    one consumer before it reads the span, and to another one while it does, and both give the same rows.
    """

    end: int
    definitions: DefinitionsById
    told: bool = True


@dataclass(frozen=True, slots=True)
class ReadTask:
    """All that decides the rows of a span. `definitions` as of its start, by table id; `changes` those inside it.

    `skips`: what a consumer decided to leave out, as (logical offset, bytes): an entry, the rest of a section, or a
    whole one. `typed`: rows come in that typed form. `masks`: what of them is masked; the reader has the key of hashes.

    Of a native log: transactions that began below segment `history_begins` are of an unknown history; `walk_skips`:
    changes of transactions to leave out, as (segment, logical offset, bytes); `walk`: what the walk for the span's
    commits found, where the reader cannot walk by itself.

    `odd_keys`: whether keys whose text is no UTF-8 are escaped (`types.texts`), or their entries are faults.

    `extras`: what rows are told besides; `ring`: what the node is the first replica of, where that counts and is known.
    `keeps_source`: see `Place`.

    `lacks_some`: a definition of a native log was left out because it cannot be decoded. A change of a table that is
    not known may be of a wanted one then: it is a fault.
    """

    node: str
    span: Span
    definitions: DefinitionsById
    changes: tuple[Change, ...]
    selection: Selection
    schema_changes: bool = False
    skips: tuple[tuple[int, int], ...] = ()
    typed: TypedTable | None = None
    history_begins: int = 0
    walk_skips: tuple[tuple[int, int, int], ...] = ()
    walk: tuple[Transaction, ...] | None = None
    masks: Masks = NO_MASKS
    extras: Extras = NO_EXTRAS
    ring: Primaries | None = None
    keeps_source: bool = False
    odd_keys: OddKeys = "escape"
    lacks_some: bool = False
