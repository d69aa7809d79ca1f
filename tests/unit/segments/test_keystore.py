"""Secret keys out of JCEKS keystores: those of the recorded servers, and those that this machine's keytool makes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.errors import CdcError, DefinitionError, UsageError
from tailer.segments.jceks import read_secret_key
from tailer.segments.keystore import KEY_PASSWORD_VARIABLE, PASSWORD_VARIABLE, keystore_keys

STORE, KEY = "storepass1", "keypass1"
BOTH = {PASSWORD_VARIABLE: STORE, KEY_PASSWORD_VARIABLE: KEY}

Keytool = Callable[..., Path]


@pytest.fixture
def keytool(tmp_path: Path) -> Keytool:
    """`keytool(kind, *arguments)`: a keystore of that kind with a secret key `other:1`, made by the JDK's own tool."""
    if shutil.which("keytool") is None:
        pytest.skip("no keytool: install a JDK (17 or newer) to make keystores")
    path = tmp_path / "made.keystore"

    def make(kind: str, *arguments: str) -> Path:
        store = ["-storetype", kind, "-keystore", str(path), "-storepass", STORE]
        subprocess.run(["keytool", *arguments, *store], check=True, capture_output=True)
        return path

    return make


def secret(alias: str, size: int = 128, password: str = STORE) -> list[str]:
    return ["-genseckey", "-alias", alias, "-keyalg", "AES", "-keysize", str(size), "-keypass", password]


@pytest.mark.parametrize("set_name", ["40-aes", "50-aes"])
def test_the_key_of_a_recorded_server(sets_root: Path, set_name: str) -> None:
    told = json.loads((sets_root / set_name / "encryption.json").read_text())
    passwords = {PASSWORD_VARIABLE: told["keystore_password"], KEY_PASSWORD_VARIABLE: told["key_password"]}
    keys = keystore_keys(sets_root / set_name / told["keystore"], None, passwords)
    assert keys(told["key_alias"]).hex() == told["key_hex"]
    assert keys(told["key_alias"].upper()).hex() == told["key_hex"]


def test_passwords_from_a_file(sets_root: Path, tmp_path: Path) -> None:
    told = json.loads((sets_root / "50-aes" / "encryption.json").read_text())
    file = tmp_path / "passwords"
    file.write_text(f"{STORE}\n{KEY}\n")
    keys = keystore_keys(sets_root / "50-aes" / "keystore.jks", file, {PASSWORD_VARIABLE: "not asked"})
    assert keys("testing:1").hex() == told["key_hex"]


