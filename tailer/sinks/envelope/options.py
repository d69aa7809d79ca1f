"""What is asked of messages, as a value. Light to import; knows no Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

NAME: Final = "cdc-tail"


class EnvelopeOptions(msgspec.Struct, frozen=True):
    """`format`: a word of `--format`. `name`: by which readers tell sources apart (`source.name`).

    `topic`: see `topics.TopicNames`, of node `node`; a registry tells schemas apart by it. `tombstones`: a message
    without value behind each that deletes one row, with the same key. `with_schema`: keys and values say their schema.
    `registry`: the address of a schema registry, if there is one; `registry_ids`: bytes of its ids in a message.
    """

    format: str = "rows"
    name: str = NAME
    topic: str = "{keyspace}.{table}"
    node: str = ""
    tombstones: bool = False
    with_schema: bool = False
    registry: str | None = None
    registry_ids: int = 4


def options_of(values: Mapping[str, Any], name: str, node: str) -> EnvelopeOptions:
    """By the options of a command. `name`: that of the source, `node`: whose log it is."""
    return EnvelopeOptions(
        values["format"],
        name,
        topic=values["topic"],
        node=node,
        tombstones=values["tombstones"],
        with_schema=values["with_schema"],
        registry=values["registry"],
        registry_ids=int(values["registry_ids"]),
    )
