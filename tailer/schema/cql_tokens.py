"""CQL text → tokens with their lines, and the cursor that statements are read with.

Knows the words of CQL, not its statements. Every complaint is a UsageError that names file, line and what was expected.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, NoReturn, cast

from tailer.errors import UsageError

Kind = Literal["word", "name", "string", "uuid", "number", "sign", "end"]
"""`word` is an unquoted identifier in lower case, `name` a quoted one, both without their quotes."""

_TOKEN: Final = re.compile(
    r"""
    (?P<space>   \s+ | --[^\n]* | //[^\n]* | /\*.*?\*/ )
  | (?P<open>    /\* | "(?:[^"]|"")*\Z | '(?:[^']|'')*\Z )
  | (?P<name>    "(?:[^"]|"")+" )
  | (?P<string>  '(?:[^']|'')*' | \$\$.*?\$\$ )
  | (?P<uuid>    [0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12} )
  | (?P<word>    [A-Za-z][A-Za-z0-9_]* )
  | (?P<number>  [0-9][A-Za-z0-9_.]* )
  | (?P<sign>    . )
    """,
    re.VERBOSE | re.DOTALL,
)


_LEGACY: Final = re.compile(r"/\*(\s*Warning: [^\n]*was created via legacy API.*?)(CREATE .*?)\*/", re.DOTALL)
"""DESCRIBE puts a COMPACT STORAGE table into a comment, as a warning and its approximate structure."""


_SHOWN: Final = 100


class Token(NamedTuple):
    kind: Kind
    text: str
    line: int

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the file"
        return f"`{self.text}`" if len(self.text) <= _SHOWN else f"`{self.text[:_SHOWN]}…`"


class Cursor:
    """A place in the tokens of one file. Reading past the end gives the `end` token for ever."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._tokens = self._split(text)
        self._at = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    def ended(self) -> bool:
        return self.token.kind == "end"

    def next(self) -> Token:
        token = self.token
        if token.kind != "end":
            self._at += 1
        return token

    def at_word(self, *words: str) -> bool:
        """Whether the next tokens are these words."""
        ahead = self._tokens[self._at : self._at + len(words)]
        return [(token.kind, token.text) for token in ahead] == [("word", word) for word in words]

    def at_sign(self, *signs: str) -> bool:
        return self.token.kind == "sign" and self.token.text in signs

    def take(self, *words: str) -> bool:
        """Step over these words if they come next."""
        found = self.at_word(*words)
        if found:
            self._at += len(words)
        return found

    def take_sign(self, sign: str) -> bool:
        found = self.at_sign(sign)
        if found:
            self._at += 1
        return found

    def want(self, *words: str) -> None:
        for word in words:
            if not self.take(word):
                self.fail(word.upper())

    def want_sign(self, sign: str) -> None:
        if not self.take_sign(sign):
            self.fail(f"`{sign}`")

    def name(self, what: str) -> str:
        """An identifier, quoted or not."""
        if self.token.kind not in ("word", "name"):
            self.fail(what)
        return self.next().text

    def names(self, what: str) -> list[str]:
        """`(a, b, …)`."""
        self.want_sign("(")
        found = [self.name(what)]
        while self.take_sign(","):
            found.append(self.name(what))
        self.want_sign(")")
        return found

    def skip_until(self, *words: str) -> list[Token]:
        """Step over a value: up to one of the words, or the statement's end, outside of all brackets."""
        skipped, depth = [], 0
        while not self.ended() and not (depth == 0 and (self.at_sign(";") or self._at_any(words))):
            if self.at_sign("(", "[", "{"):
                depth += 1
            elif self.at_sign(")", "]", "}"):
                depth -= 1
            skipped.append(self.next())
        return skipped

    def fail(self, expected: str, *, token: Token | None = None, remedy: str = "") -> NoReturn:
        token = token or self.token
        raise UsageError(
            f"line {token.line} of the CQL file cannot be read",
            file=self._file,
            expected=expected,
            found=token,
            remedy=remedy or "Give the text that DESCRIBE KEYSPACE … WITH INTERNALS prints.",
        )

    def _at_any(self, words: tuple[str, ...]) -> bool:
        return self.token.kind == "word" and self.token.text in words

    def _split(self, text: str) -> list[Token]:
        text = _LEGACY.sub(lambda found: "\n" * found[1].count("\n") + found[2], text)
        tokens: list[Token] = []
        line = 1
        for match in _TOKEN.finditer(text):
            kind, found = match.lastgroup, match.group()
            if kind == "open":
                self.fail("its closing quote or `*/`", token=Token("sign", found[:20], line))
            if kind == "name":
                tokens.append(Token("name", found[1:-1].replace('""', '"'), line))
            elif kind == "string":
                body = found[2:-2] if found[0] == "$" else found[1:-1].replace("''", "'")
                tokens.append(Token("string", body, line))
            elif kind == "word":
                tokens.append(Token("word", found.lower(), line))
            elif kind != "space":
                tokens.append(Token(cast(Kind, kind), found, line))
            line += found.count("\n")
        return [*tokens, Token("end", "", line)]


def skip_mask(cursor: Cursor) -> None:
    """`MASKED WITH function(…)`: a mask changes nothing in the log."""
    if not cursor.take("masked"):
        return
    cursor.want("with")
    cursor.name("a masking function")
    if cursor.take_sign("."):
        cursor.name("a masking function")
    if cursor.take_sign("("):
        depth = 1
        while depth and not cursor.ended():
            token = cursor.next()
            depth += (token == ("sign", "(", token.line)) - (token == ("sign", ")", token.line))
