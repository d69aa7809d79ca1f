"""The journal's records as values, and one record as a line of text. No I/O.

A line is the CRC32 of the JSON text as 8 hex digits, a blank, and the compact JSON with the record's number first.
"""

from __future__ import annotations

from enum import Enum
from hashlib import blake2b
from typing import Any, ClassVar, Final
from zlib import crc32

import msgspec

from tailer.position import Position
from tailer.schema.masks import Masks
from tailer.schema.model import TableDefinition
from tailer.schema.ring import Primaries
from tailer.schema.rows import SchemaDelta
from tailer.state.ids import NO_IDS, Ids
from tailer.state.ids_json import from_texts_or_deltas, to_texts
from tailer.state.journal_errors import unknown_form
from tailer.state.learnt import Learnt
from tailer.state.segment_times import SegmentTimes
from tailer.typed_decode import decode_json, json_decoder
from tailer.versions import UNDECODABLE

LOG: Final = "log"
"""The source of what the log says itself."""

SERVER: Final = "server "
"""How the source of a server's response begins."""

FILE: Final = "file "
"""How the source of a CQL file begins."""

NODE: Final = "node "
"""How the source of what another node's log shows begins."""

UNNAMED: Final = ""
"""In place of the name of a consumer that a client of `serve` may not know. It is no consumer's name, and no run
without a consumer goes by the record as its own. No journal has it."""


class Affects(Enum):
    """The consumers that a kind of record affects. Each kind states it; `serve` decides by it who may write one."""

    ALL = "every consumer"
    NAMED = "the consumer that it names; without a name, runs without a consumer"
    NAMED_OR_ALL = "the consumer that it names; without a name, every consumer"


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What one line says. `n` is its number in the journal, from 1; 0 = not journalled yet."""

    affects: ClassVar[Affects]

    once: ClassVar[bool] = True
    """Whether an equal record is not journalled a second time."""

    pins: ClassVar[bool] = True
    """Whether an offset's `j` says that it counts there."""

    n: int = 0


class SchemaRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="schema"):
    """Changes of definitions, valid for entries that begin at `at` or later (the end of the entry that made them).

    `source` says where they came from: `log`, `file …`, `server …`, `node …` (another node's log).
    `asked`: of a server's response the time of the request, in microseconds by this machine's clock; its rows have the
    server's timestamps. 0 for all others, and for responses that earlier versions journaled. `found`: where in the log
    they stood, if that was behind the planner's position already: they count from there inside that segment alone.
    `again`: records there were when the same was given once more, to overrule what came in between; 0 the first time.
    `size`: of what the log says itself the bytes of its entry, which begins so many before its end; 0 for all others,
    and for what earlier versions journaled. `learnt`: when it was journaled first, in microseconds by that machine's
    clock, so that all consumers have one time by which the server had made the change; 0 in earlier versions.
    """

    affects: ClassVar[Affects] = Affects.ALL

    at: Position
    source: str
    deltas: tuple[SchemaDelta, ...]
    found: Position | None = None
    again: int = 0
    asked: int = 0
    size: int = 0
    learnt: int = 0


class OwnSchemaRecord(SchemaRecord, frozen=True, kw_only=True, omit_defaults=True, tag="own_schema"):
    """Definitions that a reader on another machine gave: from a file, a server, or another node's log. They count for
    its consumer alone.

    It is a kind of its own, so that a program that does not know it refuses the journal. It would apply the definitions
    to every consumer.
    """

    affects: ClassVar[Affects] = Affects.NAMED

    consumer: str


class DefinitionRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="native"):
    """A definition that a native log holds in itself, first met at `at` (its entry's end).

    Changes name it by its table's id and `fp`, its fingerprint in hex digits.
    """

    affects: ClassVar[Affects] = Affects.ALL

    at: Position
    fp: str
    definition: TableDefinition
    source: str = "log"

    @property
    def key(self) -> str:
        """The definition's key, see `tailer.schema.record_definitions`."""
        return self.definition.id + self.fp


class StartRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="start"):
    """What a consumer knows of begins at `segment`: a transaction that began below is of an unknown history."""

    affects: ClassVar[Affects] = Affects.NAMED
    once: ClassVar[bool] = False

    consumer: str | None = None
    segment: int


class SegmentEndRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="segment_end"):
    """A segment is finished: up to `published` everything checked, and its log ends at `end` (both logical offsets).

    `finished` says how that was seen. With a `consumer` it rests on that consumer's option and holds for it alone.
    """

    affects: ClassVar[Affects] = Affects.NAMED_OR_ALL

    segment: int
    published: int
    end: int
    finished: str
    consumer: str | None = None


class RetractRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="retract"):
    """Record number `of` has no effect: an operator took it back."""

    affects: ClassVar[Affects] = Affects.ALL

    of: int


class SkipRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="skip"):
    """A consumer's decision not to decode the entry at `at`; `lost` bytes from there on are in quarantine.

    `table`: the id of the one table that they are of, which no definition named; empty where other tables' rows may be
    among them.
    """

    affects: ClassVar[Affects] = Affects.NAMED

    consumer: str | None = None
    at: Position
    reason: str
    lost: int
    table: str = ""


class ReplayedRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="replayed"):
    """The rows of an entry that stands in a consumer's quarantine were given; they are not given again."""

    affects: ClassVar[Affects] = Affects.NAMED
    pins: ClassVar[bool] = False

    consumer: str
    node: str
    at: Position


class LossRecord(
    Record, frozen=True, kw_only=True, omit_defaults=True, tag="loss", rename={"start": "from", "end": "to"}
):
    """A consumer accepted that what lies from `start` to `end` is gone."""

    affects: ClassVar[Affects] = Affects.NAMED

    consumer: str | None = None
    start: Position
    end: Position


class OptionsRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="options"):
    """The row-shaping options a consumer runs with from here on; its last record counts."""

    affects: ClassVar[Affects] = Affects.NAMED
    once: ClassVar[bool] = False

    consumer: str | None = None
    options: dict[str, Any]


class MasksRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="masks"):
    """What a consumer masks from here on, with the fingerprint of its key; its last record counts."""

    affects: ClassVar[Affects] = Affects.NAMED
    once: ClassVar[bool] = False
    pins: ClassVar[bool] = False

    consumer: str
    masks: Masks


class GenerationRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="generation"):
    """A consumer that fed an outlet was dropped: one of that name begins with this generation (`NodeState`)."""

    affects: ClassVar[Affects] = Affects.NAMED
    once: ClassVar[bool] = False
    pins: ClassVar[bool] = False

    consumer: str
    generation: int


class RecountRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="recount"):
    """A batch that ends at `at` and could not be read with its first `j` records never succeeded: it has `upto` now."""

    affects: ClassVar[Affects] = Affects.NAMED

    consumer: str | None = None
    at: Position
    j: int
    upto: int


class MemoryRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="memory"):
    """What a consumer's planner remembers of segments besides what it did; `anew`: what it did is forgotten.

    See `tailer.state.offset.Memory`. It decides no row of a batch that is planned.
    """

    affects: ClassVar[Affects] = Affects.NAMED
    once: ClassVar[bool] = False
    pins: ClassVar[bool] = False

    consumer: str
    node: str
    anew: bool = False
    seen: Ids = NO_IDS
    bare: Ids = NO_IDS
    holes: Ids = NO_IDS
    explained: Ids = NO_IDS
    not_seen: Ids = NO_IDS
    not_bare: Ids = NO_IDS
    not_holes: Ids = NO_IDS


class AppearedRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="appeared"):
    """A segment appeared below where a consumer began: its rows stand behind those of `behind`, the highest one then.

    `end`: its durable end then, 0 for none; None if it was finished. The first place and the first end above 0 count.
    A consumer that begins takes over what others saw (`tailer.planning.appeared.taken_over`).
    """

    affects: ClassVar[Affects] = Affects.NAMED

    consumer: str | None = None
    segment: int
    behind: int
    end: int | None


