"""Bytes that came with a list: joined, old, of no use, and of another file."""

from __future__ import annotations

from base64 import b64encode

import pytest

from tailer.errors import CorruptError
from tailer.framing.name import SegmentName
from tailer.remote.ahead import MISSES_MAX, PAUSE_SECONDS, Ahead, Piece
from tailer.remote.seen import Seen
from tailer.wire.listing import BytesInfo, ListAnswer, LogInfo, SidecarInfo
from tailer.wire.wishes import Wish

NAME = SegmentName(7, 1_700_000_000_001)
FILE = bytes(range(256)) * 4


class Node:
    """A node's list, told to a reader, and what comes with it. The file's bytes are those of `FILE`."""

    def __init__(self) -> None:
        self.now, self.seen = 0.0, Seen()
        self.ahead = Ahead(lambda: self.now)
        self.ahead.follow(NAME)
        self._version = 0

    def tell(
        self, idx: int, *, at: int | None = None, tail: bytes = b"", etag: str = "e", completed: bool = False
    ) -> None:
        """It is durable up to there; with the bytes from `at` on, and a few behind."""
        self._version += 1
        log = LogInfo(NAME.log, len(FILE), idx, completed, 0)
        sidecar = SidecarInfo(NAME.sidecar, b64encode(b"%d" % idx).decode(), 0)
        came = [] if at is None else [info(at, FILE[at:idx] + tail, etag)]
        answer = ListAnswer("h", 1, [log], [sidecar], etag=f"b-{self._version}", boot="b", ahead=came)
        self.seen.take(answer, 0.0)
        self.ahead.take(answer.ahead, self.seen)

    def find(self, at: int, etag: str = "e") -> Piece | None:
        return self.ahead.find(NAME, at, etag, self.seen.changed(NAME.segment))

    @property
    def wishes(self) -> list[Wish]:
        return self.ahead.wishes(self.seen)


def info(at: int, data: bytes, etag: str = "e") -> BytesInfo:
    return BytesInfo(NAME.log, at, len(FILE), etag, b64encode(data).decode())


@pytest.fixture
def node() -> Node:
    return Node()


def test_what_is_wished_for_begins_at_what_is_durable(node: Node) -> None:
    node.tell(100)
    assert node.wishes == [Wish(NAME, 100)]
    node.tell(120, completed=True)
    assert node.wishes == []


def test_nothing_is_wished_of_what_nobody_follows(node: Node) -> None:
    node.tell(100)
    node.ahead.leave(NAME)
    assert node.wishes == []


def test_they_are_found_once(node: Node) -> None:
    node.tell(100)
    node.tell(130, at=100, tail=b"tail")
    found = node.find(110)
    assert found is not None
    assert (found.at, found.data, found.size) == (100, FILE[100:130] + b"tail", len(FILE))
    assert node.find(110) is None


def test_what_was_not_wanted_yet_is_joined(node: Node) -> None:
    node.tell(100)
    node.tell(130, at=100, tail=b"old")
    node.tell(170, at=130, tail=b"new")
    found = node.find(100)
    assert found is not None
    assert (found.at, found.data) == (100, FILE[100:170] + b"new")


def test_what_was_behind_the_durable_part_is_never_joined(node: Node) -> None:
    """A list without bytes came between: 130 to 134 are old in what came first."""
    node.tell(100)
    node.tell(130, at=100, tail=b"old.")
    node.tell(134)
    node.tell(170, at=134)
    assert node.find(100) is None


def test_much_is_not_joined(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.remote.ahead.KEPT_BYTES_MAX", 50)
    node.tell(100)
    node.tell(130, at=100)
    node.tell(170, at=130)
    found = node.find(130)
    assert found is not None
    assert (found.at, found.data) == (130, FILE[130:170])


def test_bytes_before_the_newest_change_are_old(node: Node) -> None:
    node.tell(100)
    node.tell(130, at=100)
    node.tell(150)
    assert node.find(100) is None


def test_another_file_of_that_name_has_others(node: Node) -> None:
    node.tell(100)
    node.tell(130, at=100, etag="another")
    assert node.find(100) is None


def test_after_some_that_were_of_no_use_there_is_a_pause(node: Node) -> None:
    for count in range(MISSES_MAX):
        node.tell(100 + count)
        assert node.wishes
        node.tell(101 + count, at=100 + count)
        assert node.find(50) is None
    assert node.wishes == []
    node.now += PAUSE_SECONDS
    assert node.wishes


def test_a_use_between_makes_good_for_it(node: Node) -> None:
    for count in range(MISSES_MAX * 2):
        node.tell(100 + count)
        node.tell(101 + count, at=100 + count)
        assert (node.find(100 + count if count % 2 else 50) is not None) == bool(count % 2)
    assert node.wishes


def test_bytes_that_are_none_are_said_to_be(node: Node) -> None:
    node.tell(100)
    with pytest.raises(CorruptError, match="not understood"):
        node.ahead.take([BytesInfo(NAME.log, 100, 1, "e", "no base64!")], node.seen)
