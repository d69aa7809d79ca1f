"""The page's file: needs nothing else, makes no HTML of text, and its policy has just what stands in it."""

from __future__ import annotations

import base64
import hashlib
import re

from tailer.node_page.page import page_text, policy_of

TEXT = page_text().body.decode()


def test_it_needs_nothing_else() -> None:
    outside = re.findall(r"""(?:src|href|action|url)\s*[=(]\s*["']?([^"'\s>)]+)""", TEXT)
    assert [each for each in outside if not each.startswith("data:")] == ["metrics"]
    assert re.findall(r"https?://[^'\"\s]+", TEXT) == ["http://www.w3.org/2000/svg"] * 2


def test_no_text_becomes_html() -> None:
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
    ):
        assert word not in TEXT
    assert not re.search(r"""\son\w+\s*=\s*["']""", TEXT)
    assert " style=" not in TEXT


def test_the_policy_allows_what_is_in_the_file() -> None:
    policy = dict(each.split(" ", 1) for each in page_text().policy.split("; "))
    for kind in ("script", "style"):
        (inside,) = re.findall(rf"<{kind}>(.*?)</{kind}>", TEXT, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert policy[f"{kind}-src"] == f"'sha256-{digest}'"
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert not any("unsafe" in each for each in policy.values())


def test_each_script_has_its_own_hash() -> None:
    policy = policy_of("<script>a</script><style>b</style><script>c</script>")
    assert policy.count("'sha256-") == 3