class OwnAppearedRecord(AppearedRecord, frozen=True, kw_only=True, omit_defaults=True, tag="own_appeared"):
    """What a client of `serve` saw appear that may not define for all. It counts for its consumer alone, and no other
    takes it over; a kind of its own for the reason of `OwnSchemaRecord`."""

    affects: ClassVar[Affects] = Affects.NAMED


class LearntRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="learnt"):
    """What a segment says of definitions is in the records before this one, as far as `of` tells.

    It saves work, and decides nothing.
    """

    affects: ClassVar[Affects] = Affects.ALL
    pins: ClassVar[bool] = False

    of: Learnt


class TimesRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="times"):
    """When the sections of a segment became durable, as far as it was seen; the last has what those before it had.

    It tells where somebody begins by a time, and decides nothing that is planned.
    """

    affects: ClassVar[Affects] = Affects.ALL
    once: ClassVar[bool] = False
    pins: ClassVar[bool] = False

    segment: int
    times: SegmentTimes


class RingRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="ring"):
    """What a node is the first replica of, from here on, as `source` told a consumer; its last record counts.

    Of the ring it is all that decides rows: a change elsewhere in the ring is none here.
    """

    affects: ClassVar[Affects] = Affects.NAMED
    once: ClassVar[bool] = False

    consumer: str
    node: str
    source: str
    primaries: Primaries


class CompactedRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="compacted"):
    """Records up to this one stand in `journal.base`, as far as they still count; the journal begins behind it."""

    affects: ClassVar[Affects] = Affects.ALL


class StateRecord(Record, frozen=True, kw_only=True, omit_defaults=True, tag="state"):
    """The state's random id. It has no number: what stands at which number it says nothing of."""

    affects: ClassVar[Affects] = Affects.ALL

    id: str


AnyRecord = (
    SchemaRecord | OwnSchemaRecord | DefinitionRecord | StartRecord | SegmentEndRecord | RetractRecord | SkipRecord
    | ReplayedRecord | LossRecord | OptionsRecord | MasksRecord | GenerationRecord | RecountRecord | MemoryRecord
    | AppearedRecord | OwnAppearedRecord | LearntRecord | TimesRecord | RingRecord | CompactedRecord | StateRecord
)  # fmt: skip

_DECODER: msgspec.json.Decoder[AnyRecord] = json_decoder(AnyRecord, from_texts_or_deltas)


def content(record: AnyRecord) -> bytes:
    """What makes two records equal: all but the number, and of definitions not who told them, or when; 16 bytes."""
    bare = msgspec.structs.replace(record, n=0)
    if isinstance(bare, SchemaRecord):
        bare = msgspec.structs.replace(bare, source="", asked=min(bare.asked, 1), learnt=0)
    return blake2b(msgspec.json.encode(bare, enc_hook=to_texts), digest_size=16).digest()


def encode(record: AnyRecord, begin: int = 0) -> bytes:
    """One line, newline included. `record.n` must be its number; `begin`: the first of its append, if that has more."""
    fields = msgspec.to_builtins(record, enc_hook=to_texts)
    head = {"n": record.n, "kind": fields.pop("kind"), **({"begin": begin} if begin else {})}
    body = msgspec.json.encode({**head, **fields})
    return b"%08x %s\n" % (crc32(body), body)


class Numbers(msgspec.Struct):
    """A line's own number, and the one at which the append of several records began that it is of; else 0."""

    n: int = 0
    begin: int = 0


def numbers_of(line: bytes, where: str) -> Numbers:
    """Of a line that checks. RefusedError as `decode`."""
    try:
        return decode_json(line[9:], Numbers)
    except UNDECODABLE as error:
        raise unknown_form(where, error) from None


def checks(line: bytes) -> bool:
    """Whether a line (without its newline) is whole: its CRC fits its text."""
    digits, blank, body = line[:8], line[8:9], line[9:]
    return blank == b" " and b"%08x" % crc32(body) == digits


def decode(line: bytes, where: str) -> AnyRecord:
    """The record of a line that checks. Raises RefusedError for a kind or shape that this version does not know."""
    try:
        return _DECODER.decode(line[9:])
    except UNDECODABLE as error:
        raise unknown_form(where, error) from None
