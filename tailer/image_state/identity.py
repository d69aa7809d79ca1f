"""Whose state it is: its version and random id, its consumer, the logs that it was made of and where it stands in each.

Values, and how they stand in a transaction. Decides nothing but whether what is there belongs to who asks.
"""

from __future__ import annotations

from typing import Final, TypeVar
from uuid import uuid4

import msgspec

from tailer.errors import RefusedError
from tailer.image_state.one_transaction import Transaction
from tailer.schema.selection import Selection
from tailer.sinks.outlet import Place
from tailer.versions import decode_versioned, decode_whole, decoding

VERSION: Final = 3
"""1: no snapshot was ever read; 2: with the ranges of a snapshot; 3: with tables that were created again, rows that
become complete or get another definition in batches, and rows that `compare --mend` asks for. An older program would
leave these out."""

_IDENTITY: Final = "identity"
_NODE: Final = "node/"
_PLACE: Final = "place/"
_SELECTION: Final = "selection"
_REMEDY: Final = "Restore it together with the consumer, or begin anew: another consumer and folder."
T = TypeVar("T", bound=msgspec.Struct)


class Identity(msgspec.Struct, frozen=True):
    """`id`: random, for the state's life. `started_us`: when it was begun. `tokens`: of which range it is, as asked."""

    id: str
    consumer: str
    started_us: int
    tokens: str = ""
    v: int = 1


class FollowedNode(msgspec.Struct, frozen=True):
    """A node of this state. `folder`: the random id of its log's state, empty before it was there.

    `began`: the offset from which on all of it is read, as text. `lacks`: of what stood up to this segment something
    was gone, or left out. `whole`: its log, a native one, is read from its first segment on without a gap. `records`:
    up to which record of its journal losses were heeded. `created`: tables whose CREATE its log has shown since.
    `left`: where runs leave the node out, up to what second anything had been forgotten before that; None while it is
    followed. `joins`: it was not named when the state was begun, and its log was not read yet.
    """

    folder: str = ""
    began: str = ""
    lacks: int = 0
    whole: bool = False
    records: int = 0
    created: frozenset[str] = frozenset()
    left: int | None = None
    joins: bool = False

    def missed_until(self, place: Place | None) -> FollowedNode:
        """The same, where something of its log before a place was never read: no CREATE before it counts."""
        if place is None:
            return self
        return msgspec.structs.replace(self, began=place.offset, whole=False, created=frozenset())

    def missed(self, segment: int) -> FollowedNode:
        """The same, where something up to this segment was not: no CREATE up to there counts."""
        return msgspec.structs.replace(self, lacks=max(self.lacks, segment), whole=False, created=frozenset())


def read_identity(transaction: Transaction, where: str) -> Identity | None:
    """Whose state it is; None for one that was never begun. RefusedError for one of a later version."""
    found = transaction.about(_IDENTITY)
    if found is None:
        return None
    return decode_versioned(found, _identity, VERSION, "the state of images", file=where, remedy=_REMEDY, named=False)


def _identity(data: bytes, version: int) -> Identity:
    return decode_whole(data, Identity, ("tokens", "v"))


def begin(transaction: Transaction, consumer: str, tokens: str, now_us: int, where: str) -> Identity:
    """The state of a consumer, which is begun where there is none. RefusedError for another one's.

    A state of an earlier version has this one from here on: an earlier program must not go on with it.
    """
    found = read_identity(transaction, where)
    if found is None:
        found = Identity(uuid4().hex, consumer, now_us, tokens, VERSION)
        transaction.put_about(_IDENTITY, msgspec.json.encode(found))
    if (found.consumer, found.tokens) != (consumer, tokens):
        raise RefusedError(
            "the state of images is another one's",
            file=where,
            expected=f"that of consumer {consumer}{_range(tokens)}",
            found=f"that of consumer {found.consumer}{_range(found.tokens)}",
            remedy="Give the same names and ranges again, or another folder with --image-state.",
        )
    if found.v != VERSION:
        found = msgspec.structs.replace(found, v=VERSION)
        transaction.put_about(_IDENTITY, msgspec.json.encode(found))
    return found


def selection_of(transaction: Transaction) -> Selection | None:
    """The tables that the run before chose; None where none said so yet."""
    found = transaction.about(_SELECTION)
    return None if found is None else _decoded(found, Selection, ())


def put_selection(transaction: Transaction, selection: Selection) -> None:
    transaction.put_about(_SELECTION, msgspec.json.encode(selection))


def nodes_of(transaction: Transaction) -> dict[str, FollowedNode]:
    """The nodes of the state, by name."""
    return {name: _decoded(value, FollowedNode, ("left", "joins")) for name, value in transaction.abouts(_NODE).items()}


def put_node(transaction: Transaction, name: str, node: FollowedNode) -> None:
    transaction.put_about(_NODE + name, msgspec.json.encode(node, order="deterministic"))


def place_of(transaction: Transaction, node: str) -> Place | None:
    """How far a node's log is merged; None for nothing."""
    found = transaction.about(_PLACE + node)
    return None if found is None else _decoded(found, Place, ())


def put_place(transaction: Transaction, node: str, place: Place) -> None:
    transaction.put_about(_PLACE + node, msgspec.json.encode(place))


def check_folder(node: str, known: FollowedNode, folder: str, where: str) -> None:
    """RefusedError for a node whose log has another state folder than before."""
    if known.folder and known.folder != folder:
        raise RefusedError(
            f"the log of node {node} has another state folder than the images were made of",
            file=where,
            expected=f"the state with id {known.folder}",
            found=folder,
            remedy="Is it another node's log? Give it a name of its own. Was the state lost? Begin anew with another "
            "consumer.",
        )


def _decoded(data: bytes, kind: type[T], may_lack: tuple[str, ...]) -> T:
    with decoding("the state of images"):
        return decode_whole(data, kind, may_lack)


def _range(tokens: str) -> str:
    return f" of tokens {tokens}" if tokens else ""
