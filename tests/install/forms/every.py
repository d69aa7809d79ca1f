"""All of them, in one list. A new persistent form gets an entry here, and a row in docs/upgrades.md."""

from __future__ import annotations

from typing import Final

from tests.install.forms.form import Form
from tests.install.forms.of_images import OF_IMAGES
from tests.install.forms.of_state import OF_STATE
from tests.install.forms.of_targets import OF_TARGETS

FORMS: Final[tuple[Form, ...]] = (*OF_STATE, *OF_TARGETS, *OF_IMAGES)

ELSEWHERE: Final = {
    "the log of `writer_hooks`": "framed as Cassandra's segments are; no state that is decoded whole",
    "compiled code": "made anew where it is of another version",
}
"""Rows of the page whose forms are no state that is decoded here, and why."""