@pytest.mark.parametrize("size", [128, 256])
def test_a_key_that_keytool_made(keytool: Keytool, size: int) -> None:
    path = keytool("JCEKS", *secret("other:1", size))
    key = keystore_keys(path, None, {PASSWORD_VARIABLE: STORE})("other:1")
    assert len(key) == size // 8
    assert key != bytes(size // 8)


def test_other_entries_stand_beside_the_key(keytool: Keytool) -> None:
    pair = ["-genkeypair", "-alias", "pair", "-keyalg", "EC", "-dname", "CN=a", "-keypass", STORE]
    keytool("JCEKS", *pair)
    keytool("JCEKS", *secret("first"))
    path = keytool("JCEKS", *secret("Second:2", password="another1"))
    data = path.read_bytes()
    assert len(read_secret_key(data, "first", STORE, STORE)) == 16
    assert len(read_secret_key(data, "second:2", STORE, "another1")) == 16
    with pytest.raises(DefinitionError, match=r"found secret keys first, second:2\."):
        read_secret_key(data, "pair", STORE, STORE)


def test_a_wrong_password_is_told_before_anything_is_opened(sets_root: Path) -> None:
    keys = keystore_keys(sets_root / "50-aes" / "keystore.jks", None, {PASSWORD_VARIABLE: "wrong"})
    with pytest.raises(DefinitionError, match="password is wrong") as caught:
        keys("testing:1")
    assert caught.value.code == 3
    assert "wrong" not in str(caught.value.found)


def test_a_wrong_key_password_names_the_key(sets_root: Path) -> None:
    keys = keystore_keys(sets_root / "50-aes" / "keystore.jks", None, {PASSWORD_VARIABLE: STORE})
    with pytest.raises(DefinitionError, match=r"testing:1.*password differs") as caught:
        keys("testing:1")
    assert STORE not in caught.value.sentence()


def test_an_alias_that_is_not_there_lists_those_that_are(sets_root: Path) -> None:
    keys = keystore_keys(sets_root / "50-aes" / "keystore.jks", None, BOTH)
    with pytest.raises(DefinitionError, match=r"expected nobody, found secret keys testing:1\."):
        keys("nobody")


def test_other_kinds_of_keystore_are_named(keytool: Keytool) -> None:
    pair = ["-genkeypair", "-alias", "pair", "-keyalg", "EC", "-dname", "CN=a", "-keypass", STORE]
    keys = keystore_keys(keytool("JKS", *pair), None, {PASSWORD_VARIABLE: STORE})
    with pytest.raises(DefinitionError, match=r"expected JCEKS or PKCS12.*found JKS"):
        keys("pair")


OLDER = {
    "keyProtectionAlgorithm": "PBEWithSHA1AndDESede",
    "macAlgorithm": "HmacPBESHA1",
    "certProtectionAlgorithm": "PBEWithSHA1AndDESede",
}
"""What Java sealed with before 17, and still does where `keystore.pkcs12.legacy` is set."""


class TestPkcs12:
    """keytool's default kind. Keys are those of recorded servers, copied by keytool."""

    @pytest.fixture(params=["now", "older"])
    def copied(self, request: pytest.FixtureRequest, keytool: Keytool, sets_root: Path) -> Path:
        older = [f"-J-Dkeystore.pkcs12.{name}={value}" for name, value in OLDER.items()]
        source = ["-srckeystore", str(sets_root / "50-aes" / "keystore.jks"), "-srcstoretype", "JCEKS"]
        passwords = ["-srcstorepass", STORE, "-srckeypass", KEY, "-destkeypass", STORE, "-srcalias", "testing:1"]
        made = [*(older if request.param == "older" else []), "-importkeystore", *source, *passwords, "-noprompt"]
        path = keytool("PKCS12", *secret("other:1", 256))
        dest = ["-destkeystore", str(path), "-deststoretype", "PKCS12", "-deststorepass", STORE]
        subprocess.run(["keytool", *made, *dest], check=True, capture_output=True)
        return path

    def test_the_key_is_the_server_s(self, copied: Path, sets_root: Path) -> None:
        told = json.loads((sets_root / "50-aes" / "encryption.json").read_text())
        keys = keystore_keys(copied, None, {PASSWORD_VARIABLE: STORE})
        assert keys("testing:1").hex() == keys("Testing:1").hex() == told["key_hex"]
        assert len(keys("other:1")) == 32

    def test_what_is_wrong_is_said_as_of_other_keystores(self, copied: Path) -> None:
        with pytest.raises(DefinitionError, match="password is wrong"):
            keystore_keys(copied, None, {PASSWORD_VARIABLE: "wrong1"})("testing:1")
        with pytest.raises(DefinitionError, match=r"expected nobody, found secret keys other:1, testing:1\."):
            keystore_keys(copied, None, {PASSWORD_VARIABLE: STORE})("nobody")
        with pytest.raises(DefinitionError, match=r"testing:1.*password differs"):
            keystore_keys(copied, None, {PASSWORD_VARIABLE: STORE, KEY_PASSWORD_VARIABLE: "wrong1"})("testing:1")

    def test_other_entries_stand_beside_the_key(self, keytool: Keytool) -> None:
        pair = ["-genkeypair", "-alias", "pair", "-keyalg", "EC", "-dname", "CN=a", "-keypass", STORE]
        keytool("PKCS12", *pair)
        keys = keystore_keys(keytool("PKCS12", *secret("first")), None, {PASSWORD_VARIABLE: STORE})
        assert len(keys("first")) == 16
        with pytest.raises(DefinitionError, match=r"expected pair, found secret keys first\."):
            keys("pair")

    def test_every_cut_and_every_changed_byte_is_refused(self, copied: Path) -> None:
        data = copied.read_bytes()
        for at in range(0, len(data), 31):
            for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]):
                with suppress(DefinitionError):
                    # A byte of an attribute of the file that the MAC does not cover may be any.
                    assert len(keystore_of(damaged, copied)("other:1")) == 32


