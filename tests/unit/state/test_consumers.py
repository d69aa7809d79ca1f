"""Consumers: positions replaced atomically, one holder at a time, files of the future refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tailer.errors import RefusedError, SystemFailedError, UsageError
from tailer.options.names import check_name
from tailer.state.consumer import Consumer
from tailer.state.consumers import NodeState, read_consumer
from tailer.state.ids import Ids
from tailer.state.modes import replace_file
from tailer.state.offset import Memory, NodeOffset
from tests.helpers.cli import ROOT, run_cli
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)

STATE = NodeState(
    NodeOffset(3, 12, 340, False, ((10, 0), (11, 99))),
    Memory(5, 14, Ids.of([13, 14]), Ids.of([15]), Ids([(6, 8)]), 4, 12),
    (12, 340),
    NodeOffset(s=5),
)


def save(consumer: Consumer, state: NodeState = STATE, node: str = "local") -> None:
    consumer.save(node, state, moved=1_700_000_000.5, program="a test")


class TestFile:
    def test_what_was_saved_comes_back(self, tmp_path: Path) -> None:
        first = Consumer(tmp_path, "billing")
        assert first.node("local") is None
        save(first)
        save(first, NodeState(NodeOffset(s=9)), "other")
        first.close()
        again = Consumer(tmp_path, "billing")
        kept = msgspec.structs.replace(STATE.memory, upto=1)
        assert again.node("local") == msgspec.structs.replace(STATE, memory=kept)
        assert again.node("other") == NodeState(NodeOffset(s=9))
        assert (again.content.moved, again.content.program) == (1_700_000_000.5, "a test")
        again.close()

    def test_it_is_readable_text(self, tmp_path: Path) -> None:
        consumer = Consumer(tmp_path, "billing")
        save(consumer)
        consumer.close()
        data = json.loads((tmp_path / "consumers" / "billing.json").read_text())
        assert data["v"] == 3
        assert data["name"] == "billing"
        assert data["nodes"]["local"]["offset"] == {
            "j": 3,
            "s": 12,
            "o": 340,
            "done": False,
            "p": [[10, 0], [11, 99]],
            "id": "",
        }

    def test_a_replacement_that_fails_leaves_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        consumer = Consumer(tmp_path, "billing")
        save(consumer)

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(SystemFailedError, match="No space left"):
            save(consumer, NodeState(NodeOffset(s=99)))
        monkeypatch.undo()
        consumer.close()
        assert read_consumer(tmp_path / "consumers" / "billing.json", "billing").nodes["local"].offset == STATE.offset

    def test_the_bytes_are_synced_before_the_name_and_the_folder_after_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"old")
        seen: list[tuple[bytes, bool]] = []
        sync = os.fsync

        def watched(descriptor: int) -> None:
            seen.append((path.read_bytes(), os.path.samestat(os.fstat(descriptor), tmp_path.stat())))
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", watched)
        replace_file(path, b"new")
        assert seen == [(b"old", False), (b"new", True)]

    def test_what_a_kill_left_of_a_replacement_is_no_matter(self, tmp_path: Path) -> None:
        consumer = Consumer(tmp_path, "billing")
        save(consumer)
        (tmp_path / "consumers" / "billing.json.new").write_bytes(b'{"v":1,"na')
        save(consumer)
        consumer.close()
        assert not (tmp_path / "consumers" / "billing.json.new").exists()

    @pytest.mark.parametrize("length", [0, 1, 40, -2])
    def test_a_cut_file_is_refused(self, length: int, tmp_path: Path) -> None:
        consumer = Consumer(tmp_path, "billing")
        save(consumer)
        consumer.close()
        path = tmp_path / "consumers" / "billing.json"
        path.write_bytes(path.read_bytes()[:length])
        with pytest.raises(RefusedError) as caught:
            Consumer(tmp_path, "billing")
        assert str(path) in caught.value.sentence()
        Consumer(tmp_path, "other").close()

    def test_a_newer_version_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "consumers" / "billing.json"
        path.parent.mkdir()
        path.write_text('{"v":4,"name":"billing","nodes":{},"more":"of the future"}')
        with pytest.raises(RefusedError) as caught:
            Consumer(tmp_path, "billing")
        assert (caught.value.expected, caught.value.found) == ("3 or lower", 4)
        assert "newer" in caught.value.remedy
        path.write_text('{"v":1,"name":"billing","nodes":{}}')
        Consumer(tmp_path, "billing").close()


class TestNames:
    @pytest.mark.parametrize("name", ["a", "billing", "A-1.b_c", "9" * 100])
    def test_good(self, name: str) -> None:
        assert check_name(name) == name

    @pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", ".x", "a b", "ä", "x" * 101, "a\n"])
    def test_bad(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(UsageError):
            Consumer(tmp_path, name)


class TestLock:
    def test_one_holder_at_a_time(self, tmp_path: Path) -> None:
        first = Consumer(tmp_path, "billing")
        with pytest.raises(RefusedError, match=f"process {os.getpid()}"):
            Consumer(tmp_path, "billing")
        Consumer(tmp_path, "other").close()
        first.close()
        Consumer(tmp_path, "billing").close()

    def test_a_second_process_ends_with_exit_6(self, tmp_path: Path) -> None:
        folder = LogFolder(tmp_path / "cdc_raw")
        writer = segment_of(5, [[create_payload(simple_table("ks", "t"))]])
        folder.put(writer, live(writer))
        program = (
            "import sys; from pathlib import Path; from tailer.state.consumer import Consumer\n"
            "held = Consumer(Path(sys.argv[1]), 'billing'); print('held', flush=True); sys.stdin.read()"
        )
        state = tmp_path / "cdc_raw.cdc_tail"
        holder = subprocess.Popen(
            [sys.executable, "-c", program, str(state)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        assert holder.stdin is not None
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == b"held\n"
            command: list[str | Path] = ["follow", folder.path, "--once", "--consumer", "billing"]
            refused = run_cli(command)
            assert refused.code == 6
            assert f"process {holder.pid}" in refused.err
        finally:
            holder.kill()
            holder.wait()
            holder.stdin.close()
            holder.stdout.close()
        assert run_cli(command).code == 0, "a killed holder holds nothing"

    def test_the_lock_of_a_predecessor_about_to_die_is_waited_for(self, tmp_path: Path) -> None:
        first = Consumer(tmp_path, "billing")
        with pytest.raises(RefusedError):
            Consumer(tmp_path, "billing", lock_seconds=0.15)
        first.close()
        Consumer(tmp_path, "billing", lock_seconds=5).close()


def test_a_run_resumes_in_the_middle_of_a_segment(tmp_path: Path) -> None:
    table = simple_table("ks", "t")
    writer = segment_of(5, [[create_payload(table)], [insert_payload(table, 1, "a", 1)]])
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(writer, live(writer))
    command: list[str | Path] = ["follow", folder.path, "--once", "--output", "json", "--consumer", "billing"]
    assert [json.loads(line)["columns"]["v"] for line in run_cli(command).lines] == [1]
    assert run_cli(command).lines == []
    writer.section([insert_payload(table, 2, "b", 2)])
    folder.put(writer, completed(writer))
    assert [json.loads(line)["columns"]["v"] for line in run_cli(command).lines] == [2]
