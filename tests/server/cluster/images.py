"""What the images of a cluster come to: their chain, the tables that they add up to, and of which writes they are.

Knows the images' columns and what a workload writes, and nothing of how images are made.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tailer.rows.image_ops import OF_ONE_ROW
from tests.helpers.rebuilt import spelled
from tests.oracle.jsontext import dumps, loads
from tests.server.cluster.cluster import Cluster
from tests.server.cluster.imaging import Image, Imaging, row_of
from tests.server.cluster.merge_order import Effect, Effects, effects, entries_in_order
from tests.server.cluster.running import CATCH_UP_SECONDS
from tests.server.cluster.schema import tables, told

TOLD = frozenset(told())
KEY = {"pk", "ck"}


@dataclass
class Imaged:
    """What images of a run come to: `differences`, `torn` and `unlike` are empty where nothing is wrong.

    `must`: how many were told to be there by the order of arrival.
    """

    images: list[Image]
    differences: dict[str, set[str]]
    torn: list[str]
    unlike: list[str]
    must: int
    kills: int


def imaged(cluster: Cluster, imaging: Imaging, rows: Sequence[str]) -> Imaged:
    """Behind the last write, as soon as they add up to what SELECT shows, or it takes too long. Ends what makes them.

    `rows`: all rows of the logs, as a reader gave them.
    """
    deadline = time.monotonic() + CATCH_UP_SECONDS
    while (different := differences(cluster, imaging.images())) and not imaging.failures:
        if time.monotonic() > deadline:
            break
        time.sleep(1)
    imaging.stop()
    images = imaging.images()
    told = effects(entries_in_order(map(loads, rows), imaging.arrived()), TOLD)
    whole = torn(images, in_order=imaging.in_order)
    return Imaged(images, different, whole, unlike(told, images), len(told.must), imaging.kills)


def torn(images: Sequence[Image], *, in_order: bool) -> list[str]:
    """Where the chain is not whole: an image that does not begin where the one before of its row, or of its partition,
    ended. A row that has become known whole in between has nulls where nothing was known, and one whose table has got
    or lost columns goes on in those that are there. `in_order`: those of other partitions, and of the table as a whole,
    stand where they were merged."""
    rows: dict[str, Image] = {}
    seqs: dict[str, int] = {}
    altered: Counter[str] = Counter()
    shapes: dict[str, int] = {}
    found = []
    reshaped = {image["table_id"] for image in images if image["op"] == "schema"}
    for image in images:
        altered[image["table_id"]] += image["op"] == "schema"
        partition, row = dumps([image["table_id"], image["partition_key"]]), dumps([image["table_id"], *row_of(image)])
        if image["prev_seq"] != seqs.get(partition):
            found.append(f"{dumps(image)}: {seqs.get(partition)} was the last seq")
        seqs[partition] = image["seq"]
        if image["op"] in OF_ONE_ROW:
            last = rows.get(row, {"after": None, "complete": True})
            more_known, after = image["complete"] and not last["complete"], last["after"]
            if shapes.get(row, 0) != altered[image["table_id"]] or (image["table_id"] in reshaped and not in_order):
                after = _reshaped(after, image["before"])
            if not (_fits(after, image["before"]) if more_known else after == image["before"]):
                found.append(f"{dumps(image)}: {dumps(last['after'])} was the row before")
            rows[row], shapes[row] = image, altered[image["table_id"]]
    return found


def _reshaped(row: Image | None, newer: Image | None) -> Image | None:
    """A row in the columns of a newer one: null where it had none."""
    return row if row is None or newer is None else {name: row.get(name) for name in newer}


def _fits(partly: Image | None, whole: Image | None) -> bool:
    """Whether a row that is known whole is one that was known in parts: null where it is not there at all."""
    if partly is None:
        return whole is None
    if whole is None:
        return all(value is None for name, value in partly.items() if name not in KEY)
    return all(whole[name] == value for name, value in partly.items())


def differences(cluster: Cluster, images: Iterable[Image]) -> dict[str, set[str]]:
    """By table, the rows that are either what the images add up to, or in SELECT at ALL, and not both."""
    rows: dict[str, dict[str, Any]] = {name: {} for name in tables()}
    for image in images:
        if image["op"] in OF_ONE_ROW:
            rows[f"{image['keyspace']}.{image['table']}"][dumps(row_of(image))] = image["after"]
    found = {}
    for name, held in rows.items():
        mine = {spelled(row) for row in held.values() if row is not None}
        theirs = {spelled(loads(text)) for text in cluster.query(f"SELECT JSON * FROM {name}")}
        if different := mine ^ theirs:
            found[name] = different
    return found


def unlike(told: Effects, images: Iterable[Image]) -> list[str]:
    """What must have one image and has not; and images of what did nothing."""
    shown = Counter(_effect(image) for image in images if image["op"] in OF_ONE_ROW and image["node"] is not None)
    must, may = Counter(told.must), Counter(told.may)
    found = [
        f"{effect}: {shown[effect]} images" for effect in must if not 0 <= shown[effect] - must[effect] <= may[effect]
    ]
    either = must | may
    return found + [f"{each}: nothing took effect" for each in shown if each[0] in TOLD and each not in either]


def _effect(image: Image) -> Effect:
    table = f"{image['keyspace']}.{image['table']}"
    return Effect(table, dumps(image["partition_key"]), dumps(image["clustering"]), image["write_ts"])
