"""What the merging of one transaction has in hand: the merger, the time that counts, and what is known of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from tailer.image_state.identity import FollowedNode
from tailer.image_state.lmdb_store import LmdbStore
from tailer.images import Image, Merger
from tailer.images.encoded import EncodedImages
from tailer.tail.images.begun import join


@dataclass(slots=True)
class Merging:
    """`followed`: by node, as it will be where the transaction becomes durable. `store`: what is merged into."""

    merger: Merger
    now_us: int
    followed: dict[str, FollowedNode]
    store: LmdbStore

    def shown(self, node: str, table_id: str) -> None:
        """The node's log has shown a table's CREATE since it is followed."""
        known = self.followed[node]
        if table_id not in known.created:
            self.followed[node] = msgspec.structs.replace(known, created=known.created | {table_id})

    def join(self, node: str, began: FollowedNode | None) -> None:
        """A node's log is about to be read. `began`: of one that was never followed."""
        self.followed[node] = join(self.merger, self.followed[node], began, self.now_us)

    def missed(self, node: str, behind: FollowedNode) -> None:
        """Something of a node's log was never read: `behind` is what is known of it now, and no row is known whole."""
        self.followed[node] = behind
        self.merger.lost(None, self.now_us)

    def created(self, table_id: str) -> bool:
        """Whether the logs of all nodes have, but for those that the run leaves out."""
        return all(table_id in node.created for node in self.followed.values() if node.left is None)

    def heeded(self, node: str, records: int) -> None:
        """What a node's journal says of losses, up to a record, is in the state."""
        self.followed[node] = msgspec.structs.replace(self.followed[node], records=records)


Merge = Callable[[Merging], Sequence[Image] | EncodedImages]
"""Does something to the state. Called again, with the state as it was, where the transaction must begin anew."""
