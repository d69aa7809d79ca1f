"""The state of images: in LMDB, in a Spark checkpoint, and in merged tables. Places of a console and of a service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from tailer.image_state import identity, snapshots
from tailer.image_state.file import ImageFile
from tailer.image_state.one_transaction import Transaction
from tailer.images.encoded import EncodedImages, JoinedImages
from tailer.images.facts import Copies
from tailer.images.facts import Fact as KnownFact
from tailer.images.image import Image
from tailer.images.marks import Mark
from tailer.images.merged_tables import MergedTables
from tailer.images.packed import Row, pack, unpack
from tailer.images.questions import Question, Questions
from tailer.images.settings import Settings
from tailer.images.store import number_of
from tailer.images.tables import TableFacts, Tables, definitions_in, remember
from tailer.position import Position
from tailer.rebuild import Table
from tailer.rebuild.facts import Fact, Kind, Stamp
from tailer.rebuild.pack import pack as pack_facts
from tailer.rebuild.pack import unpack as unpack_facts
from tailer.schema.model import TableDefinition
from tailer.schema.selection import Selection
from tailer.sinks.outlet import Place
from tailer.spark import merged
from tailer.spark.errors import CdcTailError, find_error, told
from tailer.spark.image_rows import RowState, state_of_row
from tailer.spark.images import bucket
from tailer.spark.images.calendar import Calendar, Entry
from tailer.spark.images.head import Head
from tailer.spark.images.head import Row as HeadRow
from tailer.spark.images.maps import Held
from tailer.spark.sinks import console
from tests.helpers.image_files import image
from tests.install.forms.form import Form, in_folder
from tests.install.forms.of_state import DEFINITION, SNAPSHOT
from writer_hooks.cap import read_dropped
from writer_hooks.disk import RealFiles
from writer_hooks.failed import read_failed, write_failed
from writer_hooks.newest_segment import read_newest, write_newest
from writer_hooks.places import Places
from writer_hooks.segment_ids import AHEAD, Ids

TABLE = Table.of(DEFINITION)
_END = Position(12, 340)
FACTS = TableFacts(TABLE, True, True, 7, 2, 5, 9)
NODE = identity.FollowedNode("5f4e", "{}", 3, True, 4, frozenset({"1" * 32}))
_FACT = KnownFact(int(Kind.CELL), "v", b"", b"\0\0\0\x07", 1_795, 60, 900)
ROW = Row(b"k", b"\0\0\0\x01", False, 2, 900, 5, 7, {_FACT: Copies((Mark(0, (12, 340)), Mark(1, (12, 7))), 8)}, [_FACT])
LOGGED = [Fact(Kind.CELL, Stamp(b"c", "n1", 12, 340, 1_795, 60, 900), "v", b"", b"\x07")]
IMAGES = [image("insert", None, {"v": 1}), image("delete", {"v": 1}, None)]
MERGED = merged.Merged(TABLE, {"n1": (12, 340)}, "string", "null", former=("2" * 32,))
MERGED_ROW = RowState(7, 1_795, True, b"\0\0\0\1", {"v": "1", "w": None})
KEPT_IMAGES = merged.KeptImages(TABLE, True, "string", "null", former=("2" * 32,), gone_seq=9)


class Bytes(dict[bytes, bytes]):
    """A map of Spark's state."""

    def put(self, key: bytes, value: bytes) -> None:
        self[key] = value

    def remove(self, key: bytes) -> None:
        self.pop(key, None)


def _about(key: str, write: Callable[[Transaction], Any]) -> Callable[[], bytes]:
    def written() -> bytes:
        def work(transaction: Transaction) -> bytes:
            write(transaction)
            found = transaction.about(key)
            assert found is not None, key
            return found

        with TemporaryDirectory() as folder, ImageFile(Path(folder), first_bytes=1 << 20) as file:
            return file.write(work)

    return written


def _read_about(key: str, read: Callable[[Transaction], Any]) -> Callable[[bytes], Any]:
    def reads(data: bytes) -> Any:
        def work(transaction: Transaction) -> Any:
            transaction.put_about(key, data)
            return read(transaction)

        with TemporaryDirectory() as folder, ImageFile(Path(folder), first_bytes=1 << 20) as file:
            return file.write(work)

    return reads


