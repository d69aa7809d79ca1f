"""Where values come from: which source is stronger, and what a configuration file may not say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tailer.errors import UsageError
from tailer.options.kinds import CommitEvery
from tailer.options.sources import Found, resolve

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(text)`: a configuration file; its path."""

    def made(text: str) -> str:
        file = tmp_path / "c.toml"
        file.write_text(text)
        return str(file)

    return made


def test_which_source_is_stronger(write: Write) -> None:
    file = write('[all]\non-error = "quarantine"\nsettle = 1\nnode = "a"\n[follow]\nsettle = 2\nnode = "b"\n')
    environ = {"CDC_TAIL_CONFIG": file, "CDC_TAIL_NODE": "c", "CDC_TAIL_STOPPED": "true", "CDC_TAIL_UNTIL": ""}
    found = resolve("follow", {"stopped": None, "meta_prefix": "p_", "node": "d"}, environ)
    assert found["node"] == Found("d", "command line")
    assert found["meta_prefix"] == Found("p_", "command line")
    assert found["stopped"] == Found(True, "CDC_TAIL_STOPPED")
    assert found["settle_seconds"] == Found(2.0, f"{file}:follow")
    assert found["on_error"] == Found("quarantine", f"{file}:all")
    assert found["until"] == Found(None, "default")
    assert found["config"] == Found(Path(file), "CDC_TAIL_CONFIG")
    assert resolve("follow", {}, environ)["node"] == Found("c", "CDC_TAIL_NODE")
    assert resolve("verify", {}, environ)["settle_seconds"] == Found(1.0, f"{file}:all")
    assert resolve("follow", {}, {**environ, "CDC_TAIL_STOPPED": "false"})["stopped"].value is False


def test_the_command_line_names_the_file_before_the_environment(write: Write) -> None:
    file = write('[follow]\nnode = "a"\n')
    assert resolve("follow", {"config": file}, {"CDC_TAIL_CONFIG": "/nowhere"})["node"].value == "a"


def test_values_in_each_form(write: Write) -> None:
    file = write(
        '[follow]\ntable = ["a.b", "c.*"]\ncommit-every = "10 rows"\nstate = "s"\n'
        '[stream.conf]\n"spark.ui.enabled" = true\n"spark.x" = 7\n[stream]\nmax-bytes = 9\n'
    )
    found = resolve("follow", {"config": file}, {})
    assert found["tables"].value == ("a.b", "c.*")
    assert found["commit_every"].value == CommitEvery("rows", 10)
    assert found["state"].value == Path("s")
    stream = resolve("stream", {"config": file}, {"CDC_TAIL_TABLE": "a.b, c.d", "CDC_TAIL_OPTION": "a=1 b=x=y"})
    assert stream["conf"].value == {"spark.ui.enabled": "true", "spark.x": "7"}
    assert stream["max_bytes"].value == 9
    assert stream["tables"].value == ("a.b", "c.d")
    assert stream["option"].value == {"a": "1", "b": "x=y"}
    assert stream["consumer"] == Found("spark", "default")


def test_a_word_that_means_different_things_names_the_command(write: Write) -> None:
    environ = {"CDC_TAIL_MAX_AGE": "1d", "CDC_TAIL_CLEAN_MAX_AGE": "2d"}
    assert resolve("clean", {}, environ)["max_age"] == Found(172800, "CDC_TAIL_CLEAN_MAX_AGE")
    assert resolve("write", {}, environ)["max_age"] == Found(None, "default")
    with pytest.raises(UsageError, match=r"unknown option 'max-age' in \[all\]"):
        resolve("clean", {"config": write('[all]\nmax-age = "1d"\n')}, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[folow]\n", ["unknown section 'folow'", "There are: follow, ", "stream"]),
        ("settle = 5\n", ["unknown section 'settle'", "all, follow"]),
        ("[follow]\non-eror = 'stop'\n", ["unknown option 'on-eror' in [follow]", "There are: on-error, "]),
        ("[follow]\nconfig = 'x'\n", ["unknown option 'config' in [follow]"]),
        ("[verify]\non-error = 'stop'\n", ["unknown option 'on-error' in [verify]", "settle"]),
        ("[all]\non-eror = 'stop'\n", ["unknown option 'on-eror' in [all]", "There are: on-error, "]),
        ("[follow]\non-error = 'quarantin'\n", ["on-error in [follow]", "expected stop or quarantine, found 'quaran"]),
        ("[follow]\nstopped = 'yes'\n", ["stopped in [follow]", "expected true or false, found 'yes'"]),
        ("[follow]\nsettle = 'abc'\n", ["settle in [follow]", "expected a number, 0 or more, found 'abc'"]),
        ("[follow]\nsettle = true\n", ["settle in [follow]", "found True"]),
        ("[follow]\ntable = 'a.b'\n", ["table in [follow]", "a sequence of names"]),
        ("[stream]\nconf = ['a']\n", ["conf in [stream]", "NAME=VALUE"]),
        ("[clean]\nmax-age = 7\n", ["max-age in [clean]", "such as 30s"]),
        (
            "[follow]\nkeystore-password = 'x'\n",
            ["keystore-password in", "Secrets never", "CDC_TAIL_KEYSTORE_P"],
        ),
        ("[stream.conf]\n'spark.s3.secret.key' = 'x'\n", ["conf in [stream]", "Secrets never"]),
        ("[stream]\nurl = 'jdbc:postgresql://h/d?password=x'\n", ["url in [stream]", "Secrets never"]),
        ("[follow\n", ["not TOML"]),
    ],
    ids=lambda value: value.replace("\n", " ") if isinstance(value, str) else "",
)
def test_what_a_file_may_not_say(text: str, words: list[str], write: Write) -> None:
    """Whatever command runs."""
    file = write(text)
    with pytest.raises(UsageError) as error:
        resolve("status", {"config": file}, {})
    assert [word for word in (*words, file) if word not in error.value.sentence()] == []


def test_a_secret_is_not_shown(write: Write) -> None:
    with pytest.raises(UsageError) as error:
        resolve("status", {"config": write("[follow]\ncql-password = 'hidden1'\n")}, {})
    assert "hidden1" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        resolve("status", {"config": str(tmp_path / "none")}, {})


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(UsageError, match="CDC_TAIL_SETTLE: expected a number, 0 or more, found 'soon'"):
        resolve("follow", {}, {"CDC_TAIL_SETTLE": "soon"})
