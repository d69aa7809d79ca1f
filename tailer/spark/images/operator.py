"""Images of a stream of change rows, as a stream.

    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    options = {"consumer": "orders", "includeSchemaChanges": "true"}
    changes = spark.readStream.format("cdc_tail").options(**options).load("n1=/mnt/n1,n2=/mnt/n2,n3=/mnt/n3")
    images(changes).writeStream.format("parquet")…

See docs/images-in-spark.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal

from tailer.errors import UsageError
from tailer.images.forgetting import LEAST_SECONDS
from tailer.images.image import arrow_schema
from tailer.rebuild import Table
from tailer.schema.model import TableDefinition
from tailer.schema.typed import TypedOptions
from tailer.spark.frames import check_changes
from tailer.spark.images.followed import followed, sources
from tailer.spark.images.job import packed
from tailer.spark.images.typed import image_form, typed_images
from tailer.spark.session import spark_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_IDLE_BATCHES: Final = "spark.sql.streaming.noDataMicroBatches.enabled"

SETTINGS: Final = {
    _PROVIDER: _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    _IDLE_BATCHES: "false",
}
"""What a session needs before a query of images starts: state on disk, of which a batch writes what has changed, and no
batches without an end to look after timers."""

BUCKETS: Final = 16
"""Into so many the partitions of each table are divided, each of which is one task's at a time. Where a partition is
stands in the checkpoints that there are: another number would be another version of the state."""

SPARK_MIN: Final = (4, 1)
_TYPED: Final = TypedOptions()


def images(
    changes: DataFrame,
    tables: Table | TableDefinition | Iterable[Table | TableDefinition] = (),
    *,
    image: Literal["after", "both"] = "both",
    expirations: bool = True,
    forget_after: int | None = None,
    nodes: Sequence[str] | None = None,
    table: str | None = None,
    typed: TypedOptions = _TYPED,
) -> DataFrame:
    """The images of a stream's change rows of the generic form, in the columns of `docs/images.md`.

    `tables`: definitions (`table_definition`) of tables that no log of the stream defines. `image`: the row `after`
    each change, or `both`, before it too. `expirations`: whether what a TTL ends gives images. `forget_after`: the
    seconds after which a deletion, and what has expired, is forgotten; your word for it that no node's log is read so
    much later than another's. 3 hours at least; without it nothing is forgotten. `nodes`: of a stream of rows that were
    landed elsewhere, all nodes whose rows come. `table`: images of `keyspace.table` alone, whose rows are structs of
    its own columns as it is defined now; `typed` says how these are made.

    UsageError where the session, its Spark or the stream is not one that images can be made in.
    """
    given = [tables] if isinstance(tables, (Table, TableDefinition)) else list(tables)
    known = [Table.of(each) if isinstance(each, TableDefinition) else each for each in given]
    check_spark()
    _check_classic(changes)
    _check_session(changes.sparkSession, expirations=expirations)
    rows = _routed(changes if table is None else _of_table(changes, table))
    reads = sources(changes)
    job = followed(reads, known, nodes).job(image == "both", expirations, _seconds(forget_after))
    form = None if table is None else image_form(table, typed, reads, job.all_tables(), known)
    from pyspark.sql.pandas.types import from_arrow_schema

    from tailer.spark.images.processor import ImageProcessor
    from tailer.spark.images.stateful import transform_with_state

    mode = "ProcessingTime" if expirations else "None"
    schema = from_arrow_schema(arrow_schema())
    made = transform_with_state(rows, ("table_id", "bucket"), ImageProcessor(packed(job)), schema, mode)
    return made if form is None else typed_images(made, form)


def check_spark() -> None:
    """UsageError unless this is a Spark whose state Python reads row by row, with what that takes."""
    import pyspark

    if spark_line(pyspark.__version__) < SPARK_MIN:
        raise UsageError(
            "images need row-based transformWithState",
            expected="pyspark {}.{} or newer".format(*SPARK_MIN),
            found=pyspark.__version__,
            remedy="`cdc-tail follow --image` makes them without Spark, DeltaMerge whole rows on any Spark.",
        )
    try:
        found = find_spec("google.protobuf")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise UsageError(
            "Spark's transformWithState needs protobuf",
            remedy="pip install 'cdc-tail[images]', where the executors' Python runs too.",
        )


def _check_classic(changes: DataFrame) -> None:
    """UsageError for a frame of Spark Connect: its plan, which names the logs, cannot be read there, and without the
    logs no row is ever complete."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    if not isinstance(changes, ClassicDataFrame):
        raise UsageError(
            "row images cannot be made in Spark Connect, nor in a declarative pipeline: a frame there does not tell "
            "which logs its rows are from",
            remedy="Make them with `cdc-tail stream --image` or in a classic session, and read in Connect what that "
            "has landed (docs/images-in-spark.md).",
        )


def _check_session(spark: SparkSession, *, expirations: bool) -> None:
    if spark.conf.get(_PROVIDER) != _ROCKSDB:
        raise _unset(_PROVIDER, spark, "images are kept in RocksDB")
    if expirations and spark.conf.get(_IDLE_BATCHES) != "false":
        raise _unset(_IDLE_BATCHES, spark, "for what expires Spark would make batches without an end")


def _seconds(forget_after: int | None) -> int | None:
    if forget_after is not None and forget_after < LEAST_SECONDS:
        raise UsageError(
            "forget_after", expected=f"{LEAST_SECONDS} seconds or more: hints are kept that long", found=forget_after
        )
    return forget_after


def _unset(name: str, spark: SparkSession, why: str) -> UsageError:
    return UsageError(
        f"{why}: {name}",
        expected=SETTINGS[name],
        found=spark.conf.get(name),
        remedy="Set all of `tailer.spark.images.SETTINGS` in the session.",
    )


def _of_table(changes: DataFrame, name: str) -> DataFrame:
    """The rows of one table, what is of it as a whole too."""
    from pyspark.sql import functions as F

    if len(parts := name.split(".")) != 2:
        raise UsageError("table", expected="KEYSPACE.TABLE", found=name)
    check_changes(changes, ("keyspace", "table"))
    return changes.where((F.col("keyspace") == parts[0]) & (F.col("table") == parts[1]))


def _routed(changes: DataFrame) -> DataFrame:
    """Each row to its bucket, what is of the table as a whole to all of them."""
    from pyspark.sql import functions as F

    from tailer.spark.images.processor import SAID

    check_changes(changes, SAID)
    everywhere = F.sequence(F.lit(0).cast("long"), F.lit(BUCKETS - 1).cast("long"))
    own = F.array(F.pmod("token", F.lit(BUCKETS).cast("long")))
    return changes.select(
        "table_id",
        F.explode(F.when(F.col("token").isNull(), everywhere).otherwise(own)).alias("bucket"),
        F.to_json(F.struct(*(name for name in SAID if name != "table_id"))).alias("said"),
        F.unix_micros(F.current_timestamp()).alias("now_us"),
    )
