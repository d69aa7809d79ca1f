"""Two real users on one log: the reader's and the server's, set up as docs/cassandra.md says, and set up wrongly."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator

import pytest

from tests.helpers.cli import Result
from tests.helpers.log_writer import completed, live
from tests.helpers.two_users import LATER, ONE, READER, SERVER, Node, node_of_two_users, rows, segment
from tests.helpers.users import User, run_tool

IN_SPARK_WITHOUT_A_JVM = """
import sys
from tailer.options.to_spark import parse_options
from tailer.spark.batch import CdcTailReader
from tailer.spark.source import generic_schema
reader = CdcTailReader(parse_options({"path": sys.argv[1], "consumer": "lake"}), generic_schema())
print(sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part)))
"""
STREAMED = """
import sys
from tailer.options.to_spark import parse_options
from tailer.spark.planner import Planner
planner = Planner(parse_options({"path": sys.argv[1], "consumer": "lake"}))
print(planner.initial())
"""


@pytest.fixture
def node() -> Iterator[Node]:
    with node_of_two_users() as made:
        yield made


class TestTheDocumentedSetUp:
    def test_follow_spark_and_clean_go_on_beside_each_other(self, node: Node) -> None:
        node.documented()
        assert rows(node.follow("billing")) == [0, 1, 2, 3]
        batch = node.shared.run(node.reader, [node.log.path], IN_SPARK_WITHOUT_A_JVM)
        assert (batch.code, batch.out) == (0, "4\n"), batch.err
        stream = node.shared.run(node.reader, [node.log.path], STREAMED)
        assert stream.code == 0, stream.err
        # The stream holds everything: it has read nothing yet.
        assert node.clean(node.server).out == ""
        dropped = node.shared.run(node.reader, ["consumers", node.log.path, "drop", "lake"])
        assert dropped.code == 0, dropped.err
        cleaned = node.clean(node.server)
        assert (cleaned.code, cleaned.err) == (0, ""), cleaned.err
        assert node.logs() == [3]
        node.log.put(segment(3), completed(segment(3)))
        node.log.put(segment(4), live(segment(4)))
        node.give()
        assert rows(node.follow("billing")) == [4]
        assert rows(node.follow("late")) == [3, 4]
        assert node.clean(node.server).code == 0
        assert node.logs() == [4]

    def test_neither_locks_the_other_out(self, node: Node) -> None:
        """Whoever makes a file, under whatever umask: the other one may write it."""
        node.documented()
        node.follow("billing")
        node.clean(node.server)
        node.follow("billing")
        made = [node.state, *node.state.rglob("*")]
        assert {path.stat().st_gid for path in made} == {node.server.gid}
        assert {oct(path.stat().st_mode & 0o7777) for path in made} == {oct(0o2770), oct(0o660)}
        assert {path.stat().st_uid for path in made} == {node.reader.uid, node.server.uid}


class TestAWrongOne:
    def refused(self, node: Node, user: User, *words: str) -> Result:
        """Exit 2, nothing recorded and nothing deleted."""
        before = {str(path): path.read_bytes() for path in node.state.rglob("*") if path.is_file()}
        found = node.clean(user)
        assert found.code == 2, (found.out, found.err)
        for word in words:
            assert word in found.err
        assert {str(path): path.read_bytes() for path in node.state.rglob("*") if path.is_file()} == before
        assert node.logs() == [0, 1, 2, 3]
        return found

    def mended(self, node: Node, found: Result) -> None:
        """With the command that the sentence names."""
        command = found.err.split("Mend it with: ")[1].split("   (")[0].strip().rstrip(".")
        for part in command.split(" && "):
            run_tool(*shlex.split(part.removeprefix("sudo ")))

    def test_who_may_not_delete_records_nothing(self, node: Node) -> None:
        """As the reader: a new consumer that began at the earliest change then had one row of four."""
        node.documented()
        assert rows(node.follow("billing")) == [0, 1, 2, 3]
        self.refused(node, node.reader, f"user {READER}", str(node.log.path), f"sudo -u {SERVER} cdc-tail clean")
        assert rows(node.follow("late")) == [0, 1, 2, 3]

    def test_who_may_not_write_the_state_records_nothing(self, node: Node) -> None:
        """As the server's user, in a state folder that is the reader's alone."""
        node.documented()
        shutil.rmtree(node.state)
        run_tool("install", "-d", "-o", READER, "-g", READER, "-m", "755", str(node.state))
        assert rows(node.follow("billing")) == [0, 1, 2, 3]
        for path in node.state.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        found = self.refused(node, node.server, f"user {SERVER}", str(node.state), "Mend it with: sudo usermod -aG")
        assert rows(node.follow("late")) == [0, 1, 2, 3]
        self.mended(node, found)
        # One more: the journal is of an earlier version, which the group could not write.
        found = self.refused(node, node.server, f"user {SERVER}", f"{node.state}/journal")
        self.mended(node, found)
        assert node.clean(node.server).code == 0
        assert node.logs() == [3]

    def test_a_reader_that_may_not_read_is_told_what_mends_it(self, node: Node) -> None:
        found = node.follow("billing")
        assert (found.code, found.out) == (2, "")
        assert f"no permission for user {READER} ({node.log.path})" in found.err
        assert f"sudo usermod -aG {SERVER} {READER}" in found.err
        self.mended(node, found)
        found = node.follow("billing")
        assert found.code == 2
        install = f"sudo install -d -o {READER} -g {SERVER} -m 2770 {node.state}"
        assert f"cannot make the state folder: no permission for user {READER} ({node.state})" in found.err
        assert f"Create it with: {install} " in found.err
        run_tool(*shlex.split(install)[1:])
        assert rows(node.follow("billing")) == [0, 1, 2, 3]

    @pytest.mark.parametrize("suffix", [".log", "_cdc.idx"])
    def test_a_file_of_a_server_with_another_umask(self, node: Node, suffix: str) -> None:
        node.documented()
        path = node.log.path / f"CommitLog-7-{ONE + 1}{suffix}"
        path.chmod(0o600)
        found = node.follow("billing")
        assert found.code == 2
        assert f"no permission for user {READER} ({path})" in found.err
        before = len(found.lines)
        self.mended(node, found)
        assert rows(node.follow("billing")) == [0, 1, 2, 3][before:]

    @pytest.mark.parametrize("option", ["--keystore", "--keystore-password-file", "--schema", "--config"])
    def test_a_file_that_an_option_names(self, node: Node, option: str) -> None:
        node.documented()
        secret, keystore = node.shared.path / "secret", node.shared.path / "keystore"
        for path in (secret, keystore):
            path.write_text("")
            path.chmod(0o640 if path == secret else 0o644)
            os.chown(path, node.server.uid, node.server.gid)
        run_tool("gpasswd", "-d", READER, SERVER)
        for path in (node.log.path, *node.log.path.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)
        more = ["--keystore", keystore] if option == "--keystore-password-file" else []
        found = node.shared.run(node.reader, [*node.following("billing"), *more, option, secret])
        assert found.code == 2, found.err
        assert f"no permission for user {READER} ({secret})" in found.err
        assert f"Mend it with: sudo usermod -aG {SERVER} {READER}" in found.err

    def test_a_private_state_elsewhere(self, node: Node) -> None:
        node.documented()
        private = node.shared.path / "private"
        found = node.shared.run(node.reader, [*node.following("billing"), "--state", private])
        assert found.code == 2
        assert f"no permission for user {READER} ({private})" in found.err
        assert f"sudo install -d -o {READER} " in found.err

    def test_a_state_that_may_not_be_read_is_not_taken_for_an_empty_one(self, node: Node) -> None:
        """As if nobody were registered."""
        node.documented()
        node.follow("billing")
        node.state.chmod(0o700)
        for words in (["status"], ["consumers"], ["clean"], ["schema"]):
            found = node.shared.run(node.server, [words[0], node.log.path])
            told = found.err + found.out
            assert f"no permission for user {SERVER}" in told, (words, told)
            assert f"{node.state}" in told
            assert "no consumer is registered" not in told
        assert node.logs() == [0, 1, 2, 3]

    def test_a_state_that_may_only_be_read_is_enough_to_look(self, node: Node) -> None:
        node.documented()
        node.follow("billing")
        shutil.copytree(node.log.path, node.shared.path / "copy" / "cdc_raw")
        copied = node.shared.path / "copy" / "cdc_raw.cdc_tail"
        shutil.copytree(node.state, copied)
        for path in (node.shared.path / "copy").rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        raw = node.shared.path / "copy" / "cdc_raw"
        for words in (["status", raw], ["schema", raw], ["verify", raw], ["consumers", raw], ["inspect", raw]):
            found = node.shared.run(node.reader, words)
            assert found.code == 0, (words, found.err)
        batch = node.shared.run(node.reader, [raw], IN_SPARK_WITHOUT_A_JVM)
        assert batch.code == 0, batch.err


class TestRoot:
    """Started by root a command is the owner's whose folder it writes in."""

    def owners(self, node: Node) -> dict[str, tuple[int, int]]:
        return {path.name: (path.stat().st_uid, path.stat().st_gid) for path in node.state.rglob("*")}

    def test_who_writes_the_state_becomes_its_owner(self, node: Node) -> None:
        node.documented()
        reader, group = node.reader.uid, node.server.gid
        said = f"started by root: runs as {READER}:{SERVER}, to whom {node.state} belongs"
        found = node.shared.run(None, node.following("billing"))
        assert rows(found) == [0, 1, 2, 3]
        assert found.err.count(said) == 1
        for words in (["seek", "billing", "earliest"], ["drop", "billing"]):
            found = node.shared.run(None, ["consumers", node.log.path, *words])
            assert (found.code, found.err.count(said)) == (0, 1), found.err
        retracted = node.shared.run(None, ["schema", "retract", "1", node.log.path])
        assert (retracted.code, retracted.err.count(said)) == (0, 1), retracted.err
        assert set(self.owners(node).values()) == {(reader, group)}

    def test_clean_becomes_the_owner_of_the_log(self, node: Node) -> None:
        node.documented()
        node.follow("billing")
        found = node.shared.run(None, ["clean", node.log.path], LATER)
        assert found.code == 0, found.err
        assert f"runs as {SERVER}:{SERVER}, to whom {node.log.path} belongs" in found.err
        assert node.logs() == [3]
        assert self.owners(node)["cleaned.json"] == (node.server.uid, node.server.gid)
        assert rows(node.follow("late")) == [3]

    @pytest.mark.parametrize("name", ["journal", "lock", "consumers/billing.lock"])
    def test_the_owners_links_lead_root_nowhere(self, node: Node, name: str) -> None:
        node.documented()
        (node.state / "consumers").mkdir(exist_ok=True)
        victim = node.shared.path / "of_root"
        victim.write_text("precious")
        victim.chmod(0o600)
        (node.state / name).symlink_to(victim)
        os.chown(node.state / "consumers", node.reader.uid, -1)
        found = node.shared.run(None, node.following("billing"))
        assert found.code == 2
        assert "expected a regular file, found a link" in found.err
        assert victim.read_text() == "precious"

    def test_without_a_state_it_is_the_logs_owner(self, node: Node) -> None:
        found = node.shared.run(None, node.following("billing"))
        assert rows(found) == [0, 1, 2, 3]
        assert node.state.stat().st_uid == node.server.uid
        assert {uid for uid, _ in self.owners(node).values()} == {node.server.uid}

    def test_a_services_log_stays_its_users(self, node: Node) -> None:
        folder, schema = node.home / "shop", node.shared.path / "shop.cql"
        schema.write_text("CREATE TABLE shop.t (k int PRIMARY KEY, v int) WITH cdc = true;")
        folder.mkdir()
        os.chown(folder, node.server.uid, node.server.gid)
        found = node.shared.run(None, ["write", folder, "--schema", schema])
        assert found.code == 0, found.err
        assert f"runs as {SERVER}:{SERVER}" in found.err
        assert {path.stat().st_uid for path in folder.rglob("*")} == {node.server.uid}
