"""What the site has besides `docs/`: a hook of mkdocs. README, changes and contributing are pages of it, the files that
pages link to are beside them, and every link is made to lead there; tables and code are marked for
`docs/site/site.css`. See `mkdocs.yml`; `make docs` builds it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
OUTSIDE: Final = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""Pages of the repository that are pages of the site."""

WORDS: Final = 40
SENTENCE: Final = 90
"""Characters of a cell from which on it is more than a name, and from which on more than a list."""
WORD: Final = 30
"""Characters of a word that fits a phone's line."""

_LINK: Final = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
_CELL: Final = re.compile(r"<td>(.*?)</td>", re.DOTALL)
_INLINE_CODE: Final = re.compile(r"(?<!</span>)(<code>)([^<\n]+)(?=</code>)")
_HYPHENED: Final = re.compile(rf"(?<!\S)(?=\S*-)\S{{3,{WORD}}}(?!\S)")


def on_files(files: Any, config: Any) -> Any:
    """Takes in pages that stand elsewhere, and the files that any page links to."""
    from mkdocs.structure.files import File

    pages = [*(Path("docs") / file.src_uri for file in files.documentation_pages()), *map(Path, OUTSIDE)]
    for name in (*OUTSIDE, *_linked(pages)):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links of the repository as links of the site."""
    here = page.file.src_uri
    source = Path(page.file.abs_src_path).relative_to(ROOT).as_posix()

    def led(link: re.Match[str]) -> str:
        target = _site_path(posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1])))
        return f"]({posixpath.relpath(target, posixpath.dirname(here) or '.')}{link[2] or ''})"

    return _LINK.sub(led, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Marks what CSS cannot tell: cells of sentences, and words of code that a browser would break at their hyphens."""

    def cell(found: re.Match[str]) -> str:
        length = len(re.sub(r"<[^>]*>", "", found[1]))
        kind = "sentence" if length > SENTENCE else "words"
        return f'<td class="{kind}">{found[1]}</td>' if length > WORDS else found[0]

    def code(found: re.Match[str]) -> str:
        return found[1] + _HYPHENED.sub(r'<span class="whole">\g<0></span>', found[2])

    return _INLINE_CODE.sub(code, _CELL.sub(cell, html))


def _linked(pages: list[Path]) -> list[str]:
    """Files outside `docs/` that pages link to, of a folder all that is in it."""
    found: dict[str, None] = {}
    for page in pages:
        for target, _ in _LINK.findall((ROOT / page).read_text("utf-8")):
            path = (ROOT / page.parent / target).resolve()
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                name = file.relative_to(ROOT).as_posix()
                if file.is_file() and not name.startswith("docs/") and name not in OUTSIDE:
                    found[name] = None
    return list(found)


def _site_path(name: str) -> str:
    """Where a file of the repository is in the site. Of a folder the first file: a site lists none."""
    if (ROOT / name).is_dir():
        name = min(path.relative_to(ROOT).as_posix() for path in (ROOT / name).rglob("*") if path.is_file())
    return name.removeprefix("docs/")
