"""The version of a state of images: what an earlier program must not go on with is refused by it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.errors import RefusedError
from tailer.image_state.file import ImageFile
from tailer.image_state.identity import VERSION, Identity, begin, read_identity
from tailer.image_state.one_transaction import Transaction

EARLIER = {"id": "5f4e", "consumer": "c", "started_us": 7, "tokens": ""}


def written(folder: Path, identity: dict[str, object]) -> None:
    """A state as an earlier or a later program left it."""

    def put(transaction: Transaction) -> None:
        transaction.put_about("identity", json.dumps(identity).encode())

    with ImageFile(folder) as file:
        file.write(put)


def opened(folder: Path) -> Identity:
    """The state as a run of this program begins it, read by another one."""
    with ImageFile(folder) as file:
        file.write(lambda transaction: begin(transaction, "c", "", 1, str(folder)))
        found = file.read(lambda transaction: read_identity(transaction, str(folder)))
    assert found is not None
    return found


@pytest.mark.parametrize("version", [1, 2])
def test_a_state_of_an_earlier_version_goes_on_and_has_this_one(tmp_path: Path, version: int) -> None:
    written(tmp_path, {**EARLIER, "v": version})
    found = opened(tmp_path)
    assert (found.id, found.started_us, found.v) == ("5f4e", 7, VERSION)


def test_a_new_state_has_the_version_that_programs_before_incarnations_refuse(tmp_path: Path) -> None:
    """39bf74e takes versions 1 and 2."""
    assert opened(tmp_path).v == 3


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {**EARLIER, "v": VERSION + 1})
    with pytest.raises(RefusedError, match="the version of the state of images"):
        opened(tmp_path)
