"""The table of options against what is made of it: the options struct, the commands, the environment, Spark's names."""

from __future__ import annotations

import re
import typing
from collections import Counter
from dataclasses import fields
from typing import Any

import pytest
import typer

from tailer.cli.app import app
from tailer.options.declared import TAIL, Option
from tailer.options.declared_commands import COMMANDS, TABLE, options_of
from tailer.options.tail import TailOptions
from tailer.options.to_spark import SPARK
from tests.house.source_tree import ROOT, python_files

PROGRAM_VARIABLES = re.compile(r"\bCDC_TAIL_[A-Z_]+\b")
SAME_MEANING = {"CDC_TAIL_OUTPUT"}
"""The form of rows and that of reports."""


def params(command: str) -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    found = group.get_command(group.make_context("cdc-tail", [], resilient_parsing=True), command)
    return {param.name: param for param in found.params if param.param_type_name == "option"}


def test_a_tail_has_the_options_of_the_table_and_its_defaults() -> None:
    made = TailOptions()
    assert {field.name for field in fields(TailOptions)} == {option.name for option in TAIL} | {
        "program", "outlet", "one_of_several", "left", "kept", "peers",
    }  # fmt: skip
    assert [getattr(made, option.name) for option in TAIL] == [option.default_for(spark=False) for option in TAIL]


def test_words_of_the_struct_are_those_of_the_table() -> None:
    hints = typing.get_type_hints(TailOptions)
    words = {name: typing.get_args(hint) for name, hint in hints.items() if typing.get_origin(hint) is typing.Literal}
    assert set(words) == {"on_error", "odd_keys", "on_schema_change", "decimals", "replicas"}
    for option in TAIL:
        if option.name in words:
            assert option.kind.expected == " or ".join(words[option.name])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_the_options_of_the_table(command: str) -> None:
    found = params(command)
    assert list(found) == [option.name for option in options_of(command)]
    assert [found[option.name].opts for option in options_of(command)] == [
        [f"--{option.word}"] for option in options_of(command)
    ]


@pytest.mark.parametrize("option", TABLE, ids=lambda option: f"{option.name} {option.spark} {option.word}".strip())
def test_an_option_is_whole(option: Option) -> None:
    assert option.help.endswith(".")
    assert bool(option.word) == bool(option.commands)
    assert option.word or option.spark
    assert set(option.commands) <= set(COMMANDS)
    for spark in (False, True):
        default = option.default_in(spark=spark)
        assert default is None or option.kind.check(default) is not None
    assert not option.alone or len(option.commands) == 1
    assert not option.negated or option.kind.expected == "true or false"


def test_no_two_options_are_spelled_alike() -> None:
    assert Counter(option.variable for option in TABLE if option.word).keys() - SAME_MEANING == {
        name for name, count in Counter(option.variable for option in TABLE if option.word).items() if count == 1
    }
    for command in COMMANDS:
        words = Counter(option.word for option in options_of(command))
        names = Counter(option.name for option in options_of(command))
        assert max(words.values()) == max(names.values()) == 1
    assert len({name.lower() for name in SPARK}) == len([option for option in TABLE if option.spark])


def test_variables_that_the_program_has_besides_are_no_options() -> None:
    named = {name for file in python_files() for name in PROGRAM_VARIABLES.findall(file.read_text("utf-8"))}
    assert {"CDC_TAIL_JIT", "CDC_TAIL_CQL_USER", "CDC_TAIL_KEYSTORE_PASSWORD"} <= named
    assert named & {option.variable for option in TABLE if option.word} == set()


def test_options_are_declared_nowhere_else() -> None:
    declaring = [
        str(file.relative_to(ROOT)) for file in python_files() if re.search(r"typer\.Option\(", file.read_text("utf-8"))
    ]
    assert declaring == ["tailer/cli/app.py", "tailer/options/to_terminal.py"]
