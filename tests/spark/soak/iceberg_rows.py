"""Tells the rows of the workload that are in an Iceberg table, in a session of its own:

python -m tests.spark.soak.iceberg_rows TABLE-FOLDER FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from tailer.spark.run import stop
from tailer.spark.session import open_session
from tests.helpers.iceberg import settings
from tests.spark.soak.workload import Row
from tests.spark.told import tell


def main(table: Path, work: Path) -> None:
    spark = open_session("iceberg", lambda line: None, master="local[2]", conf=dict(settings(work)))
    try:
        for row in spark.read.format("iceberg").load(str(table)).select(*Row._fields).collect():
            tell("row", list(row))
    finally:
        stop(spark)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
