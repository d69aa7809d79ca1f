"""Commands of the terminal with the options that the table gives them. The only place outside `cli/` that knows typer.

typer reads a command's options from a function's signature: here that is made. It hands on words; what they mean and
where else a value may come from is decided in `sources.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from tailer.options.cassandra_yaml import server_settings
from tailer.options.declared import Option, default_text
from tailer.options.declared_commands import options_of
from tailer.options.log_place import log_place
from tailer.options.sources import SETTINGS, resolve

Function = TypeVar("Function", bound=Callable[..., None])
Arguments = Mapping[str, Any]
"""A command's arguments: name, and what typer has to know of it."""

_TYPES: Final[dict[str, Any]] = {"value": str | None, "flag": bool | None, "list": list[str] | None}

DIR: Final = Annotated[
    Path,
    # `readable`: who may not read it is told by us, with what mends that.
    typer.Argument(
        metavar="DIR", readable=False, help="The log folder: a server's cdc_raw_directory, or a service's cdc_raw."
    ),
]
_LEFT_OUT: Final = "Left out: the one that the server's cassandra.yaml names."
DIR_IF_ANY: Final = Annotated[
    Path | None,
    typer.Argument(
        metavar="DIR",
        readable=False,
        help=f"The log folder: a server's cdc_raw_directory, or a service's cdc_raw. {_LEFT_OUT}",
    ),
]
PLACE_IF_ANY: Final = Annotated[
    # Not the union of what it may be, which typer does not know.
    object,
    typer.Argument(
        metavar="DIR", parser=log_place, help=f"The log folder, or the address of a node that serves one. {_LEFT_OUT}"
    ),
]
DIRS: Final = Annotated[
    str | None,
    typer.Argument(
        metavar="DIR",
        help="The log folder, or the address of a node that serves one; NODE=DIR,NODE=DIR for several nodes. "
        f"{_LEFT_OUT}",
    ),
]
SEGMENT_OR_PLACE: Final = Annotated[
    object,
    typer.Argument(
        metavar="PATH",
        parser=log_place,
        help="A segment file (CommitLog-*.log), a folder of them, or the address of a node that serves one. "
        f"{_LEFT_OUT}",
    ),
]
_MAY_BE_LEFT_OUT: Final = (DIR_IF_ANY, PLACE_IF_ANY, DIRS, SEGMENT_OR_PLACE)


def argument(kind: Any, help: str, **more: Any) -> Any:
    """An argument of one command alone."""
    return Annotated[kind, typer.Argument(help=help, readable=False, **more)]


def command(
    app: typer.Typer,
    name: str,
    arguments: Arguments,
    first: Callable[[Mapping[str, Any]], None],
    *,
    only: Iterable[str] = (),
    **words: Any,
) -> Callable[[Function], Function]:
    """Make a function the command `name` of an app.

    It is called with the arguments, with the options that it names, and, if it has a parameter `values`, with those of
    all; before that `first` is given the same. `only`: the few of the command's options that count here.
    """
    options = [option for option in options_of(name) if not only or option.name in only]
    place = next((key for key, kind in arguments.items() if kind in _MAY_BE_LEFT_OUT), None)

    def made(function: Function) -> Function:
        wanted = signature(function).parameters

        def run(**given: Any) -> None:
            lost = place is not None and given[place] is None
            found = resolve(name, given, os.environ, without_folder=lost)
            values = {key: each.value for key, each in found.items()}
            first(values)
            known = {key: given[key] for key in arguments} | values | {"values": values}
            if place is not None and lost:
                folder = server_settings(values[SETTINGS]).folder
                known[place] = str(folder) if arguments[place] == DIRS else folder
            function(**{key: known[key] for key in wanted})

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = Signature(  # type: ignore[attr-defined]  # it is typer that reads it
            [_argument(key, kind, None if key == place else wanted[key].default) for key, kind in arguments.items()]
            + [_option(option, name) for option in options]
        )
        app.command(**words)(run)
        return function

    return made


def _argument(name: str, kind: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _option(option: Option, command: str) -> Parameter:
    """As typer takes it: without a default, for what is not given may be said elsewhere."""
    default = option.default_in(spark=command == "stream")
    info = typer.Option(
        f"--{option.word}",
        metavar=option.kind.metavar or None,
        help=f"{option.help} Default: {default_text(default)}." if default else option.help,
        rich_help_panel=option.panel,
    )
    kind = _TYPES[option.kind.shape]
    return Parameter(option.name, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=None)
