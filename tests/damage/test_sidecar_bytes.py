"""Every prefix and every flipped bit of a sidecar, and sidecars that tell anything else than the truth.

In two layers. Every text is decoded, and held against a grammar of the tests' own. The whole follower reads those that
are the first to tell an end of their kind (by the section edges before and behind it), and a sixteenth of the others.
`CDC_TAIL_TESTS=all` (the soak): it reads every one.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tailer.framing.sidecar import Sidecar, decode_sidecar
from tailer.position import Position
from tests.damage import counts
from tests.damage.choice import ALL, SHARE
from tests.damage.rules import check_prefix, ending
from tests.damage.sample import SEGMENT, Sample, read, sample
from tests.helpers.log_writer import FORMATS, LogFolder, SegmentWriter, completed, live, restarted

pytestmark = pytest.mark.damage

TEXT = re.compile(rb"(\d{1,10})(?:\n(COMPLETED|DONE)?\s*)?", re.ASCII)
OWN = re.compile(rb"(\d{1,10}) (\d{1,10}) (\d+):(\d+)(?:\n(COMPLETED|DONE)?\s*)?", re.ASCII)
OFFSET_MAX = 2**31 - 1


def told(text: bytes | None) -> Sidecar | None:
    """What a sidecar's bytes say."""
    match = TEXT.fullmatch(text or b"")
    if match is None or int(match[1]) > OFFSET_MAX:
        return None
    return Sidecar(int(match[1]), match[2] is not None)


def own_told(text: bytes) -> Sidecar | None:
    """The same in the own grammar, of which a prefix may be one number."""
    match = OWN.fullmatch(text)
    if match is None:
        return told(text)
    first, end, segment, offset = map(int, match.groups()[:4])
    return (
        Sidecar(end, match[5] is not None, first, Position(segment, offset)) if max(first, end) <= OFFSET_MAX else None
    )


def expected(it: Sample, text: bytes | None, stopped: bool) -> tuple[tuple[str, ...], int]:
    """The rows and the exit code that follow from a sidecar as it reads; the log is sound."""
    says = told(text)
    end = 0 if says is None else says.end
    if says is None and not stopped:
        return (), 0
    if says is not None and says.completed and says.end == len(it.writer.data):
        return it.rows, 0
    if stopped or (says is not None and says.completed):
        return it.rows, 4 if end > it.writer.end else 0
    return it.vouched(end), 4 if end > it.writer.end else 0


def check(test: str, it: Sample, folder: LogFolder, text: bytes | None, *, stopped: bool) -> None:
    file = folder.path / it.writer.sidecar_name
    if text is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(text)
    outcome = read(folder.path, stopped=stopped)
    rows, code = expected(it, text, stopped)
    check_prefix(outcome, rows)
    assert (outcome.rows, outcome.code) == (list(rows), code), f"{text!r}, stopped {stopped}: {outcome.error}"
    counts.note(test, it.writer.form.name, ending(outcome))


@pytest.fixture(params=FORMATS)
def it(request: pytest.FixtureRequest, samples: Path) -> Sample:
    return sample(request.param, samples)


@pytest.fixture
def folder(it: Sample, tmp_path: Path) -> LogFolder:
    made = LogFolder(tmp_path / "cdc_raw")
    made.put(it.writer)
    return made


KINDS: dict[str, Callable[[SegmentWriter], str]] = {"live": live, "completed": completed, "restarted": restarted}


def prefixes(text: bytes) -> Iterator[bytes]:
    return (text[:length] for length in range(len(text)))


def flips(text: bytes) -> Iterator[bytes]:
    for at in range(len(text)):
        for bit in range(8):
            yield text[:at] + bytes([text[at] ^ 1 << bit]) + text[at + 1 :]


def chosen(it: Sample, texts: Mapping[bytes, Sidecar | None]) -> Iterator[bytes]:
    """Those that the follower reads of texts and what each must tell; every one is decoded."""
    edges = sorted({0, it.writer.header_length, *(section.end for section in it.writer.sections), len(it.writer.data)})
    met: set[object] = set()
    for text, due in texts.items():
        assert decode_sidecar(text) == due, text
        place = due and (bisect_left(edges, due.end), bisect_right(edges, due.end))
        own = due and due.restart and (due.restart.segment == SEGMENT, due.restart.offset == due.end)
        kind = (place, own, due and due.completed)
        if ALL or kind not in met or zlib.crc32(text) % SHARE == 0:
            yield text
        met.add(kind)


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_prefix_and_bit(kind: str, stopped: bool, it: Sample, folder: LogFolder) -> None:
    text = KINDS[kind](it.writer).encode()
    for name, damaged in (("prefix", prefixes(text)), ("bit", flips(text))):
        for wrong in chosen(it, {each: told(each) for each in damaged}):
            check(f"sidecar {name}, {kind}", it, folder, wrong, stopped=stopped)


ODD: dict[str, bytes | None] = {
    "absent": None,
    "empty": b"",
    "zeros": bytes(9),
    "word only": b"\nCOMPLETED",
    "other word": b"100\nCOMPLETE",
    "negative": b"-5",
    "sign": b"+960",
    "blank before": b" 960",
    "hex": b"0x3c0",
    "fraction": b"960.0",
    "other digits": "٩٦٠".encode(),
    "too long": b"9" * 300,
    "beyond 32 bits": b"4294967296",
    "largest": b"2147483647",
    "zero": b"0",
    "in the header": b"7",
    "last line end": b"960\n",
    "two numbers": b"20 960",
}


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts(text: bytes | None, stopped: bool, it: Sample, folder: LogFolder) -> None:
    check("sidecar odd", it, folder, text, stopped=stopped)


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_every_number_near_an_edge(stopped: bool, it: Sample, folder: LogFolder) -> None:
    """A number between two edges vouches for what lies before it; one beyond the log's end is a promise not kept."""
    edges = [section.end for section in it.writer.sections]
    for number in sorted({edge + more for edge in edges for more in (-1, 0, 1, 9)}):
        for text in (f"{number}", f"{number}\nCOMPLETED"):
            check("sidecar number", it, folder, text.encode(), stopped=stopped)


def test_the_own_grammar_says_the_same(it: Sample, folder: LogFolder) -> None:
    """`<min> <end> <restart>`, as writer_hooks publishes it: every prefix of it is a promise or none."""
    text = f"20 {it.before_last} {it.writer.segment}:{it.before_last}\nDONE".encode()
    for damaged in chosen(it, {each: own_told(each) for each in (*prefixes(text), *flips(text))}):
        (folder.path / it.writer.sidecar_name).write_bytes(damaged)
        outcome = read(folder.path)
        check_prefix(outcome, it.rows)
        counts.note("sidecar own grammar", it.writer.form.name, ending(outcome))
    (folder.path / it.writer.sidecar_name).write_bytes(text.removesuffix(b"\nDONE"))
    assert read(folder.path).rows == list(it.vouched(it.before_last))
    (folder.path / it.writer.sidecar_name).write_bytes(text)
    assert read(folder.path).rows == list(it.rows)
