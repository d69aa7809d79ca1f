"""A Python worker as Spark's daemon makes it: forked from a process that has loaded none of our modules.

    python -m tests.spark.worker JOBS [WORTH_BYTES]

JOBS: a file of a pickled schema and the jobs, one task each. Prints the rows of each task, and whether compiled code
is loaded behind it, which must not bring numba.
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path


def main(jobs: Path, worth: str | None) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    from pyspark.sql.datasource import InputPartition

    from tailer.jit import ready
    from tailer.spark.stream import read_partition

    if worth is not None:
        ready.WORTH_BYTES = int(worth)  # type: ignore[misc]
    schema, packed = pickle.loads(jobs.read_bytes())
    for job in packed:
        rows = sum(batch.num_rows for batch in read_partition(InputPartition(job), schema))
        assert "numba" not in sys.modules
        print(rows, "llvmlite" in sys.modules)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None))
