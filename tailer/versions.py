"""The version in what is kept between runs: looked at before anything else, and refused where a newer program wrote it.

Whoever keeps something names its version and what it is; here is only how a version is read, and what is said of it.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from tailer.errors import RefusedError

Version = Annotated[int, msgspec.Meta(ge=1)]


class Versioned(msgspec.Struct, frozen=True):
    """Of anything that is kept its version alone, whatever else is in it. What has none is of the first."""

    v: Version = 1


def check_version(found: int, newest: int, what: str, *, file: str | None = None, or_else: str = "") -> None:
    """RefusedError for a version beyond the newest that is known. `or_else`: what may be done besides upgrading."""
    if found > newest:
        raise RefusedError(
            f"the version of {what}",
            file=file,
            expected=newest if newest == 1 else f"{newest} or lower",
            found=found,
            remedy=f"A newer cdc-tail wrote it: use that version{or_else}.",
        )
