"""What is the same of the images of several nodes, in whatever order their logs were merged.

Which copy of a write comes first, and between which others, is not the same for a consumer that lags: so neither are
the images between. The last image of each row shows what all logs add up to. Of that its `after` is compared:

* Not `complete`: it is of the image's time. A gap in one node's log, or a CREATE that one has not shown yet, lies
  behind the image for one consumer and before it for another; and of a table whose CREATE not every log shows, only
  what a deletion removed behind the consumer's own start is known. What is marked as complete is compared with the
  server's rows by `Folded`.
* Not nulls, for an image that is not complete leaves them out, and not the names of key columns and of fields, which
  are those of the image's time.
* A row that is gone, and one of which there never was an image, are the same: the deletion may have come first. So is
  a row without values, which is there only where all of it is known: of a value that was deleted, say.
* A DROP TABLE ends all rows: later images of its id are of the next incarnation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.oracle.jsontext import dumps
from tests.server.migrations.fold import ONE_ROW
from tests.server.migrations.model import TTL, number_of
from tests.server.migrations.writes import YEAR_3000

Image = Mapping[str, Any]
Row = tuple[str, str, str]
"""A table's name, its id, and the values of a row's key."""


def last_images(images: Iterable[Image]) -> dict[Row, str]:
    """By row the values of its last image; nothing of rows that are gone, and of those that a TTL ends."""
    rows: dict[Row, str] = {}
    for image in images:
        if image["op"] == "drop":
            rows = {row: text for row, text in rows.items() if row[1] != image["table_id"]}
        elif image["op"] in ONE_ROW and not _expires(image):
            key = {**image["partition_key"], **(image["clustering"] or {})}
            after = sorted((image["after"] or {}).items())
            known = {name: _bare(each) for name, each in after if name not in key and each is not None}
            if not known:
                rows.pop(_row(image), None)
            else:
                rows[_row(image)] = dumps(known)
    return rows


def told_twice(images: Iterable[Image]) -> Iterator[tuple[Row, Image]]:
    """Images that say what the row's last one said. A TRUNCATE, of which each node's log has its own, ends what that
    node's copies were: another node's copy may have an image behind it. So does the DROP of a table, without an image
    where another node's log has shown it first and a timestamp of the future has outlived it."""
    last: dict[Row, str] = {}
    for image in images:
        if image["op"] in ("drop", "truncate"):
            last = {row: text for row, text in last.items() if row[1] != image["table_id"]}
        elif image["op"] in ONE_ROW:
            said = dumps([image[name] for name in ("op", "before", "after", "changed", "write_ts", "complete")])
            if last.get(_row(image)) == said and image["write_ts"] != int(YEAR_3000):
                yield _row(image), image
            last[_row(image)] = said


def _row(image: Image) -> Row:
    values = [[*(image["partition_key"]).values()], [*(image["clustering"] or {}).values()], image["is_static"]]
    return f"{image['keyspace']}.{image['table']}", image["table_id"], dumps(values)


def _expires(image: Image) -> bool:
    return number_of(next(iter(image["partition_key"].values()))) in TTL


def _bare(given: Any) -> Any:
    """A value without the names of fields, and without fields that are null: ALTER TYPE changes these later."""
    if isinstance(given, dict):
        return [_bare(part) for part in given.values() if part is not None]
    return [_bare(part) for part in given] if isinstance(given, list) else given
