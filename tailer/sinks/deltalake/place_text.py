"""What a commit of a Delta table says of the position behind its rows: one text among its commit's information. Pure.

Delta keeps a number for each application (`txn`) for ever; the text stands in the commit that has the number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from tailer.sinks.image_node import apart, image_node
from tailer.sinks.outlet import OutletKey, Place
from tailer.typed_decode import decode_json
from tailer.versions import decode_versioned

FIELD: Final = "cdcTail"
"""In the commit's `commitInfo`."""


VERSION: Final = 1
_PARTS: Final = 4
"""Of an application's name."""


class Numbered(msgspec.Struct, frozen=True):
    """The place behind the commit of that number of an application."""

    app: str
    number: int
    offset: str
    generation: int
    v: int = VERSION

    @property
    def place(self) -> Place:
        return Place(self.offset, self.generation)


def app_of(key: OutletKey) -> str:
    """The application's name in the table: positions of one are no other's."""
    return ":".join(("cdc-tail", *key))


def text_of(app: str, number: int, place: Place) -> str:
    return msgspec.json.encode(Numbered(app, number, place.offset, place.generation)).decode()


def other_images(history: Iterable[Mapping[str, Any]], key: OutletKey) -> str | None:
    """The application of images of another state, but for one of other tokens; None where no commit that is still
    there is of one."""
    for commit in history:
        text = commit.get(FIELD)
        if isinstance(text, str):
            app = _decoded(text).app
            _, _, node, _ = app.split(":", 3)
            if app != app_of(key) and node.startswith(image_node(None)) and not apart(node, key.node):
                return app
    return None


def find(history: Iterable[Mapping[str, Any]], app: str, number: int) -> Place | None:
    """The place in the commit that has the number; None where no commit that is still there has it."""
    for commit in history:
        text = commit.get(FIELD)
        if isinstance(text, str) and app in text:
            numbered = _decoded(text)
            if (numbered.app, numbered.number) == (app, number):
                return numbered.place
    return None


def _decoded(text: str) -> Numbered:
    """RefusedError for what no commit of ours has, and for a later version. Earlier programs named none."""
    remedy = "Did another program write it? Restore the table's log, or begin anew with another consumer and table."
    return decode_versioned(
        text, _decode, VERSION, f"the position `{FIELD}` in a commit of the Delta table", remedy=remedy, named=False
    )


def _decode(text: str, version: int) -> Numbered:
    found = decode_json(text, Numbered)
    if found.app.count(":") < _PARTS - 1:
        raise msgspec.ValidationError("Expected the name of an application of cdc-tail - at `$.app`")
    return found
