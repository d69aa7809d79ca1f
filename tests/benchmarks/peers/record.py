"""Records what Debezium's connector writes of a live node's log, beside that log, as `fixtures/debezium` has it.

    python -m tests.benchmarks.peers.record FOLDER

FOLDER then holds `cdc_raw` and `events.jsonl`.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.peers import debezium, kinds
from tests.benchmarks.peers.losses import copy_finished, messages, new_segment
from tests.benchmarks.peers.readers import Bench
from tests.helpers.kafka_broker import Broker
from tests.server.harness import Node

_SERVER = {"commitlog_sync_period": "10ms", "commitlog_segment_size": "1MiB", "cdc_total_space": "1GiB"}


def record(into: Path) -> int:
    """How many events there were."""
    with ExitStack() as ends:
        parent = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        node, broker = Node(parent / "node", _SERVER, heap="1g"), Broker(parent / "kafka")
        for program in (node, broker):
            ends.callback(program.kill)
            program.start()
        session = ends.enter_context(node.session())
        kinds.create(session)
        kinds.write(session, lambda: new_segment(node), 2)
        theirs = parent / "theirs" / "cdc_raw"
        for folder in (into / "cdc_raw", theirs):
            copy_finished(node.cdc_raw, folder)
        connector = debezium.Debezium(parent / "connector", node, broker, theirs)
        ends.callback(connector.kill)
        connector.start()
        bench = Bench(node, broker, parent, "peers", "live")
        events = messages(bench, f"^{debezium.TOPICS}[.]{kinds.KEYSPACE}[.].*")
    lines = [json.dumps({"key": key, "value": value}, separators=(",", ":")) + "\n" for key, value in events]
    (into / "events.jsonl").write_text("".join(lines))
    return len(events)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    shutil.rmtree(target / "cdc_raw", ignore_errors=True)
    target.mkdir(parents=True, exist_ok=True)
    print(record(target))
