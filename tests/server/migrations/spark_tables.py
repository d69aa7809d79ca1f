"""Spark's tables of a history, as a program of its own: Delta tables by rows and by images, and the current state.

    python -m tests.server.migrations.spark_tables LOG FOLDER merge|all SERVERS TABLE…

merges what the log has (again and again over the same checkpoints) and prints one line of JSON for each table and way:
its rows, or the error that ended it. Knows no history.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

WAYS = ("DeltaMerge", "DeltaImageMerge", "current_state")
QUIET = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}


class SparkTables:
    def __init__(self, log: str, folder: Path, servers: str) -> None:
        from delta import configure_spark_with_delta_pip
        from pyspark.sql import SparkSession

        from tailer.spark.images import SETTINGS

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2]").config(map=QUIET | SETTINGS)
        self._spark = configure_spark_with_delta_pip(builder).getOrCreate()
        self._spark.sparkContext.setLogLevel("OFF")
        self._log, self._folder = log, folder
        self._options = {"server": servers} if servers else {}

    def delta_merge(self, table: str) -> list[Any]:
        from tailer.spark.delta import DeltaMerge

        return self._merge(table, "rows", DeltaMerge, lambda changes: changes)

    def delta_image_merge(self, table: str) -> list[Any]:
        from tailer.spark.delta import DeltaImageMerge
        from tailer.spark.images import images

        return self._merge(table, "images", DeltaImageMerge, lambda changes: images(changes, image="both"))

    def current_state(self, table: str) -> list[Any]:
        from tailer.spark.state import current_state

        return list(current_state(self._spark, self._log, table, **self._options).collect())

    def stop(self) -> None:
        self._spark.stop()

    def _merge(self, table: str, kind: str, merge: Any, of: Callable[[Any], Any]) -> list[Any]:
        from tailer.spark.delta import live_rows
        from tailer.spark.state import table_definition

        name = f"{kind}_{table.replace('.', '_')}"
        target = str(self._folder / name)
        options = {"tables": table, "consumer": name, "includeSchemaChanges": "true", "tablesMayCome": "true"}
        changes = self._spark.readStream.format("cdc_tail").options(**{**options, **self._options}).load(self._log)

        def definition() -> Any:
            return table_definition(self._log, table, **self._options)

        writer = of(changes).writeStream.foreachBatch(merge(self._spark, target, definition))
        query = writer.option("checkpointLocation", f"{target}.checkpoint").trigger(availableNow=True).start()
        query.awaitTermination()
        return list(live_rows(self._spark, target).collect()) if Path(target).exists() else []


def plain(given: Any) -> Any:
    """A value of Spark as the server's JSON has it."""
    if isinstance(given, dict):
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
    log, folder, what, servers, *tables = sys.argv[1:]
    made = SparkTables(log, Path(folder), servers)
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
