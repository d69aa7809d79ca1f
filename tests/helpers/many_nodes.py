"""Many nodes with many finished segments, and one Spark query over them all.

python -m tests.helpers.many_nodes FOLDER: one run with Trigger.AvailableNow, without a JVM; prints how many rows
came of each node, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table

FIRST = 1_700_000_000_001
TABLE = simple_table("ks", "t")


def many_nodes(folder: Path, nodes: int, segments: int) -> dict[str, Path]:
    """Each node's log, with a row in each of its segments."""
    made = {f"n{number}": folder / f"n{number}" / "cdc_raw" for number in range(1, nodes + 1)}
    for path in made.values():
        log = LogFolder(path)
        for number in range(segments):
            writer = segment_of(FIRST + number, [[create_payload(TABLE)], [insert_payload(TABLE, number, "a", 1)]])
            log.put(writer, completed(writer))
    return made


def main(folder: Path) -> None:
    from tests.spark.engine import Engine

    places = ",".join(f"{path.parent.name}={path}" for path in folder.glob("*/cdc_raw"))
    rows = map(json.loads, Engine(places, {"maxBytesPerTrigger": "1m"}).available_now())
    print(json.dumps(Counter(row["node"] for row in rows)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
