"""Where an option's value comes from: the command line, the environment, a configuration file, a server's own settings,
or nobody.

    [all]                        # for each command that has the option
    keystore = "/etc/cassandra/conf/.keystore"

    [follow]                     # stronger than [all]
    consumer = "billing"
    table = ["shop.*"]

Reads these files and nothing else; knows no parser of command lines.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tailer.errors import UsageError
from tailer.options.cassandra_yaml import ServerSettings, package_yaml, server_settings
from tailer.options.declared import Option
from tailer.options.declared_commands import COMMANDS, TABLE, options_of
from tailer.system_errors import system_error

EVERY_COMMAND: Final = "all"
CONFIG: Final = "config"
DEFAULT: Final = "default"
SETTINGS: Final = "cassandra_yaml"
PACKAGE: Final = "package"
SECRET: Final = re.compile(r"secret|password|token|access\.?key", re.IGNORECASE)
"""Names of what nobody else may read."""

SECRET_TEXT: Final = re.compile(rf"(?:{SECRET.pattern})[^=&;]*=", re.IGNORECASE)

Config = Mapping[str, Mapping[str, object]]


class Found(NamedTuple):
    """A value, and who said it: the command line, a variable's name, `FILE:SECTION`, `FILE:SETTING`, or `default`."""

    value: Any
    where: str


def resolve(
    command: str, given: Mapping[str, Any], environ: Mapping[str, str], *, without_folder: bool = False
) -> dict[str, Found]:
    """The value of each of the command's options. `given`: what the command line has, by the options' names.

    Spark's defaults are those of `stream`. `without_folder`: a server's own settings have to name the log folder; where
    nobody names their file it is the one of the package. UsageError for a wrong value, which names where it stands.
    """
    options = options_of(command)
    by_word = {option.word: option for option in options}
    first = _given(command, by_word[CONFIG], given, environ)
    file = None if first is None else first.value
    config = {} if file is None else read_config(file)
    said = {
        option.name: _given(command, option, given, environ) or _configured(command, option, file, config)
        for option in options
    }
    if without_folder and said[SETTINGS] is None:
        said[SETTINGS] = Found(package_yaml(), PACKAGE)
    settings = None if (named := said.get(SETTINGS)) is None else server_settings(named.value)
    return {
        option.name: said[option.name]
        or _of_server(option, settings)
        or Found(option.default_for(spark=command == "stream"), DEFAULT)
        for option in options
    }


def _of_server(option: Option, settings: ServerSettings | None) -> Found | None:
    if settings is None or (said := settings.options.get(option.name)) is None:
        return None
    return Found(said[0], f"{settings.file}:{said[1]}")


def _given(command: str, option: Option, given: Mapping[str, Any], environ: Mapping[str, str]) -> Found | None:
    text = given.get(option.name)
    if text not in (None, False, []):
        word = f"--{option.word}"
        # Whoever asks a query finds the same name in Spark's own words.
        what = f"{word} ({option.spark})" if command == "stream" and option.spark else word
        take = option.kind.take_text if isinstance(text, str) else option.kind.take
        return Found(take(text, what), "command line")
    said = environ.get(option.variable)
    return Found(option.kind.take_text(said, option.variable), option.variable) if said else None


def _configured(command: str, option: Option, file: Path | None, config: Config) -> Found | None:
    for section in (command, EVERY_COMMAND):
        if option.word in config.get(section, {}) and not (section == EVERY_COMMAND and option.alone):
            value = option.kind.take(config[section][option.word], f"{option.word} in [{section}]", file=str(file))
            return Found(value, f"{file}:{section}")
    return None


def read_config(file: Path) -> Config:
    """The sections of a configuration file. UsageError for what no command has, and for values of a wrong type."""
    import tomllib

    try:
        with file.open("rb") as opened:
            config = tomllib.load(opened)
    except PermissionError as error:
        raise system_error("the configuration file cannot be read", error, file) from None
    except OSError as error:
        raise UsageError("the configuration file cannot be read", file=str(file), found=error.strerror) from None
    except (ValueError, RecursionError) as error:
        # Not TOMLDecodeError alone: a number of thousands of digits is a ValueError of Python's own.
        raise UsageError("the configuration file is not TOML", file=str(file), found=str(error)) from None
    for section, values in config.items():
        if section not in (EVERY_COMMAND, *COMMANDS) or not isinstance(values, dict):
            raise unknown(f"section {section!r}", section, (EVERY_COMMAND, *COMMANDS), file=str(file))
        for word, value in values.items():
            _check(str(file), section, word, value)
    return config


def _check(file: str, section: str, word: str, value: object) -> None:
    takers = [option for option in _takers(section) if option.word == word]
    names = [word, *(value if isinstance(value, dict) else ())]
    hidden = [name for name in names if SECRET.search(name)] if not takers or isinstance(value, dict) else []
    if hidden or (isinstance(value, str) and SECRET_TEXT.search(value)):
        raise UsageError(
            f"{word} in [{section}] is or holds a secret",
            file=file,
            remedy="Secrets never stand in this file: give them in the environment (CDC_TAIL_KEYSTORE_PASSWORD, "
            "CDC_TAIL_KEY_PASSWORD, CDC_TAIL_CQL_PASSWORD, CDC_TAIL_JDBC_PASSWORD), or name a keystore-password-file.",
        )
    if not takers:
        words = sorted({option.word for option in _takers(section)})
        raise unknown(f"option {word!r} in [{section}]", word, words, file=file)
    if not any(option.kind.check(value) is not None for option in takers):
        takers[0].kind.take(value, f"{word} in [{section}]", file=file)


def _takers(section: str) -> list[Option]:
    """The options that a section may set. What means something else in each command stands in a command's own."""
    if section == EVERY_COMMAND:
        return [option for option in TABLE if option.word not in ("", CONFIG) and not option.alone]
    return [option for option in options_of(section) if option.word != CONFIG]


def unknown(what: str, name: str, valid: Collection[str], *, file: str | None = None) -> UsageError:
    """The error for a name that does not exist; it lists those that do, the nearest first."""
    nearest = difflib.get_close_matches(name, valid)
    rest = [each for each in valid if each not in nearest]
    return UsageError(f"unknown {what}", file=file, remedy=f"There are: {', '.join((*nearest, *rest))}.")
