"""What the planner remembers of segments, in the journal: against a model, over kills, by each mark; a small file."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.errors import RefusedError
from tailer.retention.forget_memory import put_together
from tailer.state.consumer import Consumer
from tailer.state.consumers import Mark, NodeState, consumer_path, read_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.ids import Ids
from tailer.state.journal_records import MemoryRecord
from tailer.state.modes import make_folder
from tailer.state.offset import Memory, NodeOffset
from tailer.state.remembered import recalled, registered

KIB = 1024
DAY_MS = 86_400_000
NEWEST = 1_795_258_311_984


def save(consumer: Consumer, state: NodeState, node: str = "local") -> None:
    consumer.save(node, state, moved=1.0, program="test")


def records(state: Path) -> list[MemoryRecord]:
    return [r for r in FolderJournal(state, writable=False).read() if isinstance(r, MemoryRecord)]


def bare_numbers(memory: Memory) -> Memory:
    return msgspec.structs.replace(memory, upto=0)


def memories(state: NodeState) -> list[Memory]:
    return [bare_numbers(memory) for memory in (state.memory, *(mark.memory for mark in state.ahead))]


class TestFile:
    def test_it_is_small_however_much_is_remembered(self, tmp_path: Path) -> None:
        holes = Ids((NEWEST - 3 * n * 1000, NEWEST - 3 * n * 1000 + 500) for n in range(20_000, 0, -1))
        seen = Ids.of(NEWEST + 3 * n for n in range(2, 10_000))
        memory = Memory(start=NEWEST - 20 * DAY_MS, highest=NEWEST + 90_000, seen=seen, holes=holes)
        offset = NodeOffset(900_000, NEWEST, 33_554_000, False, ((NEWEST - 5, 0), (NEWEST - 3, 1000)))
        ahead = tuple(
            Mark(
                msgspec.structs.replace(offset, s=NEWEST + n, p=()),
                msgspec.structs.replace(
                    memory, holes=holes.with_ids([NEWEST + 3 * n - 2]), seen=seen.from_id(NEWEST + 3 * n + 1)
                ),
            )
            for n in (1, 2)
        )
        consumer = Consumer(tmp_path, "billing")
        state = NodeState(offset, memory, (NEWEST, 0), offset, ahead)
        save(consumer, state)
        consumer.close()
        assert consumer_path(tmp_path, "billing").stat().st_size < 4 * KIB
        again = Consumer(tmp_path, "billing")
        found = again.node("local")
        assert found is not None
        assert memories(found) == memories(state)
        again.close()

    def test_what_did_not_change_is_not_written_again(self, tmp_path: Path) -> None:
        consumer = Consumer(tmp_path, "c")
        memory = Memory(1, 9, Ids.of([8, 9]), Ids(), Ids([(3, 4)]))
        for at in range(5):
            save(consumer, NodeState(NodeOffset(0, 7, at), memory))
        assert len(records(tmp_path)) == 1
        # What the position is past is left out by itself, and numbers are in the file.
        save(consumer, NodeState(NodeOffset(0, 8, 0), Memory(1, 10, Ids.of([9]), Ids(), Ids([(3, 4)]))))
        assert len(records(tmp_path)) == 1
        consumer.close()
        assert recalled(read_consumer(consumer_path(tmp_path, "c"), "c"), FolderJournal(tmp_path)).nodes[
            "local"
        ].memory == Memory(1, 10, Ids.of([9]), Ids(), Ids([(3, 4)]), upto=1)

    def test_a_gap_costs_some_forty_bytes_once_they_are_put_together(self, tmp_path: Path) -> None:
        holes = Ids((NEWEST + 3000 * n, NEWEST + 3000 * n + 500) for n in range(1000))
        consumer = Consumer(tmp_path, "c")
        save(consumer, NodeState(NodeOffset(0, NEWEST * 2, 0), Memory(holes=holes)))
        consumer.close()
        assert (tmp_path / "journal").stat().st_size < 40 * 1000

    def test_a_file_of_version_1_is_read_and_written_as_today_s(self, tmp_path: Path) -> None:
        path = consumer_path(tmp_path, "c")
        make_folder(path.parent)
        path.write_text(
            '{"name":"c","nodes":{"local":{"offset":{"j":0,"s":12,"o":5,"done":false,"p":[[10,0]]},'
            '"memory":{"start":5,"highest":20,"seen":[13,15,14],"bare":[20],"holes":[[6,8],[11,11]]},'
            '"ahead":[{"offset":{"j":0,"s":14,"o":1,"done":false,"p":[]},"memory":{"seen":[15],"holes":[[6,8]]}}]}},"v":1}'
        )
        told = Memory(5, 20, Ids([(13, 15)]), Ids.of([20]), Ids([(6, 8), (11, 11)]))
        ahead = Memory(seen=Ids.of([15]), holes=Ids([(6, 8)]))
        for _ in range(2):
            consumer = Consumer(tmp_path, "c")
            state = consumer.node("local")
            assert state is not None
            assert memories(state) == [told, ahead]
            save(consumer, state)
            consumer.close()
            assert msgspec.json.decode(path.read_bytes())["v"] == 3
            assert b"holes" not in path.read_bytes()
        assert len(records(tmp_path)) == 2

    def test_without_its_records_it_is_refused(self, tmp_path: Path) -> None:
        consumer = Consumer(tmp_path, "c")
        save(consumer, NodeState(NodeOffset(s=9), Memory(holes=Ids([(3, 4)]))))
        consumer.close()
        (tmp_path / "journal").unlink()
        with pytest.raises(RefusedError, match="journal is shorter"):
            Consumer(tmp_path, "c")

    def test_a_file_from_before_a_compaction_is_refused(self, tmp_path: Path) -> None:
        """One file of a backup, copied back alone: what it counts is put together with what came later."""
        consumer = Consumer(tmp_path, "c")
        for at in (10, 20):
            save(consumer, NodeState(NodeOffset(s=at), Memory(holes=Ids([(3, 4), (at - 2, at - 1)]))))
            if at == 10:
                before = consumer_path(tmp_path, "c").read_bytes()
        consumer.close()
        journal = FolderJournal(tmp_path)
        known = registered(tmp_path, journal)
        assert journal.compact(0, lambda records: put_together(records, known, 0)) is not None
        consumer_path(tmp_path, "c").write_bytes(before)
        with pytest.raises(RefusedError, match="older than what the journal still knows of it"):
            Consumer(tmp_path, "c")

    def test_a_name_that_comes_again_remembers_nothing_of_the_one_before(self, tmp_path: Path) -> None:
        consumer = Consumer(tmp_path, "c")
        save(consumer, NodeState(NodeOffset(s=9), Memory(holes=Ids([(3, 4)]))))
        consumer.close()
        consumer_path(tmp_path, "c").unlink()
        for memory in (Memory(start=7), Memory(start=7, holes=Ids([(9, 9)]))):
            consumer = Consumer(tmp_path, "c")
            save(consumer, NodeState(NodeOffset(s=12), memory))
            consumer.close()
            consumer = Consumer(tmp_path, "c")
            state = consumer.node("local")
            assert state is not None
            assert bare_numbers(state.memory) == memory
            consumer.close()

    def test_each_node_has_its_own(self, tmp_path: Path) -> None:
        consumer = Consumer(tmp_path, "c")
        save(consumer, NodeState(NodeOffset(s=9), Memory(holes=Ids([(3, 4)]))), "a")
        save(consumer, NodeState(NodeOffset(s=9), Memory(holes=Ids([(5, 6)]))), "b")
        consumer.close()
        consumer = Consumer(tmp_path, "c")
        assert [state.memory.holes.ranges for state in consumer.content.nodes.values()] == [((3, 4),), ((5, 6),)]
        consumer.close()


def made(chance: random.Random, at: int, ever: set[int]) -> tuple[NodeOffset, Memory]:
    """Any memory that a planner may have in segment `at`; `ever`: segments whose sidecars were ever seen."""
    late = {n for n in range(at) if chance.random() < 0.1}
    seen = {n for n in range(at + 1, 40) if chance.random() < 0.3}
    seen |= {n for n in late if n in ever or chance.random() < 0.5}
    ever |= seen
    bare = {n for n in range(at + 1, 40) if chance.random() < 0.3} - seen
    holes = {n for n in range(at) if chance.random() < 0.3}
    offset = NodeOffset(0, at, 0, False, tuple((n, 0) for n in sorted(late)))
    return offset, Memory(1, 40, Ids.of(seen), Ids.of(bare), Ids.of(holes))


@given(st.integers(0, 2**32))
def test_every_mark_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Whatever is remembered from one save to the next, also by runs that were killed between journal and file."""
    chance = random.Random(seed)
    state = tmp_path_factory.mktemp("state")
    consumer = Consumer(state, "c")
    at, ever = 0, set[int]()
    for _ in range(chance.randrange(1, 8)):
        at = min(at + chance.randrange(4), 35)
        first, *rest = (made(chance, at + n * chance.randrange(2), ever) for n in range(chance.randrange(1, 4)))
        if chance.random() < 0.3:
            # The journal has it, the file has not: this run was killed in between.
            other = Consumer.__new__(Consumer)
            other.__dict__.update(consumer.__dict__)
            other._keep("local", NodeState(*made(chance, at, ever)))
        if chance.random() < 0.5:
            consumer.close()
            consumer = Consumer(state, "c")
        kept = NodeState(*first, ahead=tuple(Mark(*mark) for mark in rest))
        save(consumer, kept)
        found = recalled(read_consumer(consumer_path(state, "c"), "c"), FolderJournal(state, writable=False)).nodes[
            "local"
        ]
        assert bare_numbers(found.memory) == kept.memory
        assert [bare_numbers(mark.memory) for mark in found.ahead] == [mark.memory for mark in kept.ahead]
    consumer.close()
