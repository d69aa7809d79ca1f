"""What this process has no more of is told as that, wherever it shows: nobody else is away, absent or wrong for it."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CdcError, NodeAwayError, OwnLimitError, SystemFailedError
from tailer.metrics.server import Server
from tailer.options.listen import Listen
from tailer.options.log_place import NodeUrl
from tailer.remote.access import Access
from tailer.remote.connection import Connections
from tailer.schema.server import Server as Cassandra
from tailer.schema.server import _refused
from tailer.serve.listening import bound
from tailer.system_errors import OWN_LIMITS, files_max, is_own_limit, system_error
from tailer.tail.away import lost_by, nothing_at
from tests.helpers.few_files import few_files

HERE = Listen("127.0.0.1", 0)


def lack(number: int = errno.EMFILE) -> OSError:
    return OSError(number, os.strerror(number))


def fail(*args: object, **named: object) -> Any:
    raise lack()


@pytest.mark.parametrize("number", OWN_LIMITS)
def test_no_node_is_away_for_it(tmp_path: Path, number: int) -> None:
    documented = system_error("cannot read the segment", lack(number), tmp_path)
    wrapped = SystemFailedError("cannot read the segment")
    wrapped.__cause__ = lack(number)
    for error in (lack(number), documented, wrapped):
        assert not lost_by(error, tmp_path, tmp_path)
    assert documented.code == 8
    assert isinstance(documented, OwnLimitError)


@pytest.mark.parametrize("error", [lack(errno.EIO), SystemFailedError("x"), NodeAwayError("x")])
def test_a_node_is_away_for_all_else_of_the_system(tmp_path: Path, error: CdcError | OSError) -> None:
    assert lost_by(error, tmp_path, tmp_path)


def test_the_sentence_names_the_limit() -> None:
    told = system_error("cannot list the folder", lack(), "/x").sentence()
    assert told.startswith("cannot list the folder: Too many open files (/x). ")
    assert f"may have {files_max()} files open" in told
    assert "fs.file-max" in system_error("", lack(errno.ENFILE)).sentence()
    assert "more memory" in system_error("", lack(errno.ENOMEM)).sentence()


def test_a_folder_that_cannot_be_listed_for_it_is_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert nothing_at(tmp_path, tmp_path / "state")
    monkeypatch.setattr(os, "scandir", fail)
    assert not nothing_at(tmp_path, tmp_path / "state")


ASKED: dict[str, Callable[[], object]] = {
    "a node": lambda: Connections(NodeUrl("http", "127.0.0.1", 9), Access()).ask("GET", "/", {}),
    "metrics": lambda: Server(HERE, {}),
    "serve": lambda: bound(HERE),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_socket_that_cannot_be_had(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", fail)
    with pytest.raises(OwnLimitError, match="Too many open files"):
        ASKED[what]()


def test_a_server_that_cannot_be_connected_to_for_it() -> None:
    class NoHostError(Exception):
        """As the driver has it."""

        errors = {"127.0.0.1:9042": lack()}  # noqa: RUF012

    error = _refused(Cassandra("127.0.0.1", 9042, None, None), NoHostError(), False)
    assert is_own_limit(error)


def unknown(*args: object, **named: object) -> Any:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def test_a_node_whose_name_cannot_be_asked_for_without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that can open nothing says that there is no such name."""
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    asks = ASKED["a node"]
    with few_files(1), pytest.raises(OwnLimitError, match="LimitNOFILE"):
        asks()
    with pytest.raises(NodeAwayError, match="Name or service not known"):
        asks()


def test_a_server_whose_name_cannot_be_asked_for_without_files() -> None:
    class NoHostError(Exception):
        """As the driver has it."""

        errors = {"n1": socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")}  # noqa: RUF012

    server = Cassandra("n1", 9042, None, None)
    with few_files(1):
        found = _refused(server, NoHostError(), False)
    assert is_own_limit(found)
    assert not is_own_limit(_refused(server, NoHostError(), False))
