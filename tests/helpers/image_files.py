"""Data files of images, as `follow --image … --to files:` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tailer.images.image import Image, arrow_schema
from tailer.images.image_rows import ImageRows
from tailer.sinks.files.outlet import open_outlet
from tailer.sinks.outlet import ImagesForm, OutletContext, OutletKey, Place
from tests.helpers.data_files import GIVEN, ORDERS, refuse
from tests.unit.sinks.rows import ORDINARY

IMAGES_KEY = OutletKey("5f4e", "images", "billing")
CAUSE = {"node": "n1", "segment": 5, "offset": 28, "row": 0, "event_id": "n1:5:28:0"}


def image(op: str, before: Any = None, after: Any = None, **more: Any) -> Image:
    """Of the row (17, a) of shop.orders. `before`, `after`: as values."""
    told: dict[str, Any] = {
        "keyspace": "shop", "table": "orders", "table_id": ORDINARY["table_id"], "token": 7,
        "partition_key": '{"id":17}', "clustering": '{"at":"a"}', "is_static": False, "range": None, "op": op,
        "before": None if before is None else json.dumps(before), "after": None if after is None else json.dumps(after),
        "changed": ("state",), "write_ts": 1_795_259_642_123_456, "seq": 9, "prev_seq": None, "complete": True,
        **CAUSE, **more,
    }  # fmt: skip
    return Image(**told)


def write_images(folder: Path, *files: list[Image], **values: Any) -> None:
    """A run that commits a file for each list."""
    form = ImagesForm(True, arrow_schema)
    context = OutletContext(IMAGES_KEY, {ORDERS.id: ORDERS}.get, None, refuse, [].append, images=form)
    out = open_outlet(f"files:{folder}", {**GIVEN, **values}, context)
    before = out.open()
    try:
        for number, images in enumerate(files, 1):
            out.write(ImageRows(images))
            behind = Place(f'{{"images":{number}}}')
            out.commit(before, behind)
            before = behind
    finally:
        out.close()
