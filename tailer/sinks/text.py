"""Text for terminals: what may be shown as it is, and how wide it is. Knows no change row."""

from __future__ import annotations

from typing import Final

ELLIPSIS: Final = "…"


def printable(text: str) -> str:
    """`text` with everything escaped that a terminal could take for a command: control and formatting characters."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    code = ord(letter)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def width(text: str) -> int:
    """Columns that `text` takes on a terminal: wide letters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten(text: str, columns: int) -> str:
    """`text` in at most `columns` columns, with an ellipsis for what was cut."""
    if width(text) <= columns:
        return text
    if columns <= 0:
        return ""
    kept = text[: columns - 1]
    while width(kept) > columns - 1:
        kept = kept[:-1]
    return kept + ELLIPSIS


def pad(text: str, columns: int) -> str:
    """`text` filled with spaces up to `columns` columns; a longer one is left as it is."""
    return text + " " * (columns - width(text))


def aligned(rows: list[list[str]], right: frozenset[int] = frozenset()) -> list[str]:
    """Rows of cells as lines, two spaces between columns; those in `right` are set flush right."""
    if not rows:
        return []
    widths = [max(width(row[number]) for row in rows) for number in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [_set(cell, widths[number], number in right) for number, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return lines


def _set(cell: str, columns: int, flush_right: bool) -> str:
    return " " * (columns - width(cell)) + cell if flush_right else pad(cell, columns)


def size_text(count: int) -> str:
    """Bytes for people: `512`, `83.8K`, `32.0M`, in units of 1024."""
    if count < 1024:
        return str(count)
    size = float(count)
    for unit in "KM":
        size /= 1024
        if size < 1024:
            return f"{size:.1f}{unit}"
    return f"{size / 1024:.1f}G"
