"""Every consumer of row images knows every op of the `Op` type, and refuses any other instead of leaving it out."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import DefinitionError
from tailer.images.image import Image
from tailer.images.image_rows import ImageRows
from tailer.images.pretty import PrettyImages
from tailer.rebuild import Table
from tailer.rows.image_ops import OF_ONE_ROW, OPS
from tailer.schema.model import Column, TableDefinition
from tailer.shipping.bulk_actions import Actions
from tailer.sinks.database.folded import Folded
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.spark.errors import CdcTailError
from tailer.spark.image_rows import ImageMerging, encoded, pack_images
from tests.helpers.image_files import image
from tests.unit.sinks.database.targets import Sqlite
from tests.unit.sinks.database.test_kept_table import Kept
from tests.unit.sinks.envelope.made import AT
from tests.unit.sinks.tables import table

UNKNOWN = "merge"
ROW = {"id": 17, "at": "a", "state": "new"}
COLUMNS = (
    Column("id", "partition_key", "int", 0),
    Column("at", "clustering", "text", 0),
    Column("state", "regular", "text"),
)


def made(op: str) -> Image:
    """An image with what its op has."""
    if op in (*OF_ONE_ROW, UNKNOWN):
        after = None if op in ("delete", "expire") else ROW
        return image(op, ROW if op in ("delete", "expire", "read") else None, after, changed=())
    wide = {"token": None, "partition_key": None} if op in ("truncate", "schema", "drop") else {}
    return image(op, clustering=None, range="{}" if op == "delete_range" else None, **{"changed": (), **wide})


def pretty(image: Image) -> None:
    stream = io.BytesIO()
    PrettyImages(stream, colour=True, columns=200).write(ImageRows([image]))
    assert image.op.replace("_", " ").encode() in stream.getvalue()


def envelope(form: str) -> Callable[[Image], None]:
    def consume(image: Image) -> None:
        made = Envelope(EnvelopeOptions(form), table(state="text"), images=True)
        (message,) = made.messages(ImageRows([image]).to_arrow(), AT)
        assert message.key is not None or image.op in ("truncate", "schema", "drop")

    return consume


def bulk(image: Image) -> None:
    actions = list(Actions("{keyspace}.{table}", True).of_images([ImageRows([image]).json_lines()]))
    assert len(actions) == (image.op in OF_ONE_ROW)


def spark(image: Image) -> None:
    definition = TableDefinition(image.table_id.replace("-", ""), "shop", "orders", COLUMNS)
    if image.op in (*OF_ONE_ROW, UNKNOWN):
        (batch,) = pack_images(encoded(ImageMerging(Table.of(definition))), [ImageRows([image]).to_arrow()])
        assert len(batch) == 1


class Source:
    """A `Source` of `Folded`."""

    def key_of(self, partition_key: Any, clustering: Any | None) -> tuple[Any, ...]:
        return partition_key, clustering

    def values_of(self, row: str, *, static: bool) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(row)
        return values

    def data_names(self, *, static: bool) -> frozenset[str]:
        return frozenset({"state"})


def folded(image: Image) -> None:
    if image.op in (*OF_ONE_ROW, UNKNOWN):
        fields = {name: getattr(image, name) for name in Image.__struct_fields__}
        key = Folded().take(Source(), fields)
        assert key == (image.partition_key, image.clustering)


CONSUMERS = {
    "pretty": pretty,
    "debezium": envelope("debezium"),
    "debezium-avro": envelope("debezium-avro"),
    "bulk": bulk,
    "spark": spark,
    "folded": folded,
}


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("op", OPS)
def test_every_op_is_known(op: str, consumer: str) -> None:
    CONSUMERS[consumer](made(op))


@pytest.mark.parametrize("consumer", [name for name in CONSUMERS if not name.startswith("debezium-avro")])
def test_an_unknown_op_is_an_error(consumer: str) -> None:
    with pytest.raises((DefinitionError, CdcTailError), match="op that this version does not know"):
        CONSUMERS[consumer](made(UNKNOWN))


def test_the_letters_of_debezium_are_as_its_own_for_each_op_of_one_row() -> None:
    letters = {}
    for op in OF_ONE_ROW:
        (message,) = Envelope(EnvelopeOptions("debezium"), lambda _: None, images=True).messages(
            ImageRows([made(op)]).to_arrow(), AT
        )
        letters[op] = json.loads(message.value or b"")["op"]
    assert letters == {"insert": "c", "update": "u", "upsert": "r", "delete": "d", "expire": "d", "read": "r"}


def test_a_kept_table_takes_a_row_that_was_read_as_the_row(tmp_path: Path) -> None:
    kept = Kept(Sqlite(tmp_path))
    kept.give(
        # Known in part, and perhaps not there: the table does not have it.
        kept.image("update", {"v": None, "w": None}, (1, "a"), changed=["v"], complete=False),
        kept.image("read", {"v": None, "w": None}, (1, "a")),
    )
    assert [(pk, ck, v, bool(told)) for pk, ck, v, told in kept.rows("pk", "ck", "v", "cdc_tail_complete")] == [
        (1, "a", None, True)
    ]
