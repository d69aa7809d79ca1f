"""What a log, a file's name or an error says is never a command to the terminal that shows it; elsewhere no byte of it
is changed."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import sys
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tailer.cli.app import main
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    encode_mutation,
    insert,
    segment_of,
    simple_table,
)

HOSTILE = "\x9b31m\u202egnp\u2066\u200f\U000e0041\x85é中\u00a0"
"""Begins a command, turns the text round, is not to be seen; and three letters that stay."""

TEXT = "\x1b]0;x\x07" + HOSTILE
"""With a command of ASCII, which JSON escapes everywhere."""

ACTS = re.compile(r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FIRST = 1_700_000_000_001
TABLE = simple_table("ks", "t")


def log(path: Path) -> Path:
    folder = LogFolder(path)
    payloads = [create_payload(TABLE), encode_mutation(insert(TABLE, 1, TEXT, 1))]
    writer = segment_of(FIRST, [payloads])
    folder.put(writer, completed(writer))
    return folder.path


@contextmanager
def terminal(name: str) -> Iterator[list[bytes]]:
    """A terminal in the place of one of the streams, and what came there."""
    parent, child = pty.openpty()
    tty.setraw(child)
    shown: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(parent, 65536):
                shown.append(part)
        except OSError:  # its other end was closed
            return

    reader = threading.Thread(target=read)
    kept = getattr(sys, name)
    stream = io.TextIOWrapper(open(child, "wb"), encoding="utf-8", newline="\n", line_buffering=True)  # noqa: SIM115
    setattr(sys, name, stream)
    reader.start()
    try:
        yield shown
    finally:
        setattr(sys, name, kept)
        stream.close()
        reader.join()
        os.close(parent)


def on_terminal(words: list[Any], name: str = "stdout") -> str:
    with terminal(name) as shown:
        main([str(word) for word in words])
    return b"".join(shown).decode()


def acts(text: str) -> list[str]:
    """What of a text a terminal takes for more than letters, our own colours aside."""
    return [*ACTS.findall(text), *re.findall(r"[\x00-\x09\x0b-\x1f]", COLOUR.sub("", text))]


COMMANDS = {
    "rows": ["follow", "--once"],
    "inspect": ["inspect"],
    "entries": ["inspect", "--entries"],
    "images": ["follow", "--once", "--image", "after", "--consumer", "c"],
    "schema": ["schema"],
    "status": ["status"],
    "verify": ["verify"],
    "schema changes": ["schema", "--changes"],
}


@pytest.mark.parametrize("output", ["json", "pretty"])
@pytest.mark.parametrize("name", COMMANDS)
def test_standard_output(tmp_path: Path, name: str, output: str) -> None:
    folder = log(tmp_path / TEXT / "cdc_raw")
    command, *options = COMMANDS[name]
    words = [command, folder, *options, "--output", output]
    if "--consumer" in options:
        words += ["--state", tmp_path / "one"]
    told = on_terminal(words)
    assert told, "it says something"
    assert acts(told) == []
    if output == "json" and name in ("rows", "images"):
        again = [tmp_path / "two" if word == tmp_path / "one" else word for word in words]
        plain = run_cli(again)
        assert HOSTILE in plain.out
        assert [json.loads(line)["clustering"] for line in told.splitlines()] == [{"ck": TEXT}]
        assert "é中\u00a0" in told


@pytest.mark.parametrize("form", ["text", "json"])
def test_sentences(tmp_path: Path, form: str) -> None:
    words = ["inspect", tmp_path / TEXT, "--log-format", form]
    told = on_terminal(words, "stderr")
    assert acts(told) == []
    assert "\\u009b31m" in told
    assert ("\\udb40\\udc41" if form == "json" else "\\U000e0041") in told
    if form == "json":
        assert TEXT in json.loads(told)["message"]
        assert HOSTILE in run_cli(words).err


def test_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For who asked for it: its last line has the error's text."""
    monkeypatch.setenv("CDC_TAIL_DEBUG", "1")
    told = on_terminal(["inspect", tmp_path / TEXT, "--log-format", "text"], "stderr")
    assert "Traceback" in told
    assert "\x1b" not in told
    assert acts(told) == []


def test_a_letter_in_two_writes() -> None:
    with terminal("stdout") as shown:
        from tailer.cli.terminal_output import terminals_guarded

        with terminals_guarded():
            for byte in f"é{HOSTILE}\n".encode():
                sys.stdout.buffer.write(bytes([byte]))
                sys.stdout.buffer.flush()
    assert json.loads('"' + b"".join(shown).decode().strip("\n") + '"') == f"é{HOSTILE}"


def test_bytes_that_are_no_text_are_shown_by_their_numbers() -> None:
    with terminal("stdout") as shown:
        from tailer.cli.terminal_output import terminals_guarded

        with terminals_guarded():
            sys.stdout.buffer.write(b"a\x9bb")
            sys.stdout.buffer.flush()
    assert b"".join(shown) == rb"a\udc9bb"
