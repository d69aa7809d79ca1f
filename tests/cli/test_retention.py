"""`clean`, `consumers` and `status` as users, cron jobs and monitors meet them: lines, exit codes, what is written."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tailer.retention.clean import clean
from tailer.snapshot.spool import Spool, spool_folder
from tailer.state.consumer import Consumer
from tests.helpers.cli import ROOT, Result, run_cli
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    completed,
    insert_payload,
    live,
    one_row_log,
    one_row_segment,
    simple_table,
)

ONE = 1_700_000_000_001
TABLE = simple_table("ks", "t")


def segment(number: int) -> SegmentWriter:
    return one_row_segment(TABLE, ONE, number)


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    """Segments 0 to 3, the last one still written."""
    return one_row_log(tmp_path / "cdc_raw", TABLE, ONE, 4)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour has gone by since everything here was written."""
    monkeypatch.setattr("tailer.cli.clean.clean", partial(clean, clock=lambda: time.time() + 3600))


def follow(folder: LogFolder, name: str, *options: str) -> Result:
    return run_cli(["follow", folder.path, "--once", "--output", "json", "--consumer", name, *options])


def there(folder: LogFolder) -> list[int]:
    return sorted(int(file.stem.split("-")[2]) - ONE for file in folder.path.glob("*.log"))


def everything(folder: LogFolder) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.path.parent.rglob("*") if file.is_file()}


@pytest.mark.usefixtures("later")
class TestClean:
    def test_one_line_when_there_is_something_and_none_when_there_is_not(self, folder: LogFolder) -> None:
        assert follow(folder, "billing").code == 0
        ran = run_cli(["clean", folder.path])
        assert (ran.code, ran.err, len(ran.lines)) == (0, "", 1)
        assert ran.lines[0].startswith(f"deleted 3 segments ({ONE} to {ONE + 2}): ")
        assert there(folder) == [3]
        again = run_cli(["clean", folder.path])
        assert (again.code, again.out, again.err) == (0, "", "")

    def test_a_dry_run(self, folder: LogFolder) -> None:
        follow(folder, "billing")
        before = everything(folder)
        ran = run_cli(["clean", folder.path, "--dry-run"])
        assert [line.split()[0] for line in ran.lines] == [*(segment(number).name for number in range(3)), "would"]
        assert everything(folder) == before

    def test_without_consumers(self, folder: LogFolder) -> None:
        refused = run_cli(["clean", folder.path])
        assert refused.code == 6
        assert "--no-consumers" in refused.err
        assert run_cli(["clean", folder.path, "--no-consumers"]).code == 0
        assert there(folder) == [3]

    def test_a_damaged_consumer_file(self, folder: LogFolder) -> None:
        follow(folder, "billing")
        (folder.path.parent / "cdc_raw.cdc_tail" / "consumers" / "other.json").write_text("{")
        refused = run_cli(["clean", folder.path])
        assert refused.code == 6
        assert "other.json" in refused.err
        assert there(folder) == [0, 1, 2, 3]

    def test_limits(self, folder: LogFolder) -> None:
        follow(folder, "slow", "--until", f"{ONE}:60")
        kept = run_cli(["clean", folder.path, "--max-bytes", "1"])
        assert (kept.code, kept.out, there(folder)) == (9, "", [0, 1, 2, 3])
        assert "over the limit are still needed and stay" in kept.err
        assert "consumer slow holds " in kept.err
        taken = run_cli(["clean", folder.path, "--max-bytes", "1", "--force"])
        assert (taken.code, there(folder)) == (0, [3])
        assert "consumer slow loses changes" in taken.out
        told = follow(folder, "slow")
        assert told.code == 5
        assert "`clean --force` deleted segment" in told.err
        check = run_cli(["status", folder.path, "--max-lag", "1d"])
        assert check.code == 5
        assert follow(folder, "slow", "--accept-loss").code == 0
        assert follow(folder, "slow").code == 0
        assert run_cli(["status", folder.path, "--max-lag", "1d"]).code == 0
        listed = json.loads(run_cli(["consumers", folder.path, "--output", "json"]).lines[0])
        assert (listed["lost"], listed["pending"]) == (1, [])

    def test_what_a_forgotten_consumer_holds_over_the_cap_is_told(self, folder: LogFolder) -> None:
        """At 167 % of the cap with all of it held a run was silent, exit 0."""
        follow(folder, "billing")
        follow(folder, "forgotten", "--until", f"{ONE}:60")
        used = sum(file.stat().st_size for file in folder.path.iterdir())
        cap = used * 3 // 5 // 1024
        for options in ([], ["--dry-run"]):
            found = run_cli(["clean", folder.path, "--cap", f"{cap}k", *options])
            assert (found.code, found.out, there(folder)) == (9, "", [0, 1, 2, 3])
            assert "over its cap: what is not read stays" in found.err
            assert "consumer forgotten holds 3 segments (" in found.err
            assert "billing" not in found.err
            assert "cdc-tail consumers DIR drop forgotten" in found.err
        roomy = run_cli(["clean", folder.path, "--cap", f"{used // 1024 + 2}k"])
        assert (roomy.code, roomy.out, roomy.err) == (0, "", "")
        assert run_cli(["clean", folder.path]).code == 0, "a server's default is far away"

    def test_what_nobody_has_to_read_is_no_matter_of_consumers(self, folder: LogFolder) -> None:
        """All of it is read: what is over the cap is what the server still writes, and the witness."""
        follow(folder, "billing")
        found = run_cli(["clean", folder.path, "--cap", "0k"])
        assert (found.code, found.err) == (0, "")

    @pytest.mark.parametrize(
        "options", [["--force"], ["--max-age", "7"], ["--max-bytes", "big"], ["--max-age", "64m"], ["--max-age", "-1s"]]
    )
    def test_wrong_usage(self, options: list[str], folder: LogFolder) -> None:
        follow(folder, "billing")
        assert run_cli(["clean", folder.path, *options]).code == 2
        assert there(folder) == [0, 1, 2, 3]

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        assert run_cli(["clean", tmp_path / "nowhere"]).code == 2
        assert list(tmp_path.iterdir()) == []


