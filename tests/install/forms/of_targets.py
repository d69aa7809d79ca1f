"""What targets keep of positions: in rows and topics, in commits, and beside data files. And offsets of Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from tailer.planning.two_positions import offset_of_text, offset_text
from tailer.shipping import to_outlet
from tailer.sinks.database import tables_kept, waiting
from tailer.sinks.database.columns import TargetForm
from tailer.sinks.database.sqlite import SqliteStore
from tailer.sinks.deltalake import place_text as delta
from tailer.sinks.files import index
from tailer.sinks.in_force import Version
from tailer.sinks.kafka import place_text as kafka
from tailer.sinks.outlet import OutletKey, Place
from tailer.spark.offsets import SnapshotOffset, SourceOffset, decode_offset
from tailer.state import offset
from tailer.tail import numbered
from tailer.tail.images.delivery import ImagePlace
from tailer.tail.snapshot.pieces import PiecePlace
from tests.install.forms.form import Form
from tests.install.forms.of_state import DEFINITION, OFFSET

KEY = OutletKey("5f4e", "n1", "billing")
INDEX = index.Index(
    7, "data-000000000007.jsonl", 3, 99, "aa", "bb", "rows", None,
    (index.TableRows("shop.orders", "1" * 32, 3, DEFINITION, (Version((5, 0), DEFINITION),)),),
    msgspec.Raw(offset_text(OFFSET).encode()), 2, index.Key(*KEY), 7.5, images=True,
)  # fmt: skip
LIFE = tables_kept.KeptLife(
    "shop.orders", "1" * 32, "{table}", base="orders", keepers=(KEY,), left={"2" * 32: (KEY,)}, definition=DEFINITION,
    passed=("aa", "bb"), at={"billing": 1}, version=tables_kept.VERSION,
)  # fmt: skip
SPARK = SourceOffset(7, {"n1": OFFSET}, {"n2": "0a"}, SnapshotOffset("0b", 3))
IMAGE = {"op": "insert", "after": '{"v":1}', "seq": 9}


def _place(form: type[Any], what: str) -> Callable[[bytes], Any]:
    return lambda data: numbered.place_in(Place(_text(data)), form, "sqlite:changes.db", what)


def _text(data: bytes) -> str:
    """As a target gives it: a text, whatever its bytes were."""
    return data.decode("utf-8", "replace")


def _store(folder: str) -> SqliteStore:
    store = SqliteStore(Path(folder) / "a.db", TargetForm((), ()))
    store.connect()
    store.begin()
    return store


def _written(write: Callable[[SqliteStore], None], asked: str) -> bytes:
    with TemporaryDirectory() as folder, closing(_store(folder)) as store:
        write(store)
        return str(store.ask(asked)[0][0]).encode()


def _with(write: Callable[[SqliteStore], None], change: str, read: Callable[[SqliteStore], Any], data: bytes) -> Any:
    with TemporaryDirectory() as folder, closing(_store(folder)) as store:
        write(store)
        store.run(change, (data.decode("utf-8", "replace"),))
        return read(store)


def _keep_life(store: SqliteStore) -> None:
    tables = tables_kept.TablesKept(store, "")
    tables.make()
    tables.put("orders", LIFE)


def _lives(store: SqliteStore) -> list[Any]:
    tables = tables_kept.TablesKept(store, "")
    tables.read()
    return list(tables)


def _let_wait(store: SqliteStore) -> None:
    waiting.Waiting(store, "orders", KEY, lambda: 7.5).put("shop.orders", "no key", [IMAGE])


def _waiting(store: SqliteStore) -> list[Any]:
    found = waiting.Waiting(store, "orders", KEY)
    found.stopped()
    return found.take("shop.orders")


def _delta(data: bytes) -> Any:
    history = [{delta.FIELD: _text(data)}]
    # A commit that does not name the consumer is another one's: the outlet refuses a table that has none of its own.
    return delta.other_images(history, OutletKey("5f4e", "images", "other")), delta.find(history, delta.app_of(KEY), 7)


def _spark_offset(data: bytes) -> SourceOffset:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        # Spark reads the text, and refuses what is no JSON before we see it.
        found = data.decode("latin-1")
    return decode_offset(found)


OF_TARGETS = (
    Form(
        "position", "the place that an [outlet]", offset.VERSION, lambda: offset_text(OFFSET).encode(),
        lambda data: offset_of_text(_text(data), "sqlite:changes.db"), (offset.NodeOffset,), frozenset({"v", "id"}),
    ),
    Form(
        "position_in_kafka", "the place that an [outlet]", kafka.VERSION,
        lambda: kafka.value_bytes(Place(offset_text(OFFSET), 2)),
        lambda data: kafka.place_of(data, "topic cdc-tail-positions"), (Place,),
    ),
    Form(
        "position_in_delta", "the place that an [outlet]", delta.VERSION,
        lambda: delta.text_of(delta.app_of(KEY), 7, Place(offset_text(OFFSET), 2)).encode(),
        _delta,
        (delta.Numbered,), frozenset({"v"}),
    ),
    Form(
        "place_of_images", "the place of images", numbered.VERSION, lambda: ImagePlace(7).place.offset.encode(),
        _place(ImagePlace, "images"), (ImagePlace,), frozenset({"v"}),
    ),
    Form(
        "place_of_pieces", "the place of images", numbered.VERSION,
        lambda: PiecePlace("0a", 7).place.offset.encode(), _place(PiecePlace, "a snapshot"), (PiecePlace,),
        frozenset({"v"}),
    ),
    Form(
        "place_of_a_shipper", "the place of images", to_outlet.VERSION,
        lambda: to_outlet.At(7, 3, False).place.offset.encode(),
        lambda data: to_outlet.at_of(Place(_text(data)), "sqlite:changes.db"), (to_outlet.At,), frozenset({"v"}),
    ),
    Form(
        "index", "the index of a [data file]", index.VERSION, INDEX.encode,
        lambda data: index.decode(data, Path("data-000000000007.idx.json")), (index.Index,), frozenset({"images"}),
    ),
    Form(
        "tables_kept", "tables that [`--mode table`]", tables_kept.VERSION,
        lambda: _written(_keep_life, "SELECT known FROM cdc_tail_tables"),
        lambda data: _with(_keep_life, "UPDATE cdc_tail_tables SET known = ?", _lives, data), (tables_kept.KeptLife,),
        frozenset(tables_kept.KeptLife.__struct_fields__[3:]),
    ),
    Form(
        "images_that_wait", "[images that wait]", waiting.VERSION,
        lambda: _written(_let_wait, "SELECT image FROM cdc_tail_waiting"),
        lambda data: _with(_let_wait, "UPDATE cdc_tail_waiting SET image = ?", _waiting, data),
        may_lack=frozenset(IMAGE), accepts=frozenset({b"{}"}),
    ),
    Form(
        "spark_offset", "offsets:", offset.WITH_SNAPSHOT, lambda: json.dumps(SPARK.as_json()).encode(),
        _spark_offset, (offset.NodeOffset, SnapshotOffset), frozenset({"snap"}),
    ),
)  # fmt: skip
