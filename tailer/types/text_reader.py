"""A type's text read token by token, one ahead: what the readers of CQL's words and of Java's class names share."""

from __future__ import annotations

from re import Pattern
from typing import NoReturn

from tailer.errors import DefinitionError
from tailer.limits import TYPE_DEPTH_MAX


class TextReader:
    """One pass over a text. `token` is the token ahead and `kind` its group in `pattern`; both are empty at the end.

    `what`: how errors name the text. What is a sign is in the group `sign`.
    """

    def __init__(self, text: str, pattern: Pattern[str], what: str) -> None:
        self.text = text
        self.at = 0
        self.kind = self.token = ""
        self._pattern = pattern
        self._what = what
        self.advance()

    def advance(self) -> None:
        match = self._pattern.match(self.text, self.at)
        if match is None:
            if self.text[self.at :].strip():
                self.fail("a name or a bracket")
            self.kind = self.token = ""
            return
        self.kind = str(match.lastgroup)
        self.token = match[self.kind]
        self.at = match.end()

    def takes(self, sign: str) -> bool:
        """Whether that sign is ahead; if so it is passed."""
        found = self.kind == "sign" and self.token == sign
        if found:
            self.advance()
        return found

    def check_depth(self, depth: int) -> None:
        if depth > TYPE_DEPTH_MAX:
            self.fail(f"at most {TYPE_DEPTH_MAX} nested types")

    def check_end(self) -> None:
        if self.kind:
            self.fail("the end")

    def fail(self, expected: str) -> NoReturn:
        raise DefinitionError(
            f"the {self._what} {self.text[:200]!r} does not parse near character {self.at}",
            expected=expected,
            found=repr(self.token) if self.kind else "the end",
            remedy="Take the type as system_schema or DESCRIBE prints it.",
        )
