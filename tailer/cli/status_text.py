"""What `status` and `consumers list` show to people: text of facts that others gathered, for a terminal of some width.

Only a word that is longer than a line, such as a path, goes beyond it: cut it would be of no use.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from tailer.retention.status import AwayNode, ConsumerStatus, NodeStatus, ReadStatus, SegmentStatus
from tailer.sinks.text import aligned, shorten, size_text, width

_INDENT: Final = "  "
_RIGHT: Final = frozenset({1, 2})
_NAMES_MIN: Final = 16
"""Columns of the names of consumers in a table, however narrow the terminal."""


def node_lines(status: NodeStatus, now: float, columns: int) -> Iterator[str]:
    """One node: a summary, its segments, its consumers, what is wrong."""
    yield f"{status.node}  {status.folder}"
    for sentence in _summary(status):
        yield from _wrapped(sentence, _INDENT, columns)
    within = columns - len(_INDENT)
    for line in (*_segment_lines(status.segments, within), *consumer_lines(status.consumers, now, within)):
        yield _INDENT + line
    for line in read_lines(status.reads, now, within):
        yield _INDENT + line
    for problem in status.problems:
        yield from _wrapped(f"PROBLEM: {problem}", _INDENT, columns)
    for notice in status.notices:
        yield from _wrapped(notice, _INDENT, columns)


def away_lines(away: AwayNode, columns: int) -> Iterator[str]:
    """A node of which nothing can be told."""
    yield f"{away.node}  {away.folder}"
    yield from _wrapped(f"AWAY: {away.problem}", _INDENT, columns)


def consumer_lines(consumers: Sequence[ConsumerStatus], now: float, columns: int) -> list[str]:
    """Some lines for each consumer, the first with its name; nothing where there are none."""
    lines: list[str] = []
    for each in consumers:
        for number, sentence in enumerate(_consumer(each, now)):
            lines += _wrapped(sentence, _INDENT * 2 if number else "", columns)
    return lines


def read_lines(reads: Sequence[ReadStatus], now: float, columns: int) -> list[str]:
    """Some lines for each batch read that holds segments."""
    lines: list[str] = []
    for each in reads:
        minutes = max(0.0, each.until - now) / 60
        lines += _wrapped(
            f"a batch read  {each.node}  {each.program}, process {each.process} on {each.host}", "", columns
        )
        lines += _wrapped(
            f"holds segment {each.segment} and later, for {minutes:.0f} min at most", _INDENT * 2, columns
        )
    return lines


def _summary(status: NodeStatus) -> Iterator[str]:
    cap, clean = status.cap, status.clean
    limit = "given" if cap.given else "the server's default"
    used = f"{size_text(cap.used)} of {size_text(cap.bytes)} ({limit}), {100 * cap.share:.1f} %"
    yield f"{_segments(len(status.segments))}, {used}"
    refused = f"; it would refuse: {clean.refused}" if clean.refused else ""
    yield f"clean would free {_segments(clean.segments)}, {size_text(clean.bytes)}{refused}"
    if (server := status.server) is not None:
        captures = "" if server.enabled else "cdc_enabled: false: the server captures nothing; "
        within = "" if server.delay is None else f", a change is durable within {_delay(server.delay)}"
        yield f"{captures}commitlog_sync is {server.sync}{within}"
    state = status.state
    forgot = f", forgot what is below segment {state.floor}" if state.floor else ""
    yield f"state {size_text(state.bytes)}, {state.records} records{forgot}"
    if status.waiting_for is not None:
        yield f"later segments wait for {status.waiting_for}, which is not finished"


def _segment_lines(segments: Sequence[SegmentStatus], columns: int) -> list[str]:
    if not segments:
        return []
    rows = [["SEGMENT", "BYTES", "DURABLE END", "STATE"]]
    for each in segments:
        state = "cleaned, linked anew" if each.cleaned else "done" if each.done else "growing"
        end = "no sidecar" if each.end is None else str(each.end)
        rows.append([str(each.segment), size_text(each.bytes), end, state])
    # A column of its own behind the others, of which the longest tells how much room is left.
    room = max(_NAMES_MIN, columns - max(map(width, aligned(rows, _RIGHT))) - 2)
    names = ["NEEDED BY", *(_names(each.needed_by, room) for each in segments)]
    return aligned([[*row, name] for row, name in zip(rows, names, strict=True)], _RIGHT)


def _names(names: Sequence[str], room: int) -> str:
    """As many names as there is room for, and how many more there are."""
    for count in range(len(names), 0, -1):
        more = f" and {len(names) - count} more" if count < len(names) else ""
        text = ", ".join(names[:count]) + more
        if len(text) <= room or count == 1:
            return text if len(text) <= room else shorten(names[0], room - len(more)) + more
    return "-"


def _consumer(each: ConsumerStatus, now: float) -> Iterator[str]:
    moved = _ago(now - each.moved) if each.moved else "never"
    yield f"{each.consumer}  {each.node}  {'running' if each.running else 'stopped'}, moved {moved}"
    if each.delivered == each.committed:
        yield f"delivered and committed {each.delivered}"
    else:
        yield f"delivered {each.delivered}, committed {each.committed}"
    lag = each.lag
    late = f"{size_text(lag.bytes)} in {_segments(lag.segments)}, for {lag.seconds:.0f} s" if lag.bytes else "none"
    yield f"lag {late}; holds {_segments(each.holds.segments)}, {size_text(each.holds.bytes)}"
    if each.away is not None:
        yield f"its target has been away for {max(0.0, now - each.away.since):.0f} s: {each.away.error}"
    for table in each.waiting:
        since = f"for {max(0.0, now - table.since):.0f} s"
        yield f"{table.images} images of {table.table} have waited in its target {since}: {table.reason}"
    if each.pending:
        yield f"LOST {_segments(len(each.pending))} to clean --force"
    counts = ((each.quarantined, "quarantined"), (each.lost, "losses accepted"))
    if told := [f"{count} {what}" for count, what in counts if count]:
        yield ", ".join(told)


def _wrapped(sentence: str, indent: str, columns: int) -> list[str]:
    """A sentence in lines of at most so many columns, those behind the first a little further in."""
    return textwrap.wrap(
        sentence,
        columns,
        initial_indent=indent,
        subsequent_indent=f"{indent}{_INDENT}",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _segments(count: int) -> str:
    return f"{count} segment{'s' if count != 1 else ''}"


def _delay(seconds: float) -> str:
    return f"{seconds:g} s" if seconds else "milliseconds"


def _ago(seconds: float) -> str:
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s ago"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min ago"
    return f"{seconds / 3600:.0f} h ago" if seconds < 172800 else f"{seconds / 86400:.0f} d ago"