class TestConsumers:
    def test_list(self, folder: LogFolder) -> None:
        empty = run_cli(["consumers", folder.path, "--output", "pretty"])
        assert (empty.code, empty.lines) == (0, ["no consumer is registered"])
        follow(folder, "billing")
        follow(folder, "audit", "--node", "dc1")
        listed = [json.loads(line) for line in run_cli(["consumers", folder.path, "list"]).lines]
        assert [(each["consumer"], each["node"], each["running"]) for each in listed] == [
            ("audit", "dc1", False),
            ("billing", "local", False),
        ]
        assert listed[1]["delivered"] == listed[1]["committed"] == f"{ONE + 3}:{segment(3).end}"
        assert listed[1]["lag"] == {"bytes": 0, "segments": 0, "seconds": 0.0}
        pretty = run_cli(["consumers", folder.path, "list", "--output", "pretty"]).lines
        assert [line.split()[0] for line in pretty if not line.startswith(" ")] == ["audit", "billing"]

    def test_drop(self, folder: LogFolder) -> None:
        follow(folder, "billing")
        assert run_cli(["consumers", folder.path, "drop", "billing"]).code == 0
        assert run_cli(["consumers", folder.path]).lines == []
        assert run_cli(["consumers", folder.path, "drop", "billing"]).code == 2
        assert len(follow(folder, "billing").lines) == 4

    def test_rows_that_wait_for_a_query_go_with_its_consumer(self, folder: LogFolder) -> None:
        state = folder.path.parent / "cdc_raw.cdc_tail"
        follow(folder, "billing")
        for name in ("billing", "other"):
            Spool(spool_folder(state, name)).begin("local=1:0")
        with closing(Consumer(state, "billing")):
            assert run_cli(["consumers", folder.path, "drop", "billing"]).code == 6
        assert spool_folder(state, "billing").exists()
        assert run_cli(["consumers", folder.path, "drop", "billing"]).code == 0
        assert [path.name for path in (state / "snapshots").iterdir()] == ["other"]

    def test_a_damaged_one_can_be_dropped(self, folder: LogFolder) -> None:
        follow(folder, "billing")
        (folder.path.parent / "cdc_raw.cdc_tail" / "consumers" / "billing.json").write_text("{")
        listed = run_cli(["consumers", folder.path])
        assert (listed.code, listed.out) == (0, "")
        assert "billing.json" in listed.err
        assert run_cli(["consumers", folder.path, "drop", "billing"]).code == 0
        assert follow(folder, "billing").code == 0

    def test_seek(self, folder: LogFolder) -> None:
        assert len(follow(folder, "billing").lines) == 4
        back = segment(2)
        moved = run_cli(["consumers", folder.path, "seek", "billing", f"{back.segment}:{back.sections[1].start}"])
        assert moved.code == 0
        assert f"to {back.segment}:{back.sections[1].start}" in moved.err
        assert [json.loads(line)["segment"] - ONE for line in follow(folder, "billing").lines] == [2, 3]
        for position, count in (("earliest", 4), ("latest", 0), (f"{ONE + 1}:0", 3)):
            assert run_cli(["consumers", folder.path, "seek", "billing", position]).code == 0
            assert len(follow(folder, "billing").lines) == count

    def test_a_node_that_left_is_forgotten(self, folder: LogFolder) -> None:
        """One state of several nodes: where the others stand stays."""
        assert follow(folder, "billing", "--node", "n1").code == 0
        assert run_cli(["consumers", folder.path, "forget-node", "billing", "n1"]).code == 2, "it has no other"
        assert follow(folder, "billing", "--node", "n2", "--from", "latest").code == 0
        assert run_cli(["consumers", folder.path, "forget-node", "billing", "n3"]).code == 2
        gone = run_cli(["consumers", folder.path, "forget-node", "billing", "n1"])
        assert gone.code == 0
        assert "consumer billing has forgotten node n1, where it stood at" in gone.err
        listed = [json.loads(line) for line in run_cli(["consumers", folder.path]).lines]
        assert [(each["consumer"], each["node"]) for each in listed] == [("billing", "n2")]
        assert follow(folder, "billing", "--node", "n2").lines == []
        assert len(follow(folder, "billing", "--node", "n1").lines) == 4, "as a new one"

    @pytest.mark.usefixtures("later")
    def test_seek_to_what_was_cleaned(self, folder: LogFolder) -> None:
        follow(folder, "billing")
        run_cli(["clean", folder.path])
        folder.put(segment(1), completed(segment(1)))
        gone = run_cli(["consumers", folder.path, "seek", "billing", f"{ONE + 1}:0"])
        assert gone.code == 5
        assert follow(folder, "billing").lines == []

    @pytest.mark.parametrize(
        "words",
        [
            ["drop"],
            ["seek", "billing"],
            ["list", "billing"],
            ["seek", "nobody", "earliest"],
            ["seek", "billing", "yesterday"],
            ["seek", "billing", "earliest", "--node", "other"],
            ["drop", "billing", "--node", "local"],
            ["drop", "../x"],
            ["forget-node", "billing"],
            ["forget-node", "nobody", "local"],
            ["forget-node", "billing", "local", "--node", "local"],
        ],
    )
    def test_wrong_usage(self, words: list[str], folder: LogFolder) -> None:
        follow(folder, "billing")
        before = everything(folder)
        assert run_cli(["consumers", folder.path, *words]).code == 2
        after = {name: data for name, data in everything(folder).items() if not name.endswith("lock")}
        assert after == {name: data for name, data in before.items() if not name.endswith("lock")}

    def test_a_running_one_is_left_alone(self, folder: LogFolder) -> None:
        follow(folder, "billing")
        program = (
            "import sys; from pathlib import Path; from tailer.state.consumer import Consumer\n"
            "held = Consumer(Path(sys.argv[1]), 'billing'); print('held', flush=True); sys.stdin.read()"
        )
        state = folder.path.parent / "cdc_raw.cdc_tail"
        pipe = subprocess.PIPE
        with subprocess.Popen([sys.executable, "-c", program, str(state)], stdin=pipe, stdout=pipe, cwd=ROOT) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            assert run_cli(["consumers", folder.path, "drop", "billing"]).code == 6
            assert run_cli(["consumers", folder.path, "seek", "billing", "earliest"]).code == 6
            assert run_cli(["consumers", folder.path, "forget-node", "billing", "local"]).code == 6
            assert json.loads(run_cli(["consumers", folder.path]).lines[0])["running"] is True
        Consumer(state, "billing").close()


