"""Puts object code into a wheel, where CDC_TAIL_OBJECT_CODE names the folder of it (`make wheel`); else nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ObjectCode(BuildHookInterface):  # type: ignore[type-arg]
    """The wheel stays one for every platform: the code is data that is used only on machines that it fits."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("CDC_TAIL_OBJECT_CODE")
        if folder is None or version == "editable":
            return
        path = Path(self.root, folder)
        if not path.is_dir():
            raise FileNotFoundError(f"CDC_TAIL_OBJECT_CODE: no folder {path}; scripts/object_code.py makes one")
        build_data["force_include"][str(path)] = "tailer/jit/object_code"
