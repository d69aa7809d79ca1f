"""What `status` and `consumers list` show to people. Text of facts that others gathered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tailer.retention.status import ConsumerStatus, NodeStatus, SegmentStatus
from tailer.sinks.text import aligned, size_text

_RIGHT: Final = frozenset({1, 2})


def node_lines(status: NodeStatus, now: float) -> Iterator[str]:
    """One node: a summary, its segments, its consumers, what is wrong."""
    cap, clean = status.cap, status.clean
    yield f"{status.node}  {status.folder}"
    limit = "given" if cap.given else "the server's default"
    used = f"{size_text(cap.used)} of {size_text(cap.bytes)} ({limit}), {100 * cap.share:.1f} %"
    freed = f"clean would free {_segments(clean.segments)}, {size_text(clean.bytes)}"
    refused = f"; it would refuse: {clean.refused}" if clean.refused else ""
    yield f"  {_segments(len(status.segments))}, {used}; {freed}{refused}"
    if status.waiting_for is not None:
        yield f"  later segments wait for {status.waiting_for}, which is not finished"
    for line in (*_segment_lines(status.segments), *consumer_lines(status.consumers, now)):
        yield f"  {line}"
    for problem in status.problems:
        yield f"  PROBLEM: {problem}"


def consumer_lines(consumers: Sequence[ConsumerStatus], now: float) -> list[str]:
    """A table of consumers; nothing where there are none."""
    if not consumers:
        return []
    head = ["CONSUMER", "NODE", "DELIVERED", "COMMITTED", "LAG", "HOLDS", "MOVED", "STATE"]
    return aligned([head, *(_consumer(each, now) for each in consumers)])


def _segment_lines(segments: Sequence[SegmentStatus]) -> list[str]:
    if not segments:
        return []
    rows = [["SEGMENT", "BYTES", "DURABLE END", "STATE", "NEEDED BY"]]
    for each in segments:
        state = "cleaned, linked anew" if each.cleaned else "done" if each.done else "growing"
        end = "no sidecar" if each.end is None else str(each.end)
        rows.append([str(each.segment), size_text(each.bytes), end, state, ", ".join(each.needed_by) or "-"])
    return aligned(rows, _RIGHT)


def _consumer(each: ConsumerStatus, now: float) -> list[str]:
    lag = each.lag
    text = f"{size_text(lag.bytes)}, {_segments(lag.segments)}, {lag.seconds:.0f} s" if lag.bytes else "none"
    state = ["running" if each.running else "stopped"]
    state += [f"{each.quarantined} quarantined"] if each.quarantined else []
    state += [f"{each.lost} losses accepted"] if each.lost else []
    state += [f"LOST {_segments(len(each.pending))} to clean --force"] if each.pending else []
    holds = f"{_segments(each.holds.segments)}, {size_text(each.holds.bytes)}"
    moved = _ago(now - each.moved) if each.moved else "never"
    return [each.consumer, each.node, each.delivered, each.committed, text, holds, moved, ", ".join(state)]


def _segments(count: int) -> str:
    return f"{count} segment{'s' if count != 1 else ''}"


def _ago(seconds: float) -> str:
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s ago"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min ago"
    return f"{seconds / 3600:.0f} h ago" if seconds < 172800 else f"{seconds / 86400:.0f} d ago"
