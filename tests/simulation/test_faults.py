"""Faults can be put into the product as it is: those chosen by hand, and those that are drawn."""

from __future__ import annotations

import ast

import pytest

from tests.simulation.faults import Fault, drawn
from tests.simulation.injected import FAULTS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_one_that_was_chosen_fits(fault: Fault) -> None:
    ast.parse(fault.source())


@pytest.mark.parametrize("seed", range(20))
def test_one_that_is_drawn_is_the_same_each_time(seed: int) -> None:
    fault = drawn(seed)
    assert fault == drawn(seed)
    assert ast.dump(ast.parse(fault.source())) != ast.dump(ast.parse(fault.old))
