"""What a run finds of a state that others fed: nodes that join or come back, tables that were not read.

Where rows may be missing therefore, nothing is known whole that was before. Changes what stands in a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tailer.image_state.identity import FollowedNode, place_of, put_selection, selection_of
from tailer.image_state.one_transaction import Transaction
from tailer.images import Merger
from tailer.images.tables import Tables
from tailer.schema.selection import Selection


def left_out(nodes: Mapping[str, FollowedNode], here: Iterable[str], forgot: int) -> dict[str, FollowedNode]:
    """Those nodes that a run leaves out and the one before did not, as they are from now on. `forgot`: see `Merger`."""
    gone = nodes.keys() - set(here)
    return {name: msgspec.structs.replace(nodes[name], left=forgot) for name in gone if nodes[name].left is None}


def named(nodes: Mapping[str, FollowedNode], here: Iterable[str]) -> dict[str, FollowedNode]:
    """The nodes that a run names and the state does not have yet."""
    joins = any(node.folder for node in nodes.values())
    return {name: FollowedNode(joins=joins) for name in here if name not in nodes}


def join(merger: Merger, node: FollowedNode, began: FollowedNode | None, now_us: int) -> FollowedNode:
    """A node whose log is about to be read, as it is from now on. `began`: of one that was never followed."""
    if node.joins or (node.left is not None and (not node.folder or merger.forgot > node.left)):
        # What it logged before, nobody may have merged; or what was forgotten without it, its log may have copies of.
        merger.lost(None, now_us)
    return msgspec.structs.replace(node, left=None) if began is None else began


def choose(
    transaction: Transaction, merger: Merger, nodes: Mapping[str, FollowedNode], now: Selection, now_us: int
) -> dict[str, FollowedNode]:
    """The nodes from here on, where the run reads these tables.

    Of a table that the run before did not name as well rows were passed over, or will be; so was the CREATE of one that
    is not known yet.
    """
    before = selection_of(transaction)
    if before == now:
        return dict(nodes)
    put_selection(transaction, now)
    if before is None:
        return dict(nodes)
    definitions = [table.facts.table.definition for table in Tables(transaction.store)]
    both = {each.id for each in definitions if before.names(each) and now.names(each)}
    merger.lost([each.id for each in definitions if each.id not in both], now_us)
    merger.lost_unseen(now_us)
    return {
        name: msgspec.structs.replace(node.missed_until(place_of(transaction, name)), created=node.created & both)
        for name, node in nodes.items()
    }
