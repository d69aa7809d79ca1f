"""What a run that begins finds of a state that others fed: nodes that join or come back, tables that were not read.

Where rows may be missing therefore, nothing is known whole that was before. Changes what stands in a transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tailer.image_state.identity import FollowedNode, nodes_of, place_of, put_node, put_selection, selection_of
from tailer.image_state.one_transaction import Transaction
from tailer.images import Merger
from tailer.images.tables import Tables
from tailer.planning.two_positions import offset_of_text
from tailer.schema.selection import Selection
from tailer.sinks.outlet import Place


def begin_run(
    transaction: Transaction, merger: Merger, nodes: Sequence[str], selection: Selection, now_us: int
) -> dict[str, FollowedNode]:
    """The nodes of the state, by name, as they are from now on. `nodes`, `selection`: of the run."""
    known = nodes_of(transaction)
    if any(name not in known for name in nodes) and any(node.folder for node in known.values()):
        # What they logged before, nobody may have merged.
        merger.lost(None, now_us)
    elif any(_is_late(known[name], merger) for name in nodes if name in known):
        # What was forgotten without it, its log may have copies of.
        merger.lost(None, now_us)
    found = {name: _left(node, merger, here=name in nodes) for name, node in known.items()}
    found |= {name: FollowedNode() for name in nodes if name not in known}
    before = selection_of(transaction)
    if before != selection:
        if before is not None:
            found = _other_tables(transaction, merger, found, before, selection, now_us)
        put_selection(transaction, selection)
    for name, node in found.items():
        if known.get(name) != node:
            put_node(transaction, name, node)
    return found


def missed_before(node: FollowedNode, place: Place | None) -> FollowedNode:
    """A node, where something of its log up to a place was not read."""
    return node if place is None else node.missed(offset_of_text(place.offset, "the state of images").position.segment)


def _is_late(node: FollowedNode, merger: Merger) -> bool:
    return node.left is not None and merger.forgot > node.left


def _left(node: FollowedNode, merger: Merger, *, here: bool) -> FollowedNode:
    left = None if here else merger.forgot if node.left is None else node.left
    return node if left == node.left else msgspec.structs.replace(node, left=left)


def _other_tables(
    transaction: Transaction,
    merger: Merger,
    nodes: dict[str, FollowedNode],
    before: Selection,
    now: Selection,
    now_us: int,
) -> dict[str, FollowedNode]:
    """Of a table that not both runs name, rows were passed over, or will be; so was the CREATE of one not known yet."""
    definitions = [table.facts.table.definition for table in Tables(transaction.store)]
    both = {each.id for each in definitions if before.names(each) and now.names(each)}
    merger.lost([each.id for each in definitions if each.id not in both], now_us)
    merger.lost_unseen(now_us)
    return {
        name: msgspec.structs.replace(missed_before(node, place_of(transaction, name)), created=node.created & both)
        for name, node in nodes.items()
    }
