"""The files of a state folder, of an archive, and of a folder of data files."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import get_args
from zlib import crc32

import msgspec

from tailer.archive import manifest
from tailer.image_state import asked, mend_requests
from tailer.position import Position
from tailer.schema.masks import ColumnMask, Masks
from tailer.schema.model import Column, TableDefinition
from tailer.schema.ring import Primaries
from tailer.schema.rows import SchemaDelta
from tailer.shipping import shippers
from tailer.snapshot import spool
from tailer.snapshot.progress import Snapshot
from tailer.state import (
    cleaned,
    consumers,
    holds,
    journal_base,
    lease_file,
    quarantine,
    waiting,
)
from tailer.state import journal_records as kinds
from tailer.state.folder_journal import FolderJournal
from tailer.state.ids import Ids
from tailer.state.learnt import Learnt
from tailer.state.offset import Memory, NodeOffset
from tailer.state.segment_times import SegmentTimes
from tailer.stores.folder_store import FolderStore
from tests.install.forms.form import Form, from_folder, in_folder

OFFSET = NodeOffset(3, 12, 340, False, ((10, 0), (11, 99)), "5f4e0a1b2c3d4e5f")
AT = Position(12, 340)
DEFINITION = TableDefinition(
    "1" * 32,
    "shop",
    "orders",
    (Column("id", "partition_key", "int", 0), Column("at", "clustering", "text", 0), Column("v", "regular", "int")),
    cdc=True,
)
CONSUMER = consumers.ConsumerFile(
    "billing",
    {
        "n1": consumers.NodeState(
            OFFSET,
            Memory(5, 14, lost_below=4, last_with_sidecar=12, upto=3),
            (12, 300),
            NodeOffset(s=5),
            (consumers.Mark(NodeOffset(3, 13, 0), Memory(5, 15), (13, 0)),),
            Learnt(12, 340, 340, j=3),
            2,
        )
    },
    consumers.VERSION,
    1_795_258_311.5,
    "cdc-tail follow",
    "db1",
)
CLEANED = cleaned.CleanedFile(
    segments=Ids([(5, 7), (9, 9)]), bare=Ids([(8, 8)]), lost={"billing": Ids([(6, 6)])}, forgotten=4
)
KEPT = quarantine.Kept("n1", 12, 340, "CommitLog-7-12.log", 3, "no definition", "00ff", row=1, tables=("shop.orders",))
RECORDS: tuple[kinds.AnyRecord, ...] = (
    kinds.SchemaRecord(at=AT, source="log", deltas=(SchemaDelta("tables", "shop", ("orders",), liveness=7),), size=9),
    kinds.OwnSchemaRecord(at=AT, source="file a.cql", deltas=(SchemaDelta("tables", "shop"),), consumer="billing"),
    kinds.DefinitionRecord(at=AT, fp="0a", definition=DEFINITION),
    kinds.StartRecord(consumer="billing", segment=5),
    kinds.SegmentEndRecord(segment=12, published=300, end=340, finished="completed"),
    kinds.RetractRecord(of=1),
    kinds.SkipRecord(consumer="billing", at=AT, reason="no definition", lost=9, table="2" * 32),
    kinds.ReplayedRecord(consumer="billing", node="n1", at=AT),
    kinds.LossRecord(consumer="billing", start=Position(5, 0), end=AT),
    kinds.OptionsRecord(consumer="billing", options={"tables": ["shop.orders"]}),
    kinds.MasksRecord(consumer="billing", masks=Masks((ColumnMask("shop.orders", "v", "null"),), (), "ab")),
    kinds.GenerationRecord(consumer="billing", generation=2),
    kinds.RecountRecord(consumer="billing", at=AT, j=3, upto=5),
    kinds.MemoryRecord(consumer="billing", node="n1", anew=True, seen=Ids([(13, 14)]), holes=Ids([(6, 8)])),
    kinds.LearntRecord(of=Learnt(12, 340, 340)),
    kinds.TimesRecord(segment=12, times=SegmentTimes(((340, 7.5),), 8.5)),
    kinds.AppearedRecord(consumer="billing", segment=7, behind=14, end=340),
    kinds.OwnAppearedRecord(consumer="x-billing", segment=7, behind=14, end=340),
    kinds.RingRecord(consumer="billing", node="n1", source="server 10.0.0.1", primaries=Primaries()),
    kinds.CompactedRecord(),
    kinds.StateRecord(id="5f4e0a1b2c3d4e5f"),
)
"""One of each kind."""
MANIFEST = manifest.Manifest(
    12,
    manifest.ArchivedFile("CommitLog-7-12.log", 340, "aa"),
    None,
    340,
    300,
    manifest.ArchivedFile("journal-3", 20, "bb"),
    3,
    7.5,
    11,
)
SNAPSHOT = Snapshot("abc", "shop.orders", "1" * 32, 5, 1, [(0, 10)], [(0, 5)], 2, 3, 4, 0.5)
SHIPPER = shippers.ShipperFile("lake", "files:/lake", {"n1": shippers.Sent(0, 7, "cc")}, 7.5, "db1")
_ID = "5f4e0a1b2c3d4e5f"


def _journal_body() -> bytes:
    """The text of one line of each kind, without its checksum."""
    lines = [kinds.encode(msgspec.structs.replace(record, n=number)) for number, record in enumerate(RECORDS, 1)]
    return b"\n".join(line.rstrip(b"\n")[9:] for line in lines)


def _read_bodies(data: bytes) -> list[kinds.AnyRecord]:
    return [kinds.decode(line(body).rstrip(b"\n"), "journal") for body in data.split(b"\n")]


def line(body: bytes) -> bytes:
    return b"%08x %s\n" % (crc32(body), body)


def _journal() -> bytes:
    ends = [kinds.SegmentEndRecord(n=n, segment=n, published=1, end=2, finished="completed") for n in (1, 2, 3)]
    return kinds.encode(kinds.StateRecord(id=_ID)) + b"".join(kinds.encode(end) for end in ends)


def _read_journal(folder: Path) -> list[kinds.AnyRecord]:
    return list(FolderJournal(folder, writable=False).read())


def _base(folder: Path) -> None:
    base = journal_base.Base(id=_ID, upto=4, segment=5, j=3)
    journal_base.write_base(folder, base, [kinds.SegmentEndRecord(n=2, segment=7, published=1, end=2, finished="x")])


def _spool() -> bytes:
    now = spool.Spooled(spool.VERSION, "0a1b2c3d4e5f", "n1=1:0", {"1" * 32: SNAPSHOT}, 3, (7, 9))
    return msgspec.json.encode(now)


def _mend() -> bytes:
    row = mend_requests.MendRow(b"\0\0\0\x01", b"k", b"c")
    return msgspec.json.encode(mend_requests.MendRequest(mend_requests.VERSION, "1" * 32, (row,)))


def _read_mend(folder: Path) -> list[mend_requests.MendRequest]:
    path = folder / "mend-1.json"
    data = path.read_bytes()
    path.write_bytes(blake2b(data, digest_size=16).hexdigest().encode() + b"\n" + data)
    return [found for _, found in mend_requests.requests(folder)]


OF_STATE = (
    Form(
        "consumer", "a consumer,", consumers.VERSION,
        from_folder("consumers/*.json", lambda state: consumers.write_consumer(state, CONSUMER)),
        in_folder("billing.json", lambda state: consumers.read_consumer(state / "billing.json", "billing")),
        (consumers.ConsumerFile,), frozenset({"v", "moved", "program", "host"}),
    ),
    Form(
        "cleaned", "`cleaned.json`", cleaned.VERSION,
        from_folder("cleaned.json", lambda state: cleaned.write_cleaned(state, CLEANED)),
        in_folder("cleaned.json", cleaned.read_cleaned),
        (cleaned.CleanedFile,), frozenset({"bare", "lost", "forgotten"}),
    ),
    Form(
        "quarantine", "`quarantine/", quarantine.VERSION,
        lambda: msgspec.json.encode(KEPT) + b"\n",
        in_folder("a.jsonl", lambda folder: list(quarantine.whole_records(folder / "a.jsonl"))),
        (quarantine.Kept,), frozenset({"v", "row", "tables"}), torn=True,
    ),
    Form(
        # A new kind is a new version: an earlier program refuses it.
        "journal_records", "`journal`", len(get_args(kinds.AnyRecord)), _journal_body, _read_bodies, (kinds.AnyRecord,),
    ),
    Form("journal", "`journal`", 1, _journal, in_folder("journal", _read_journal), torn=True),
    Form(
        "journal_base", "`journal.base`", journal_base.VERSION, from_folder("journal.base", _base),
        in_folder("journal.base", journal_base.read_base), (journal_base.Base,),
    ),
    Form(
        "manifest", "an archive,", manifest.VERSION, lambda: msgspec.json.encode(MANIFEST),
        in_folder(
            f"{_ID}/12/manifest.json", lambda folder: manifest.read_manifest(FolderStore(folder), _ID, 12)
        ),
        (manifest.Manifest,), frozenset({"previous"}), code=4,
    ),
    Form(
        "hold", "the hold of a batch read", holds.VERSION,
        lambda: msgspec.json.encode(holds.HoldFile("n1", 12, 1e12, 1, "cdc-tail", "db1", 7)),
        in_folder("consumers/read-x.hold", lambda state: holds.read_holds(state, 0)), (holds.HoldFile,),
    ),
    Form(
        "lease", "how often a name was taken", lease_file.VERSION,
        from_folder(
            "consumers/*.lease",
            lambda state: lease_file.write_lease(
                state, "billing", lease_file.LeaseFile(3, "reader", client="spark")
            ),
        ),
        in_folder("consumers/billing.lease", lambda state: lease_file.read_lease(state, "billing")),
        (lease_file.LeaseFile,),
    ),
    Form(
        "waiting", "tables whose images wait", waiting.VERSION,
        from_folder(
            "consumers/*.waiting",
            lambda state: waiting.write_waiting(
                state, "billing", [waiting.WaitingTable("shop.orders", 3, 7.5, "no key")]
            ),
        ),
        in_folder("consumers/billing.waiting", lambda state: waiting.waiting_of(state, "billing")),
        (waiting.WaitingTable,),
    ),
    Form(
        "mend", "rows that [`compare --mend`]", mend_requests.VERSION, _mend, in_folder("mend-1.json", _read_mend),
        (mend_requests.MendRequest,),
    ),
    Form(
        "snapshot_asked", "a snapshot that is asked for", asked.VERSION,
        lambda: msgspec.json.encode(asked.Asked("0a", ("shop.orders",))),
        in_folder("snapshot.asked", asked.take), (asked.Asked,), frozenset({"v"}),
    ),
    Form(
        "snapshot_reply", "a snapshot that is asked for", asked.VERSION,
        lambda: msgspec.json.encode(asked.Reply("0a", ("1" * 32,), "")),
        in_folder("snapshot.reply", lambda folder: asked.replied(folder, asked.Asked("0a"))),
        (asked.Reply,), frozenset({"v"}),
    ),
    Form(
        "spool", "the spool of a query's", spool.VERSION, _spool,
        in_folder("spool.json", lambda folder: spool.Spool(folder).now), (spool.Spooled,),
    ),
    Form(
        "shipper", "a shipper,", shippers.VERSION, lambda: msgspec.json.encode(SHIPPER),
        in_folder(".cdc_tail/consumers/lake.json", shippers.registered), (shippers.ShipperFile,),
    ),
)  # fmt: skip
