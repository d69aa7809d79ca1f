"""A log with values that nobody may see, in every place where a row repeats a value; and what stands for them."""

from __future__ import annotations

import hmac
from pathlib import Path
from uuid import UUID

from tests.helpers.log_writer import (
    TS,
    Bound,
    Cell,
    Column,
    Complex,
    Deletion,
    Liveness,
    LogFolder,
    Marker,
    Mutation,
    Row,
    SegmentWriter,
    Table,
    Update,
    completed,
    create_payload,
    encode_mutation,
    i32,
    segment_of,
)

FIRST = 1_700_000_000_001
SECRET = b"0123456789abcdef-of-a-test"
NAME = "ks.people"
NOW = 1_700_000_000
ELEMENT = bytes(range(16))

PEOPLE = Table(
    UUID(int=9 << 64 | 0x11EE << 48 | 0x8888),
    "ks",
    "people",
    (
        Column("pk", "partition_key", "text", 0),
        Column("part", "partition_key", "int", 1),
        Column("ck", "clustering", "text", 0),
        Column("at", "clustering", "int", 1),
        Column("card", "regular", "text"),
        Column("gone", "regular", "text"),
        Column("m", "regular", "map<text, text>"),
        Column("names", "regular", "set<text>"),
        Column("notes", "regular", "list<text>"),
        Column("null_m", "regular", "map<text, text>"),
        Column("number", "regular", "int"),
        Column("plain", "regular", "text"),
        Column("s", "static", "text"),
    ),
)
MASKS = {
    "pk": "hash", "ck": "hash", "s": "hash", "number": "hash", "m": "hash", "names": "hash", "notes": "hash",
    "card": "last4", "null_m": "null",
}  # fmt: skip

NUMBER = 987654321
CLEAR = (
    "clear-pk", "clear-ck", "clear-static", "clear-gone", "clear-key", "clear-value", "clear-name", "clear-removed",
    "clear-note", "clear-nullkey", "clear-nullvalue", "clear-card", str(NUMBER),
)  # fmt: skip
"""None of these may come out."""


def hashed(value: bytes, secret: bytes = SECRET) -> str:
    return hmac.new(secret, value, "sha256").hexdigest()


def key_of(pk: str, part: int) -> bytes:
    return b"".join(len(each).to_bytes(2, "big") + each + b"\0" for each in (pk.encode(), i32(part)))


def element(path: bytes, value: bytes, ts: int = TS, ttl: int | None = None) -> Cell:
    """Of a collection; with a TTL it differs from its row, so that `cells` names it too."""
    return Cell(value, ts, ttl, None if ttl is None else NOW + ttl, path=path)


def mutations() -> list[Mutation]:
    """A row with all columns, deletions of elements, and two ranges."""
    whole = Complex((element(b"clear-key", b"clear-value", TS + 1, 60),), Deletion(TS - 1, NOW))
    cells: tuple[tuple[str, Cell | Complex], ...] = (
        ("card", Cell(b"clear-card-1234", TS)),
        ("gone", Cell(b"clear-gone", TS + 5)),
        ("m", whole),
        ("names", Complex((element(b"clear-name", b"", TS + 2),))),
        ("notes", Complex((element(ELEMENT, b"clear-note"),))),
        ("null_m", Complex((element(b"clear-nullkey", b"clear-nullvalue", TS + 3),))),
        ("number", Cell(i32(NUMBER), TS)),
        ("plain", Cell(b"seen", TS)),
    )
    row = Row((b"clear-ck", i32(1)), Liveness(TS), None, cells)
    static = Row((), None, None, (("s", Cell(b"clear-static", TS)),))
    removed = Complex((Cell(ts=TS + 9, deleted=NOW, path=b"clear-removed"),))
    later = Row((b"clear-ck", i32(1)), None, None, (("m", removed), ("names", removed)))
    deletion = (Deletion(TS + 10, NOW),)
    told = Marker(Bound.INCL_START, (b"clear-ck", i32(3)), deletion), Marker(Bound.INCL_END, (b"clear-ck",), deletion)
    untold = Marker(Bound.EXCL_START, (b"clear-ck",), deletion), Marker(Bound.INCL_END, (), deletion)
    key = key_of("clear-pk", 7)
    return [
        (Update(PEOPLE, key, (row,), static),),
        (Update(PEOPLE, key, (later,)),),
        (Update(PEOPLE, key, told),),
        (Update(PEOPLE, key, untold),),
        (Update(PEOPLE, key, (), None, Deletion(TS + 20, NOW)),),
    ]


def people_segment(segment: int = FIRST) -> SegmentWriter:
    return segment_of(segment, [[create_payload(PEOPLE)], [encode_mutation(each) for each in mutations()]])


def people_log(path: Path) -> LogFolder:
    folder = LogFolder(path)
    writer = people_segment()
    folder.put(writer, completed(writer))
    return folder


def key_file(path: Path, secret: bytes = SECRET) -> Path:
    path.write_bytes(secret + b"\n")
    path.chmod(0o600)
    return path


def mask_words(key: Path) -> list[str]:
    """The options of all masks."""
    words = [word for column, how in MASKS.items() for word in ("--mask", f"{NAME}.{column}={how}")]
    return [*words, "--exclude", f"{NAME}.gone", "--mask-key", str(key)]
