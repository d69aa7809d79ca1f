"""A table kept by its images: whole rows where they are known, the columns that changed where they are not.

Where rows are kept is a `Kept`, as for `merge.py`. Beside the table's own columns stand `_partition`, `_row` (its
identity), `_live` (false for a static row whose partition has other rows, which show it), `_complete` and `_state`
(the row's last `seq`, and its columns as JSON). See docs/tables.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from tailer.rebuild import Table
from tailer.rebuild.table import latest_places
from tailer.rows.image_ops import OF_SEVERAL_ROWS
from tailer.spark.arrow_map import map_in_arrow
from tailer.spark.frames import check_images, rows_of, rows_of_name
from tailer.spark.image_rows import NEEDED, STORED, ImageMerging, encoded, merge_images, pack_images
from tailer.spark.kept_columns import NO_MIGRATION, migration
from tailer.spark.merge import Merging, check_beside, ids_in
from tailer.spark.merged import KeptImages, pack_merged, unpack_images
from tailer.spark.newest import successor
from tailer.spark.rebuilding import PACKED, TABLE_ROW

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_FRAME: Final = "partition binary, row binary, facts binary, live boolean"


class ImageMerge(Merging):
    """Merges images of one table (`tailer.spark.images`) into a kept one; call it as `foreachBatch` does.

    An image of a row that is there is written: the whole row where it is `complete`, else the columns that are known;
    one of a row that is gone deletes it. One whose `seq` is not newer than that of its row does nothing. Images of
    several rows at once have nothing to say, as each row that images told of has one of its own; but for `drop`, after
    which the table is empty until it is created again. The others: as `Merging` says.

    RefusedError for images of a later table of the name, unless `table` is a function.
    """

    beside = STORED

    _known: KeptImages | None = None

    def __call__(self, images: DataFrame, batch_id: int) -> None:
        """Merge a micro-batch of images, of any tables. Given again it changes nothing."""
        known, table = self._begin(), self._newest()
        found = _images_of(images, table).persist()
        try:
            if self._ask is None:
                # Images have no definition: with one that is given once, a later table of the name stays unknown.
                before = set() if known is None else {known.table.definition.id}
                self._check_ids(ids_in(found) - before, table, "images", "")
            mine = rows_of(found, table, _COLUMNS)
            if not mine.isEmpty() or (known is not None and known.table.definition.id != table.definition.id):
                self._merge(mine, table)
        finally:
            found.unpersist()

    def _merge(self, images: DataFrame, table: Table) -> None:
        from pyspark.sql import functions as F

        known, change = self._known, NO_MIGRATION
        last_drop, ends = _last_drop(images)
        gone_seq = max(0 if known is None else known.gone_seq, last_drop)
        ended = known is not None and known.gone_seq != gone_seq
        if known is not None and self._is_other(known.table, table, ended):
            self._begin_again(table, known.table)
            known, gone_seq, ended = None, last_drop, False
        # What comes behind the DROP is of a table that was created again with the same id.
        after = images.where(_is_behind(gone_seq, latest_places(table.ended, ends)))
        gone = gone_seq > 0 and after.isEmpty()
        if known is not None:
            # Which image told of the DROP, version 1 did not keep: what comes now is of the table created again.
            if known.gone and gone:
                return
            table = successor(known.table, table)
            change = migration(known.table.definition, table.definition)
        news = KeptImages(table, gone, self._decimals, self._on_misfit, former=self._former, gone_seq=gone_seq)
        schema = self._prepare(table, change)
        renewed = change.renewed or ended
        task = encoded(
            ImageMerging(table, self._decimals, renewed, gone_seq if ended else 0, self._prefix, self._on_misfit)
        )
        packed = map_in_arrow(after.where(~F.col("op").isin(*OF_SEVERAL_ROWS)), partial(pack_images, task), PACKED)
        stored = self._stored()
        if not renewed:
            stored = stored.join(packed.select("partition").distinct(), "partition", "left_semi")
        parts = [packed.selectExpr("*", "cast(null as boolean) live")]
        if known != news:
            row = (TABLE_ROW, TABLE_ROW, pack_merged(news), None)
            parts.append(self._spark.createDataFrame([row], _FRAME))
        frame = reduce(type(stored).unionByName, [*parts, stored])
        self._store(frame, partial(merge_images, task), schema, change.emptied)
        self._table, self._known = table, news

    def _begin(self) -> KeptImages | None:
        """What the kept table holds of the table; asked of it once, for nobody else writes it."""
        if self._known is None and self._kept.is_there():
            self._known = self._read()
            if self._known is not None:
                self._go_on(self._known)
        return self._known

    def _read(self) -> KeptImages | None:
        from pyspark.sql import functions as F

        frame = self._kept.read()
        check_beside(frame, [self._prefix + name for name in self.beside], self._kept.target, "images")
        row = frame.where(F.col(self._prefix + "partition") == F.lit(TABLE_ROW)).select(self._prefix + "state").first()
        return None if row is None else unpack_images(bytes(row[0]), self._kept.target)

    def _stored(self) -> DataFrame:
        from pyspark.sql import functions as F

        names = [self._prefix + name for name in ("partition", "row", "state", "live")]
        stored = self._kept.read().select(*names).toDF("partition", "row", "facts", "live")
        return stored.where(F.col("partition") != F.lit(TABLE_ROW))


_CAUSE: Final = ("node", "segment", "offset")
"""The columns of an image that say which entry of which log made it; null where no entry did."""

_COLUMNS: Final = (*NEEDED, *_CAUSE)


def _last_drop(images: DataFrame) -> tuple[int, dict[str, tuple[int, int]]]:
    """The number of the last image that tells of a DROP, 0 for none; and by node the place of its DROP."""
    from pyspark.sql import functions as F

    drops = images.where(F.col("op") == "drop").select("seq", *_CAUSE).collect()
    ends: dict[str, tuple[int, int]] = {}
    for _, node, segment, offset in drops:
        if node is not None:
            # The first entry behind it is of the next table.
            ends = latest_places(ends, {node: (int(segment), int(offset) + 1)})
    return max((int(row[0]) for row in drops), default=0), ends


def _is_behind(gone_seq: int, ends: Mapping[str, tuple[int, int]]) -> Column:
    """Whether an image is of a row of the table as it was created again: by the place in its node's log where that says
    of the DROP, else by the number of the image."""
    from pyspark.sql import functions as F

    found = F.col("seq") > gone_seq
    place = F.struct(F.col("segment"), F.col("offset"))
    for node, (segment, offset) in ends.items():
        end = F.struct(F.lit(segment).cast("long").alias("segment"), F.lit(offset).cast("long").alias("offset"))
        found = F.when(F.col("node") == node, place >= end).otherwise(found)
    return found & (F.col("op") != "drop")


def _images_of(images: DataFrame, table: Table) -> DataFrame:
    """The images of the table, and of others that had its name. UsageError for a frame of another form."""
    check_images(images, _COLUMNS)
    return rows_of_name(images, table, _COLUMNS)
