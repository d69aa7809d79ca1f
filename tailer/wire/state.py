"""The state of a node as its readers ask for it: consumers, records of the journal, holds. Values only."""

from __future__ import annotations

from typing import Any

import msgspec

from tailer.state.consumers import ConsumerFile
from tailer.state.ids_json import from_texts_or_deltas, to_texts
from tailer.state.journal_base import Base
from tailer.state.journal_records import AnyRecord
from tailer.state.quarantine import Kept
from tailer.typed_decode import decode_json


class PutConsumer(msgspec.Struct, frozen=True, omit_defaults=True):
    """`PUT /consumers/NAME`: take the name, renew it, and with `file` say where it stands.

    `reader`: the random name that this reader gave itself. `version`: of its lease, 0 to take one. `registers`: the
    consumer begins here; refused (`cleaned`) where the list of cleaned segments is not the one of the tag `cleaned_tag`
    any more, for a place may have been found that is gone. `away`: since when and why its target cannot be reached,
    empty once it can be again, None says nothing of it. `gives_back`: the name is free from now on. `program`, `host`:
    for who asks who holds it.
    """

    reader: str
    version: int = 0
    file: ConsumerFile | None = None
    registers: bool = False
    cleaned_tag: str = ""
    away: str | None = None
    gives_back: bool = False
    program: str = ""
    host: str = ""


class LeaseAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A name is the reader's for so many seconds from its last request on. `file`: what stands of it, when taken.

    `defines_for_all`: whether schema records of this client that name no consumer are taken.

    Who only asks (`GET`) gets the version of the last taking, how long that lasts yet, the file, and in `held` who has
    the name now, in words; none for nobody.
    """

    version: int
    seconds: float
    file: ConsumerFile | None = None
    id: str = ""
    held: str = ""
    defines_for_all: bool = False


class ConsumersAnswer(msgspec.Struct, frozen=True):
    """`GET /consumers`: by name, those that who asks may have."""

    consumers: dict[str, LeaseAnswer]


class RecordsAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """`GET /records?from=j`: the records behind number `j`. `anew`: those from the base on, whatever was known.

    `&base=B`: who asks reads the records of the base whose `upto` is B, and `from` may be a number among them. Without
    it a base comes in one answer, however long.

    `count`: the number of the newest there is; `more`: there are records behind the last one given.
    """

    id: str
    count: int
    base: Base
    records: list[AnyRecord]
    anew: bool = False
    more: bool = False


class PostRecords(msgspec.Struct, frozen=True, omit_defaults=True):
    """`POST /records`: append, where the journal has `expected` records, or these stand behind as many already.

    What affects `consumer` alone is written under its lease, and so are definitions from elsewhere than the log, in its
    name, or for every consumer by clients that have the right. What the log says is asked for: the node reads its log
    itself, and says the numbers under which it has it.
    """

    expected: int
    records: list[AnyRecord]
    consumer: str = ""


class Numbers(msgspec.Struct, frozen=True):
    """The numbers of the records that were posted, in their order."""

    numbers: list[int]


class PostKept(msgspec.Struct, frozen=True):
    """`POST /consumers/NAME/quarantine`: entries that could not be delivered."""

    entries: list[Kept]


class PutHold(msgspec.Struct, frozen=True, omit_defaults=True):
    """`PUT /holds/NAME`: what is from `segment` on stays for `seconds`. `program` and `host` say who reads."""

    node: str
    segment: int
    seconds: float
    program: str = ""
    host: str = ""


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an answer of 400 and more says. `error`: the word that a program goes by; the others are for people.

    `code`: the exit code of the error where it is one of `tailer.errors`. `segment` and `offset`: where.
    """

    error: str
    what: str
    code: int = 0
    expected: str | None = None
    found: str | None = None
    remedy: str = ""
    segment: int | None = None
    offset: int | None = None
    after: float | None = None


def encode(value: Any) -> bytes:
    """JSON of one of these."""
    return msgspec.json.encode(value, enc_hook=to_texts)


def decode(data: bytes, form: type[Any]) -> Any:
    """One of these from its JSON. msgspec.ValidationError, msgspec.DecodeError for anything else."""
    return decode_json(data, form, from_texts_or_deltas)
