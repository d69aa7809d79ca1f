"""The source's offset: one JSON object for all nodes of a query (architecture section 7). Values only.

    {"v":2,"t":tick,"nodes":{"local":{"j":12,"s":segment,"o":offset,"done":false,"p":[[id,offset]],"id":"…"}}}

A snapshot that rows begin with is `"snap":{"id":"…","n":pieces,"end":false}`, and the version 4.
A node that left for good is `"n4":{"removed":"…"}`, with the id that its offsets had; such an offset has version 3.
Keys and nodes stand in fixed order: Spark compares offsets as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tailer.errors import RefusedError
from tailer.state.offset import (
    REMOVED,
    VERSION,
    WITH_REMOVED,
    WITH_SNAPSHOT,
    WITHOUT_ID,
    NodeOffset,
    decode_node_offset,
)
from tailer.typed_decode import convert
from tailer.versions import Version, check_version

Json = dict[str, Any]


class SnapshotOffset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a snapshot was handed out. `id`: of its spool. `n`: so many pieces. `end`: these are all."""

    id: str
    n: int
    end: bool = False


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """`tick` counts offsets that were handed out to keep Spark's workers alive. `removed`: nodes that left for good,
    with the ids of their states."""

    tick: int
    nodes: Mapping[str, NodeOffset]
    removed: Mapping[str, str] = field(default_factory=dict)
    snapshot: SnapshotOffset | None = None

    def as_json(self) -> Json:
        told = {name: {REMOVED: id} for name, id in self.removed.items()}
        told |= {name: node.as_json() for name, node in self.nodes.items()}
        version = VERSION if any(node.id for node in self.nodes.values()) else WITHOUT_ID
        version = WITH_REMOVED if self.removed else version
        snapshot = {} if self.snapshot is None else {"snap": msgspec.to_builtins(self.snapshot)}
        return {
            "v": WITH_SNAPSHOT if snapshot else version,
            "t": self.tick,
            "nodes": {name: told[name] for name in sorted(told)},
            **snapshot,
        }


def decode_offset(data: Any) -> SourceOffset:
    """The offset of a JSON object. RefusedError for one that this version has not written."""
    try:
        check_version(convert(data["v"], Version), WITH_SNAPSHOT, "the offset")
        held = {str(name): _object(node) for name, node in data["nodes"].items()}
        removed = {name: convert(node[REMOVED], str) for name, node in held.items() if REMOVED in node}
        nodes = {name: decode_node_offset(node) for name, node in held.items() if name not in removed}
        snapshot = convert(data["snap"], SnapshotOffset) if "snap" in data else None
        return SourceOffset(convert(data["t"], int), nodes, removed, snapshot)
    except (KeyError, TypeError, AttributeError, RecursionError, msgspec.ValidationError) as error:
        raise RefusedError(
            f"the offset is not one of cdc_tail ({error})",
            expected='{"v":2,"t":0,"nodes":{…}}',
            found=repr(data)[:200],
            remedy="The checkpoint belongs to another source, or was changed by hand.",
        ) from error


def _object(node: Any) -> Json:
    if not isinstance(node, dict):
        raise msgspec.ValidationError(f"Expected `object`, got `{type(node).__name__}`")
    return node