def keystore_of(data: bytes, path: Path) -> Callable[[str], bytes]:
    path.write_bytes(data)
    return keystore_keys(path, None, {PASSWORD_VARIABLE: STORE})


@pytest.mark.parametrize("data", [b"", b"\xce\xce\xce\xce", b"#!/bin/sh\nexit 0\n", bytes(100)])
def test_files_that_are_no_keystore(data: bytes) -> None:
    with pytest.raises(DefinitionError, match="expected JCEKS"):
        read_secret_key(data, "a", STORE, STORE)


def test_missing_files_and_passwords_are_wrong_usage(sets_root: Path, tmp_path: Path) -> None:
    there = sets_root / "50-aes" / "keystore.jks"
    with pytest.raises(UsageError, match="no such keystore"):
        keystore_keys(tmp_path / "nothing", None, BOTH)
    with pytest.raises(UsageError, match="cannot read the keystore"):
        keystore_keys(tmp_path, None, BOTH)
    with pytest.raises(UsageError, match=PASSWORD_VARIABLE):
        keystore_keys(there, None, {})
    with pytest.raises(UsageError, match="no such keystore password file"):
        keystore_keys(there, tmp_path / "nothing", {})
    (tmp_path / "empty").write_text("")
    with pytest.raises(UsageError, match="first line"):
        keystore_keys(there, tmp_path / "empty", {})
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        keystore_keys(there, tmp_path / "binary", {})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_keystore_without_permission_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "secret").touch(mode=0)
    with pytest.raises(UsageError, match="Permission denied"):
        keystore_keys(tmp_path / "secret", None, BOTH)


def sealed_with_digest(body: bytes) -> bytes:
    """`body` as the keystore of somebody who knows the password: its digest checks."""
    return body + hashlib.sha1(STORE.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def refused(data: bytes) -> bool:
    try:
        read_secret_key(data, "testing:1", STORE, KEY)
    except CdcError as error:
        return isinstance(error, DefinitionError)
    return False


def test_every_prefix_of_the_entries_is_refused(sets_root: Path) -> None:
    body = (sets_root / "50-aes" / "keystore.jks").read_bytes()[:-20]
    assert [end for end in range(12, len(body)) if not refused(sealed_with_digest(body[:end]))] == []


@pytest.mark.parametrize("at", range(4, 484, 60))
def test_a_changed_byte_is_refused_or_changes_nothing(sets_root: Path, at: int) -> None:
    body = bytearray((sets_root / "50-aes" / "keystore.jks").read_bytes()[:-20])
    body[at] ^= 0x55
    data = sealed_with_digest(bytes(body))
    # Dates and class ids may change and the key still comes out.
    told = json.loads((sets_root / "50-aes" / "encryption.json").read_text())
    assert refused(data) or read_secret_key(data, "testing:1", STORE, KEY).hex() == told["key_hex"]


@given(st.binary(max_size=300))
def test_any_bytes_behind_the_magic_are_refused(rest: bytes) -> None:
    assert refused(sealed_with_digest(b"\xce\xce\xce\xce\x00\x00\x00\x02" + rest + bytes(4)))
