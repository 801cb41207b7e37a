"""Gather the pages of the documentation site and its configuration in one folder: `python docs/site/pages.py FOLDER`.

They are the pages of `docs/`, the reference that `reference.py` generates from the code, and below `project/` the project's pages outside `docs/`.
A link to any other file of the repository keeps its text and loses its target: the site has no source browser.
"""

import posixpath
import re
import shutil
import sys
from pathlib import Path

import reference

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROJECT = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/RESULTS.md")),
    *sorted((ROOT / "examples").rglob("README.md")),
]
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_IMAGE = re.compile(r"!\[([^\]]*)\]\((docs/[^()\s]+)\)")


def main(folder: str) -> None:
    """Write `FOLDER/pages`, pictures included, and `FOLDER/mkdocs.yml`. SystemExit: the navigation and the pages are not the same."""
    target = Path(folder, "pages")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target, ignore=shutil.ignore_patterns("site"))
    for uri, text in reference.pages().items():
        (target / uri).write_text(text, encoding="utf-8")
    for source in [*sorted(DOCS.rglob("*.md")), *PROJECT]:
        page = target / address(source)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(with_site_links(source), encoding="utf-8")
    config = (DOCS / "site/mkdocs.yml").read_text(encoding="utf-8")
    for kind, sources in {"decision": sorted((DOCS / "decisions").glob("0*.md")), "example": PROJECT[5:]}.items():
        mark = f"      # pages.py adds each {kind} here\n"
        assert mark in config
        config = config.replace(mark, "".join(f"      - {address(source)}\n" for source in sources))
    Path(folder, "mkdocs.yml").write_text(config, encoding="utf-8")
    listed = set(re.findall(r"[\w./-]+\.md", config[config.index("nav:") :]))
    written = {page.relative_to(target).as_posix() for page in target.rglob("*.md")}
    if lacking := sorted(written - listed) + sorted(listed - written):
        sys.exit(f"docs/site/mkdocs.yml: add to `nav`, or remove from it: {', '.join(lacking)}")


def address(source: Path) -> str:
    """Return the site's address of the page of a file of the repository."""
    inside = source.is_relative_to(DOCS)
    return source.relative_to(DOCS).as_posix() if inside else f"project/{source.relative_to(ROOT).as_posix()}"


def with_site_links(source: Path) -> str:
    """The page's text with each link leading to a page of the site. A link that leads nowhere stays, for the build to refuse."""
    here = posixpath.dirname(address(source))

    def rewritten(match: re.Match[str]) -> str:
        text, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match.group()
        path, hash_, anchor = target.partition("#")
        found = Path(posixpath.normpath(source.parent / path))
        if (found / "README.md").is_file():
            found /= "README.md"
        if found in PROJECT or (found.is_relative_to(DOCS) and found.suffix == ".md"):
            return f"[{text}]({posixpath.relpath(address(found), here or '.')}{hash_}{anchor})"
        return text if found.exists() else match.group()

    text = _LINK.sub(rewritten, source.read_text(encoding="utf-8"))
    # Only the README shows pictures from outside its folder.
    return _IMAGE.sub(lambda match: f"![{match[1]}](../{match[2].removeprefix('docs/')})", text)


if __name__ == "__main__":
    main(*sys.argv[1:])
