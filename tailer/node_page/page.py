"""The page as it is sent: one file that needs nothing else, and the header that lets a browser run nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from typing import Final, NamedTuple

FILE: Final = "page.html"

_INLINE: Final = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


class PageText(NamedTuple):
    """`policy`: its Content-Security-Policy."""

    body: bytes
    policy: str


def page_text() -> PageText:
    """Read from the package."""
    text = resources.files(__package__).joinpath(FILE).read_text("utf-8")
    return PageText(text.encode(), policy_of(text))


def policy_of(text: str) -> str:
    """Only what stands in the text itself runs, each script and style by its hash; it speaks with its own server alone.

    Trusted types make a browser refuse to take text for HTML, whatever the script does with names.
    """
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, content in _INLINE.findall(text):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(hashes['script'])}",
            f"style-src {' '.join(hashes['style'])}",
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
