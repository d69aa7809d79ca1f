"""A frame of Spark Connect does not tell which logs its rows are from."""

from __future__ import annotations

from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.spark.images import images


class RemoteFrame:
    """As a frame of Spark Connect it is no classic one; nothing of it may be asked for."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


@pytest.mark.parametrize("nodes", [None, ["n1", "n2"]])
def test_it_is_refused_with_what_works(nodes: list[str] | None) -> None:
    frame: Any = RemoteFrame()
    with pytest.raises(UsageError, match=r"Spark Connect.*cdc-tail stream --image.*has landed") as told:
        images(frame, nodes=nodes)
    assert "nodes=" not in str(told.value)
