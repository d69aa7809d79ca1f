"""Spark's tables of a history, as a program of its own: Delta tables by rows and by images, and the current state.

    python -m tests.server.migrations.spark_tables LOG IMAGES FOLDER merge|all SERVERS TABLE…

merges what the log and the lines of images have (again and again into the same tables) and prints a line of JSON for
each table and way: its rows, or the error that ended it. It runs where `delta-spark` is. Knows no history.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

JSON_COLUMNS = ("partition_key", "clustering", "range", "before", "after")
QUIET = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # 15 s are too few where nodes and many consumers share two processors.
    "spark.python.authenticate.socketTimeout": "600s",
}


class SparkTables:
    """`images`: a file of the lines that a consumer of row images gave."""

    def __init__(self, log: str, images: Path, folder: Path, servers: str) -> None:
        from delta import configure_spark_with_delta_pip
        from pyspark.sql import SparkSession

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2]").config(map=QUIET)
        self._spark = configure_spark_with_delta_pip(builder).getOrCreate()
        self._spark.sparkContext.setLogLevel("OFF")
        self._log, self._images, self._folder = log, images, folder
        self._options = {"server": servers} if servers else {}

    def delta_merge(self, table: str) -> list[Any]:
        from tailer.spark.delta import DeltaMerge

        target = self._target("rows", table)
        options = {"tables": table, "consumer": Path(target).name, "includeSchemaChanges": "true"}
        options |= {"tablesMayCome": "true", **self._options}
        changes = self._spark.readStream.format("cdc_tail").options(**options).load(self._log)
        writer = changes.writeStream.foreachBatch(DeltaMerge(self._spark, target, self._definition(table)))
        _patiently(
            lambda: (
                writer.option("checkpointLocation", f"{target}.checkpoint")
                .trigger(availableNow=True)
                .start()
                .awaitTermination()
            )
        )
        return self._live_rows(target)

    def delta_image_merge(self, table: str) -> list[Any]:
        """The images that came since the last time, as one batch."""
        import pyarrow.parquet as pq

        from tailer.spark.delta import DeltaImageMerge

        target = self._target("images", table)
        place = Path(f"{target}.place")
        taken = int(place.read_text()) if place.exists() else 0
        lines = self._images.read_text().splitlines()
        batch = Path(f"{target}.{taken}.parquet")
        pq.write_table(_frame(lines[taken:]), batch)
        DeltaImageMerge(self._spark, target, self._definition(table))(self._spark.read.parquet(str(batch)), taken)
        place.write_text(str(len(lines)))
        if not Path(target).exists():
            return []
        rows = self._spark.read.format("delta").load(target).where("_live")
        return list(rows.select([name for name in rows.columns if not name.startswith("_")]).collect())

    def current_state(self, table: str) -> list[Any]:
        """Also where it is refused: the CREATE is in a segment that vanished, or the table had `cdc = false`."""
        from tailer.errors import LossError
        from tailer.spark.state import current_state

        try:
            state = current_state(self._spark, self._log, table, **self._options)
        except LossError:
            state = current_state(self._spark, self._log, table, partial=True, **self._options)
        return list(state.collect())

    def stop(self) -> None:
        self._spark.stop()

    def _target(self, kind: str, table: str) -> str:
        return str(self._folder / f"{kind}_{table.replace('.', '_')}")

    def _definition(self, table: str) -> Callable[[], Any]:
        from tailer.spark.state import table_definition

        return lambda: table_definition(self._log, table, **self._options)

    def _live_rows(self, target: str) -> list[Any]:
        from tailer.spark.delta import live_rows

        return list(live_rows(self._spark, target).collect()) if Path(target).exists() else []


def _patiently(run: Callable[[], Any]) -> None:
    """Run a query, again where Spark could not start its Python worker: on a busy machine the 10 s run out that it has
    for that (`PythonWorkerFactory`), whatever the settings say."""
    for _ in range(9):
        try:
            run()
            return
        except Exception as error:
            if "failed to connect back" not in str(error):
                raise
    run()


def _frame(lines: Sequence[str]) -> Any:
    """Lines of images as the Arrow table of which a frame is made: what is JSON there is text here."""
    import pyarrow as pa

    from tailer.images.image import arrow_schema

    images = [json.loads(line) for line in lines]
    for image in images:
        for name in JSON_COLUMNS:
            if image[name] is not None:
                image[name] = json.dumps(image[name], ensure_ascii=False)
    return pa.Table.from_pylist(images, schema=arrow_schema())


def plain(given: Any) -> Any:
    """A value of Spark as the server's JSON has it. A tuple is a struct there, with the fields `_1`, `_2`, …"""
    if isinstance(given, dict):
        if given and list(given) == [f"_{at + 1}" for at in range(len(given))]:
            return [plain(part) for part in given.values()]
        return {str(name): plain(part) for name, part in given.items()}
    if isinstance(given, list | tuple):
        return [plain(part) for part in given]
    if isinstance(given, bytes | bytearray):
        return f"0x{bytes(given).hex()}"
    if isinstance(given, datetime):
        return f"{given.isoformat(sep=' ', timespec='milliseconds')}Z"
    if isinstance(given, date):
        return given.isoformat()
    return str(given) if isinstance(given, Decimal) else given


def main() -> None:
    log, images, folder, what, servers, *tables = sys.argv[1:]
    made = SparkTables(log, Path(images), Path(folder), servers)
    ways = {"DeltaMerge": made.delta_merge, "DeltaImageMerge": made.delta_image_merge}
    if what == "all":
        ways["current_state"] = made.current_state
    for table in tables:
        for way, rows_of in ways.items():
            result: dict[str, Any] = {"table": table, "way": way}
            try:
                result["rows"] = [plain(row.asDict(recursive=True)) for row in rows_of(table)]
            except Exception as error:
                result["error"] = f"{type(error).__name__}: {str(error)[:1500]}"
            print(json.dumps(result), flush=True)
    made.stop()


if __name__ == "__main__":
    main()
