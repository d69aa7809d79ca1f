"""What the driver makes of the types that a response tells."""

from __future__ import annotations

import pytest

cqltypes = pytest.importorskip("cassandra.cqltypes")

from tailer.schema.server_rows import SentType, _sent  # noqa: E402


@pytest.mark.parametrize("name", ["u", "date", "text", "list", "frozen", "tuple"])
def test_a_user_defined_type_may_have_the_name_of_another_type(name: str) -> None:
    told = cqltypes.UserType.make_udt_class("ks", name, ("a", "b"), (cqltypes.Int32Type, cqltypes.UTF8Type))
    assert _sent(told) == SentType("udt", (SentType("int"), SentType("text")))
