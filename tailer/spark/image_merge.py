"""A table kept by its images: whole rows where they are known, the columns that changed where they are not.

Where rows are kept is a `Kept`, as for `merge.py`. Beside the table's own columns stand `_partition`, `_row` (its
identity), `_live` (false for a static row whose partition has other rows, which show it), `_complete` and `_state`
(the row's last `seq`, and its columns as JSON). See docs/tables.md.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from tailer.rebuild import Table
from tailer.rows.image_ops import OF_SEVERAL_ROWS
from tailer.spark.arrow_map import map_in_arrow
from tailer.spark.frames import check_images, rows_of
from tailer.spark.image_rows import NEEDED, STORED, ImageMerging, encoded, merge_images, pack_images
from tailer.spark.kept_columns import NO_MIGRATION, migration
from tailer.spark.merge import Merging, check_beside
from tailer.spark.merged import KeptImages, pack_merged, unpack_images
from tailer.spark.newest import successor
from tailer.spark.rebuilding import PACKED, TABLE_ROW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_FRAME: Final = "partition binary, row binary, facts binary, live boolean"


class ImageMerge(Merging):
    """Merges images of one table (`tailer.spark.images`) into a kept one; call it as `foreachBatch` does.

    An image of a row that is there is written: the whole row where it is `complete`, else the columns that are known;
    one of a row that is gone deletes it. One whose `seq` is not newer than that of its row does nothing. Images of
    several rows at once have nothing to say, as each row that images told of has one of its own; but for `drop`, after
    which the table is empty until it is created again. The others: as `Merging` says.
    """

    beside = STORED

    _known: KeptImages | None = None

    def __call__(self, images: DataFrame, batch_id: int) -> None:
        """Merge a micro-batch of images, of any tables. Given again it changes nothing."""
        known, table = self._begin(), self._newest()
        mine = _images_of(images, table).persist()
        try:
            if not mine.isEmpty() or (known is not None and known.table.definition.id != table.definition.id):
                self._merge(mine, table)
        finally:
            mine.unpersist()

    def _merge(self, images: DataFrame, table: Table) -> None:
        from pyspark.sql import functions as F

        known, change = self._known, NO_MIGRATION
        last_drop = _last_drop(images)
        gone_seq = max(0 if known is None else known.gone_seq, last_drop)
        ended = known is not None and known.gone_seq != gone_seq
        if known is not None and self._is_other(known.table, table, ended):
            self._begin_again(table, known.table)
            known, gone_seq, ended = None, last_drop, False
        # What comes behind the DROP is of a table that was created again with the same id.
        after = images.where(F.col("seq") > gone_seq)
        gone = gone_seq > 0 and after.isEmpty()
        if known is not None:
            if known.gone and (gone or not known.gone_seq):
                return
            table = successor(known.table, table)
            change = migration(known.table.definition, table.definition)
        news = KeptImages(table, gone, self._decimals, self._on_misfit, former=self._former, gone_seq=gone_seq)
        schema = self._prepare(table, change)
        renewed = change.renewed or ended
        task = encoded(ImageMerging(table, self._decimals, renewed, gone_seq, self._prefix, self._on_misfit))
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


def _last_drop(images: DataFrame) -> int:
    """The number of the last image that tells of a DROP; 0 for none."""
    from pyspark.sql import functions as F

    found = images.where(F.col("op") == "drop").agg(F.max("seq")).first()
    return 0 if found is None or found[0] is None else int(found[0])


def _images_of(images: DataFrame, table: Table) -> DataFrame:
    """The table's images among those of all. UsageError for a frame of another form."""
    from pyspark.sql import functions as F

    check_images(images, NEEDED)
    if {"node", "segment", "offset"} <= set(images.columns):
        # A table with the same id that was dropped before this one was created.
        place = F.struct(F.col("segment"), F.col("offset"))
        for node, (segment, offset) in table.ended.items():
            end = F.struct(F.lit(segment).cast("long"), F.lit(offset).cast("long"))
            is_former = (F.col("node") == node) & (place < end) & (F.col("op") != "drop")
            images = images.where(~F.coalesce(is_former, F.lit(False)))
    return rows_of(images, table, NEEDED)
