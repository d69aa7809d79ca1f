"""A table kept by its images: whole rows where they are known, the columns that changed where they are not.

Where rows are kept is a `Kept`, as for `merge.py`. Beside the table's own columns stand `_partition`, `_row` (its
identity), `_live` (false for a static row whose partition has other rows, which show it), `_complete` and `_state`
(the row's last `seq`, and its columns as JSON). See docs/tables.md.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from tailer.images.image import OF_SEVERAL_ROWS
from tailer.rebuild import Table
from tailer.rebuild.newest import newer
from tailer.spark.arrow_map import map_in_arrow
from tailer.spark.frames import check_images, rows_of
from tailer.spark.image_rows import NEEDED, STORED, ImageMerging, encoded, merge_images, pack_images
from tailer.spark.merge import Merging, check_beside
from tailer.spark.merged import KeptImages, pack_merged, unpack_images
from tailer.spark.newest import check_same, reshaped
from tailer.spark.rebuilding import PACKED, TABLE_ROW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_FRAME: Final = "partition binary, row binary, facts binary, live boolean"


class ImageMerge(Merging):
    """Merges images of one table (`tailer.spark.images`) into a kept one; call it as `foreachBatch` does.

    An image of a row that is there is written: the whole row where it is `complete`, else the columns that are known;
    one of a row that is gone deletes it. One whose `seq` is not newer than that of its row does nothing. Images of
    several rows at once have nothing to say, as each row that images told of has one of its own; but for `drop`, after
    which the table is empty and stays so. The others: as `Merging` says.
    """

    beside = STORED

    _known: KeptImages | None = None

    def __call__(self, images: DataFrame, batch_id: int) -> None:
        """Merge a micro-batch of images, of any tables. Given again it changes nothing."""
        table, known = self._newest(), self._begin()
        if known is not None:
            check_same(known.table, table, self._kept.target)
            table = newer(known.table, table)
            if known.gone:
                # What still comes of it is nothing.
                return
        mine = _images_of(images, table).persist()
        try:
            if not mine.isEmpty():
                self._merge(mine, table)
        finally:
            mine.unpersist()

    def _merge(self, images: DataFrame, table: Table) -> None:
        from pyspark.sql import functions as F

        known = self._known
        gone = not images.where(F.col("op") == "drop").isEmpty()
        news = KeptImages(table, gone, self._decimals, self._on_misfit)
        renewed = known is not None and reshaped(known.table, table)
        schema = self._prepare(table)
        task = encoded(ImageMerging(table, self._decimals, renewed, gone, self._prefix, self._on_misfit))
        packed = map_in_arrow(images.where(~F.col("op").isin(*OF_SEVERAL_ROWS)), partial(pack_images, task), PACKED)
        stored = self._stored()
        if not (renewed or gone):
            stored = stored.join(packed.select("partition").distinct(), "partition", "left_semi")
        parts = [] if gone else [packed.selectExpr("*", "cast(null as boolean) live")]
        if known != news:
            row = (TABLE_ROW, TABLE_ROW, pack_merged(news), None)
            parts.append(self._spark.createDataFrame([row], _FRAME))
        self._store(reduce(type(stored).unionByName, [*parts, stored]), partial(merge_images, task), schema)
        self._table, self._known = table, news

    def _begin(self) -> KeptImages | None:
        """What the kept table holds of the table; asked of it once, for nobody else writes it."""
        if self._known is None and self._kept.is_there():
            self._known = self._read()
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


def _images_of(images: DataFrame, table: Table) -> DataFrame:
    """The table's images among those of all. UsageError for a frame of another form."""
    check_images(images, NEEDED)
    return rows_of(images, table, NEEDED)