class TestStatus:
    def status(self, folder: LogFolder, *options: str) -> dict[str, Any]:
        ran = run_cli(["status", folder.path, "--output", "json", *options])
        assert (ran.code, ran.err, len(ran.lines)) == (0, "", 1)
        found: dict[str, Any] = json.loads(ran.lines[0])
        return found

    def test_a_folder_nobody_reads(self, folder: LogFolder) -> None:
        before = everything(folder)
        found = self.status(folder)
        assert everything(folder) == before, "it writes nothing"
        assert [each["segment"] - ONE for each in found["segments"]] == [0, 1, 2, 3]
        assert [each["done"] for each in found["segments"]] == [True, True, True, False]
        assert found["segments"][0]["end"] == segment(0).end
        assert found["bytes"] == sum(file.stat().st_size for file in folder.path.iterdir())
        assert found["clean"]["refused"] == "no consumer is registered"
        assert found["cap"]["given"] is False

    def test_a_node_that_is_away_hides_no_other(self, folder: LogFolder, tmp_path: Path) -> None:
        follow(folder, "billing")
        path = f"n1={folder.path},n2={tmp_path / 'n2' / 'cdc_raw'}"
        lines = [json.loads(line) for line in run_cli(["status", path]).lines]
        assert [(each["is"], each["node"]) for each in lines] == [("node", "n1"), ("away", "n2")]
        assert lines[1]["problem"].startswith("no such folder")
        pretty = run_cli(["status", path, "--output", "pretty"])
        assert pretty.code == 0
        assert "AWAY: no such folder" in pretty.out
        checked = run_cli(["status", path, "--max-lag", "1h"])
        assert checked.code == 8
        assert "node n2 is away: no such folder" in checked.err
        assert run_cli(["status", str(tmp_path / "n2" / "cdc_raw")]).code == 2

    def test_what_consumers_hold(self, folder: LogFolder) -> None:
        follow(folder, "billing")
        follow(folder, "slow", "--until", f"{ONE + 1}:60")
        found = self.status(folder, "--cap", "1k", "--node", "dc1")
        assert found["node"] == "dc1"
        assert (found["cap"]["bytes"], found["cap"]["given"]) == (1024, True)
        assert [each["needed_by"] for each in found["segments"]] == [[], ["slow"], ["slow"], ["billing", "slow"]]
        slow = found["consumers"][1]
        rest = segment(1).end - int(slow["delivered"].split(":")[1]) + segment(2).end + segment(3).end
        assert (slow["lag"]["bytes"], slow["lag"]["segments"], slow["holds"]["segments"]) == (rest, 3, 3)

    def test_for_people(self, folder: LogFolder) -> None:
        follow(folder, "billing")
        lines = run_cli(["status", folder.path, "--output", "pretty"]).lines
        assert str(ONE) in lines[5]
        assert any("billing" in line and "stopped" in line for line in lines)
        assert [line for line in lines[1:] if len(line) > 80] == []

    def test_several_nodes(self, folder: LogFolder, tmp_path: Path) -> None:
        other = LogFolder(tmp_path / "other")
        other.put(segment(7), completed(segment(7)))
        ran = run_cli(["status", f"b={other.path},a={folder.path}", "--output", "json"])
        assert [(each["node"], len(each["segments"])) for each in map(json.loads, ran.lines)] == [("a", 4), ("b", 1)]

    def test_a_damaged_consumer_file_is_told_of(self, folder: LogFolder) -> None:
        follow(folder, "billing")
        (folder.path.parent / "cdc_raw.cdc_tail" / "consumers" / "other.json").write_text("{")
        found = self.status(folder)
        assert "other.json" in found["problems"][0]
        assert "other.json" in found["clean"]["refused"]
        assert [each["consumer"] for each in found["consumers"]] == ["billing"]

    def test_as_a_health_check(self, folder: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tailer.cli.status.SECOND_LOOK_SECONDS", 0.0)
        assert run_cli(["status", folder.path, "--max-lag", "1h"]).code == 6
        follow(folder, "billing")
        assert run_cli(["status", folder.path, "--max-lag", "0s"]).code == 0
        writer = segment(3)
        writer.section([insert_payload(TABLE, 9, "a", 9)])
        folder.put(writer, live(writer))
        for limit, code in (("0s", 9), ("1h", 0), ("1m", 0), ("0k", 9)):
            assert run_cli(["status", folder.path, "--max-lag", limit]).code == code
        late = run_cli(["status", folder.path, "--max-lag", "0s"])
        assert "billing" in late.err
        assert run_cli(["status", folder.path, "--max-lag", "5"]).code == 2
        assert run_cli(["status", folder.path, "--max-lag", "5s", "--watch"]).code == 2

    def test_who_moves_between_two_looks_is_not_late(self, folder: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
        follow(folder, "billing", "--until", f"{ONE + 1}:60")
        monkeypatch.setattr("tailer.cli.status.time.sleep", lambda seconds: follow(folder, "billing"))
        assert run_cli(["status", folder.path, "--max-lag", "0k"]).code == 0

    def test_watch_goes_on_until_it_is_interrupted(self, folder: LogFolder) -> None:
        command = [sys.executable, "-c", "from tailer.cli.app import run; run()", "status", str(folder.path)]
        with subprocess.Popen(
            [*command, "--watch", "--every", "0.1", "--output", "json"], stdout=subprocess.PIPE, cwd=ROOT
        ) as watching:
            assert watching.stdout is not None
            reports = [json.loads(watching.stdout.readline()) for _ in range(3)]
            watching.terminate()
            watching.stdout.read()
            assert watching.wait(30) == 0
        assert {report["node"] for report in reports} == {"local"}
