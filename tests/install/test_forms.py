"""Every persistent form: no change of its bytes without a version, and damage is refused in one sentence.

`tests/install/forms/` has the list. `python -m tests.install.test_forms` keeps an example of each form's version that
has none yet, with its digests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tailer.errors import CdcError
from tests.house.source_tree import ROOT
from tests.install.forms.every import ELSEWHERE, FORMS
from tests.install.forms.form import Form, fields_of
from tests.install.forms.of_state import line

EXAMPLES = Path(__file__).with_name("examples")
DIGESTS = EXAMPLES / "digests.json"
RAISE = (
    "The form of {name} is no longer that of version {version}: raise VERSION beside it, still read the earlier form, "
    "and keep an example (python -m tests.install.test_forms)."
)
DEEP = b'{"more":' * 50_000
WHOLE = (
    b"{}",
    b"[]",
    b"null",
    b'"text"',
    b"7",
    b"1e999",
    b"9" * 5000,
    b"\xff\xfe\xfd\xfc",
    b"[" * 50_000,
    DEEP,
    b"\0" * 40,
)
"""What stands in place of all of it."""
VALUES: tuple[Any, ...] = (None, "text", -1, 1.5, [], {}, [[]], [{"more": 1}], {"more": None}, 2**64, True)
"""What stands in place of one field."""
WITH_CHECKSUM = ("journal", "journal_base")

each = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)


def example(form: Form, version: int) -> Path:
    return EXAMPLES / f"{form.name}.{version}"


def kept_digests() -> dict[str, dict[str, dict[str, str]]]:
    found: dict[str, dict[str, dict[str, str]]] = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    return found


def read(form: Form, data: bytes) -> Any:
    """What is read; the error where it is refused. Anything else that is raised fails the test."""
    try:
        return form.read(data)
    except CdcError as error:
        assert error.code in (6, form.code), error  # noqa: PT017 - most bytes are no damage that can be seen
        text = error.sentence()
        assert re.search(r": expected .+, found .+\. [A-Z]", text), text
        assert "\n" not in text
        assert "this is a bug" not in text
        return error


def is_refused(found: Any) -> bool:
    return isinstance(found, CdcError)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal; those of msgspec.Raw are compared as they are written."""
    return bool(one == other) or msgspec.to_builtins(one, enc_hook=str) == msgspec.to_builtins(other, enc_hook=str)


@each
class TestDigests:
    def test_no_bytes_change_without_a_new_version(self, form: Form) -> None:
        kept = kept_digests()[form.name]
        assert str(form.version) in kept, f"no example is kept of {form.name}, version {form.version}"
        assert max(map(int, kept)) == form.version
        assert kept[str(form.version)] == form.digests(), RAISE.format(name=form.name, version=form.version)

    def test_every_version_is_read(self, form: Form) -> None:
        now = form.read(form.write())
        for version in map(int, kept_digests()[form.name]):
            found = read(form, example(form, version).read_bytes())
            assert not is_refused(found), (version, found)
            assert version != form.version or same(found, now)


