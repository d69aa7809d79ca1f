"""Keeps how a version left a consumer of `--to kafka`: `python -m tests.install.keep_kafka TREE TAR`.

TREE: a checkout of that version. The tar, in `tests/install/kept_kafka/`, has its state folder, and in `positions.json`
the messages of its positions' topic. The log is made by hand, the same each time (`tests.install.keep_state`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import read
from tests.install.keep_targets import LOG, MAIN, begin, put_all

POSITIONS = "positions-kept"
MESSAGES = "positions.json"


def command(broker: Broker) -> list[str]:
    """Rows of the whole log, as far as there is any."""
    return [
        "follow", f"n1={LOG}", "--once", "--on-error", "quarantine", "--consumer", "kafka", "--to", "kafka",
        "--create-topics", "--brokers", broker.bootstrap, "--positions-topic", POSITIONS,
    ]  # fmt: skip


def main(tree: Path, kept: Path) -> None:
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as beside:
        folder, broker = Path(made), Broker(Path(beside))
        broker.start()
        try:
            begin(folder)
            ran = subprocess.run(
                [sys.executable, "-c", MAIN, *command(broker)], cwd=folder, env={**os.environ, "PYTHONPATH": str(tree)},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert ran.returncode == 0, ran.stderr
            told = read(broker, POSITIONS)
            messages = [[each.key.hex(), each.value.hex()] for each in told if each.key and each.value]
            assert messages
            (folder / MESSAGES).write_text(json.dumps(messages))
        finally:
            broker.kill()
        with tarfile.open(kept, "w:xz") as tar:
            put_all(folder, tar)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
