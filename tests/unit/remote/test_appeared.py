"""A7 through HTTP: the same segments are told, delivered and kept as where the folder is read itself."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_appeared import HIGH, LOW, TABLE, cleaned, put, segment, settle
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import LogFolder, create_payload, live
from tests.helpers.served import served


def test_it_is_told_and_delivered(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, HIGH, first=[create_payload(TABLE)])
    with served(folder.path) as node:

        def follow() -> Result:
            return run_cli(["follow", node.url, "--once", "--output", "json", "--consumer", "c"])

        assert follow().code == 0
        put(folder, LOW)
        ran = follow()
        assert (ran.code, ran.out) == (5, "")
        assert "has appeared below" in ran.err
        assert LOW not in cleaned(folder)
        name = next(path.stem for path in folder.path.with_name("cdc_raw.cdc_tail").glob("consumers/*.json"))
        settle(folder, "deliver", LOW, name=name)
        ran = follow()
        assert (ran.code, [json.loads(line)["columns"]["v"] for line in ran.lines]) == (0, [LOW]), ran.err
        writer = segment(LOW + 1, [1, 2, 3])
        folder.put(writer, f"{writer.sections[0].end}\n")
        assert follow().code == 5
        folder.sidecar(writer, live(writer))
        ran = follow()
        assert (ran.code, [json.loads(line)["columns"]["v"] for line in ran.lines]) == (0, [1, 2, 3]), ran.err