def _within_state(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """As who has the file of images sees it."""

    def reads(data: bytes) -> Any:
        with TemporaryDirectory() as folder, ImageFile(Path(folder), first_bytes=1 << 20) as file:
            return file.read(lambda _: read(data))

    return reads


def _within_spark(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """As a task of Spark's tells of it."""

    def reads(data: bytes) -> Any:
        try:
            with told():
                return read(data)
        except CdcTailError as error:
            found = find_error(str(error))
            assert found is not None
            raise found from error

    return reads


class Metas(dict[bytes, bytes]):
    """A store of which only what is kept of the whole is asked."""

    def meta(self, key: bytes) -> bytes | None:
        return self.get(key)

    def put_meta(self, key: bytes, value: bytes) -> None:
        self[key] = value

    def metas(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        return [each for each in sorted(self.items()) if each[0].startswith(prefix)]


def _meta(write: Callable[[Any], Any]) -> Callable[[], bytes]:
    def written() -> bytes:
        store = Metas()
        write(store)
        *_, value = store.values()
        return value

    return written


def _read_meta(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Callable[[bytes], Any]:
    def reads(data: bytes) -> Any:
        store = Metas()
        write(store)
        *_, key = store
        store[key] = data
        return read(store)

    return reads


def _keep_table(store: Any) -> None:
    Tables(store).keep(FACTS)


def _redefine(store: Any) -> None:
    remember(store, DEFINITION, DEFINITION, 9)


def _number(store: Any) -> Sequence[str]:
    return MergedTables(store, ["n1", "n2"], Settings(7)).nodes


def _ask(store: Any) -> None:
    Questions(store).ask(Question("1" * 32, b"p", b"k", b"c"), 7, 2)


def _outbox() -> bytes:
    images = EncodedImages()
    images.add(IMAGES)
    return images.joined()


def _packed_again(data: bytes) -> bytes:
    return pack(unpack(b"k", data))


def _head() -> bytes:
    head = Head(b"p", None, Held(Bytes()), Held(Bytes()))
    head.put(b"k", HeadRow(7, b"value"))
    packed = head.flush()
    assert packed is not None
    return packed


def _read_head(data: bytes) -> list[tuple[bytes, HeadRow]]:
    return list(Head(b"p", data, Held(Bytes()), Held(Bytes())).between(b"", b"\xff"))


def _calendar(chunk: bool) -> bytes:
    dues = Bytes()
    held = Held(dues)
    calendar = Calendar(held, b"d", None, lambda entry: True)
    calendar.add(Entry(7, b"p", b"k"))
    slots = calendar.flush()
    held.flush()
    return next(iter(dues.values())) if chunk else slots


def _read_calendar(data: bytes) -> tuple[int | None, list[Entry]]:
    dues = Bytes()
    held = Held(dues)
    again = Calendar(held, b"d", None, lambda entry: True)
    again.add(Entry(7, b"p", b"k"))
    again.flush()
    found = Calendar(held, b"d", data, lambda entry: True)
    return found.least, found.due(100)


def _read_chunk(data: bytes) -> list[Entry]:
    dues = Bytes()
    held = Held(dues)
    calendar = Calendar(held, b"d", None, lambda entry: True)
    calendar.add(Entry(7, b"p", b"k"))
    slots = calendar.flush()
    held.flush()
    dues.update(dict.fromkeys(dues, data))
    return Calendar(Held(dues), b"d", slots, lambda entry: True).due(100)


def _bucket() -> bytes:
    return bucket.encode_about(
        bucket.About(bucket.VERSION, 7, frozenset({"n1"}), frozenset({"n1"}), True, {"n1": (1, 2)})
    )


def _service(name: str, write: Callable[[RealFiles, Places], Any]) -> Callable[[], bytes]:
    def written() -> bytes:
        with TemporaryDirectory() as folder:
            places = Places(Path(folder))
            for each in (places.commitlog, places.cdc_raw):
                each.mkdir()
            write(RealFiles(), places)
            return (Path(folder) / name).read_bytes()

    return written


def _read_service(name: str, read: Callable[[RealFiles, Places], Any]) -> Callable[[bytes], Any]:
    return in_folder(name, lambda folder: read(RealFiles(), Places(folder)))


def _high(files: RealFiles, places: Places, used: list[int]) -> int:
    ids = Ids(files, places.high, 1, used)
    return ids.take()


_STATE = "a consumer's [images]"
_BUCKET = "the state of [images in Spark]"
_MERGED = "a table of `DeltaMerge`"
OF_IMAGES = (
    Form(
        "image_identity", _STATE, identity.VERSION,
        lambda: msgspec.json.encode(identity.Identity("0a", "billing", 7, "", identity.VERSION)),
        _read_about("identity", lambda seen: identity.read_identity(seen, "images")), (identity.Identity,),
        frozenset({"tokens", "v"}),
    ),
    Form(
        "image_node", _STATE, identity.VERSION,
        _about("node/n1", lambda seen: identity.put_node(seen, "n1", NODE)),
        _read_about("node/n1", identity.nodes_of), (identity.FollowedNode,),
        frozenset({"left", "joins"}),
    ),
    Form(
        "image_selection", _STATE, identity.VERSION,
        _about("selection", lambda seen: identity.put_selection(seen, Selection(("shop.*",), ("shop.a",)))),
        _read_about("selection", identity.selection_of), (Selection,),
    ),
    Form(
        "image_place", _STATE, identity.VERSION,
        _about("place/n1", lambda seen: identity.put_place(seen, "n1", Place("{}", 2))),
        _read_about("place/n1", lambda seen: identity.place_of(seen, "n1")), (Place,),
    ),
    Form(
        "image_snapshot", _STATE, identity.VERSION,
        _about("snapshot/" + "1" * 32, lambda seen: snapshots.put_snapshot(seen, SNAPSHOT)),
        _read_about("snapshot/" + "1" * 32, snapshots.snapshots_in), (type(SNAPSHOT),),
    ),
    Form(
        "image_table", _STATE, identity.VERSION, _meta(_keep_table),
        _within_state(_read_meta(_keep_table, lambda store: [each.facts for each in Tables(store)])), (TableFacts,),
    ),
    Form(
        "image_definition", _STATE, identity.VERSION, _meta(_redefine),
        _within_state(_read_meta(_redefine, lambda store: definitions_in(store, DEFINITION.id))), (TableDefinition,),
    ),
    Form("image_nodes", _STATE, identity.VERSION, _meta(_number), _within_state(_read_meta(_number, _number))),
    Form(
        "image_question", _STATE, identity.VERSION, _meta(_ask),
        _within_state(_read_meta(_ask, lambda store: list(Questions(store).open()))), (tuple[Question, int, int],),
    ),
    Form(
        "image_number", _STATE, identity.VERSION, lambda: (7).to_bytes(8, "big"), _within_state(number_of),
        accepts=frozenset({b'"\xff\xfe\xfd\xfc"\n\n'}),
    ),
    Form("image_row", _STATE, identity.VERSION, lambda: pack(ROW), _within_state(_packed_again)),
    Form("outbox", _STATE, identity.VERSION, _outbox, _within_state(lambda data: JoinedImages(data).images), (Image,)),
    Form("bucket", _BUCKET, bucket.VERSION, _bucket, _within_spark(bucket.known_about), (bucket.About,)),
    Form("bucket_partition", _BUCKET, bucket.VERSION, _head, _within_spark(_read_head), (HeadRow,)),
    Form("bucket_slots", _BUCKET, bucket.VERSION, lambda: _calendar(False), _within_spark(_read_calendar)),
    Form("bucket_entries", _BUCKET, bucket.VERSION, lambda: _calendar(True), _within_spark(_read_chunk), (Entry,)),
    Form(
        "merged_table", _MERGED, merged.VERSION, lambda: merged.pack_merged(MERGED),
        lambda data: merged.unpack_merged(data, "/lake/orders"), (merged.Merged,),
    ),
    Form(
        "merged_images", _MERGED, merged.VERSION, lambda: merged.pack_merged(KEPT_IMAGES),
        lambda data: merged.unpack_images(data, "/lake/orders"), (merged.KeptImages,),
    ),
    Form(
        "merged_row", _MERGED, merged.VERSION, lambda: msgspec.msgpack.encode(MERGED_ROW),
        _within_spark(state_of_row), (RowState,),
    ),
    Form("merged_facts", _MERGED, merged.VERSION, lambda: pack_facts(LOGGED), _within_spark(unpack_facts)),
    Form(
        "console", "the console's place", console.VERSION, lambda: console.written(7),
        in_folder(console.WRITTEN, lambda folder: console.last_written(folder / console.WRITTEN)),
        accepts=frozenset({b"7"}),
    ),
    Form(
        "newest", "the newest segment of such a log", 1,
        _service("cdc_raw/NEWEST", lambda files, places: write_newest(files, places, 7)),
        _read_service("cdc_raw/NEWEST", read_newest), accepts=frozenset({b"7"}),
    ),
    Form(
        "high", "ids, damage and drops of such a log", 1,
        _service("commitlog/HIGH", lambda files, places: _high(files, places, [])),
        _read_service("commitlog/HIGH", lambda files, places: _high(files, places, [3]) - AHEAD),
        accepts=frozenset({b"7"}),
    ),
    Form(
        "failed", "ids, damage and drops of such a log", 1,
        _service("commitlog/FAILED", lambda files, places: write_failed(files, places.failed, "run", _END)),
        _read_service("commitlog/FAILED", lambda files, places: read_failed(files, places.failed, "run")),
    ),
    Form(
        "dropped", "ids, damage and drops of such a log", 1, lambda: b"7\n",
        _read_service("cdc_raw/DROPPED", read_dropped), accepts=frozenset({b"7"}),
    ),
)  # fmt: skip
