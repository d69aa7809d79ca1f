"""The source's offset: one JSON object for all nodes of a query (architecture section 7). Values only.

    {"v":2,"t":tick,"nodes":{"local":{"j":12,"s":segment,"o":offset,"done":false,"p":[[id,offset]],"id":"…"}}}

Keys and nodes stand in fixed order: Spark compares offsets as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from tailer.errors import RefusedError
from tailer.state.offset import VERSION, WITHOUT_ID, NodeOffset, decode_node_offset
from tailer.versions import Version, check_version

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """`tick` counts offsets that were handed out to keep Spark's workers alive."""

    tick: int
    nodes: Mapping[str, NodeOffset]

    def as_json(self) -> Json:
        nodes = {name: self.nodes[name].as_json() for name in sorted(self.nodes)}
        version = VERSION if any(node.id for node in self.nodes.values()) else WITHOUT_ID
        return {"v": version, "t": self.tick, "nodes": nodes}


def decode_offset(data: Any) -> SourceOffset:
    """The offset of a JSON object. RefusedError for one that this version has not written."""
    try:
        check_version(msgspec.convert(data["v"], Version), VERSION, "the offset")
        nodes = {str(name): decode_node_offset(held) for name, held in data["nodes"].items()}
        return SourceOffset(msgspec.convert(data["t"], int), nodes)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise RefusedError(
            f"the offset is not one of cdc_tail ({error})",
            expected='{"v":2,"t":0,"nodes":{…}}',
            found=str(data)[:200],
            remedy="The checkpoint belongs to another source, or was changed by hand.",
        ) from error