def cut(data: bytes) -> Iterator[bytes]:
    """Cut at up to 40 places, from nothing on."""
    yield from (data[:at] for at in range(0, len(data), max(1, len(data) // 40)))
    yield data[:-1]


def flipped(data: bytes) -> Iterator[bytes]:
    """One bit of each of up to 120 bytes, another one each time."""
    for at in range(0, len(data), max(1, len(data) // 120)):
        yield data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]


@each
class TestDamage:
    def test_cut(self, form: Form) -> None:
        """All of it is read, or it is refused. Of lines that a crash may cut, those before are read."""
        data = form.write()
        whole = form.read(data)
        for short in cut(data):
            found = read(form, short)
            if form.torn and isinstance(found, list):
                assert found == whole[: len(found)]
                assert len(found) >= short.count(b"\n") - (form.name == "journal")
            elif form.name in ("newest", "high", "failed", "dropped") and short.strip() != data.strip():
                # A shorter number is a number: the file is replaced, never cut.
                assert is_refused(found) or short.strip()
            else:
                assert is_refused(found) or same(found, whole), short

    def test_other_bytes(self, form: Form) -> None:
        for data in WHOLE:
            found = read(form, data)
            is_torn = form.torn and found == []
            assert is_refused(found) or data in form.accepts or is_torn, (data[:40], found)

    def test_a_bit(self, form: Form) -> None:
        """A value of another meaning is no damage that can be seen; anything else is refused."""
        for data in flipped(form.write()):
            read(form, data)

    def test_bytes_behind_it(self, form: Form) -> None:
        data = form.write()
        if not form.torn:
            found = read(form, data + b"\x01more")
            assert is_refused(found), found


OBJECTS = [form for form in FORMS if form.name not in WITH_CHECKSUM and fields_of(form.write()) is not None]


@pytest.mark.parametrize("form", OBJECTS, ids=lambda form: form.name)
class TestFields:
    def test_a_field_that_is_missing(self, form: Form) -> None:
        fields = fields_of(form.write())
        assert fields is not None
        for name in fields:
            rest = {each: value for each, value in fields.items() if each != name}
            found = read(form, msgspec.json.encode(rest))
            assert is_refused(found) or name in form.may_lack, (name, found)

    def test_a_field_of_another_type(self, form: Form) -> None:
        fields = fields_of(form.write())
        assert fields is not None
        for name in fields:
            for value in VALUES:
                read(form, json.dumps({**fields, name: value}).encode())

    def test_a_field_of_a_later_program_of_this_version(self, form: Form) -> None:
        fields = fields_of(form.write())
        assert fields is not None
        found = read(form, msgspec.json.encode({**fields, "more": [1]}))
        assert is_refused(found) or same(found, form.read(form.write())) or form.name == "images_that_wait"


class TestWithChecksums:
    """What a program wrote whole, and that is of no form that is known."""

    @pytest.mark.parametrize("body", WHOLE, ids=lambda body: repr(body[:12]))
    def test_of_the_journal(self, body: bytes) -> None:
        form = next(form for form in FORMS if form.name == "journal")
        assert is_refused(read(form, form.write() + line(body)))

    @pytest.mark.parametrize("body", WHOLE, ids=lambda body: repr(body[:12]))
    def test_of_its_base(self, body: bytes) -> None:
        form = next(form for form in FORMS if form.name == "journal_base")
        assert is_refused(read(form, line(body)))


def test_the_page_and_the_list_agree() -> None:
    """A row of docs/upgrades.md is of a form of the list, and the other way round."""
    table = (ROOT / "docs" / "upgrades.md").read_text().partition("|---|")[2].partition("\n\n")[0]
    rows = [row.removeprefix("| ") for row in table.splitlines()[1:]]
    listed = {form.row for form in FORMS} | ELSEWHERE.keys()
    assert [row[:60] for row in rows if not row.startswith(tuple(listed))] == []
    assert [name for name in sorted(listed) if not any(row.startswith(name) for row in rows)] == []


def test_names_are_of_one_form_each() -> None:
    assert len({form.name for form in FORMS}) == len(FORMS)
    assert all(re.fullmatch(r"[a-z_]+", form.name) for form in FORMS)
    kept = {f"{form.name}.{version}" for form in FORMS for version in kept_digests().get(form.name, {})}
    assert kept == {path.name for path in EXAMPLES.iterdir() if path != DIGESTS}


def main() -> None:
    EXAMPLES.mkdir(exist_ok=True)
    kept = kept_digests()
    for form in FORMS:
        versions = kept.setdefault(form.name, {})
        if str(form.version) not in versions:
            example(form, form.version).write_bytes(form.write())
            versions[str(form.version)] = form.digests()
    DIGESTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
