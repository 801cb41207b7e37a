"""The two states of a project that a review compares: the files as they are, and those of a revision of git or of another folder."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from headwater.cli.review.differences import Review, compare
from headwater.cli.sql.reading import Options, Reading
from headwater.columns.project import AnalysedText
from headwater.errors import InvalidQuestion


def compare_with(base: str, paths: list[str], options: Options) -> tuple[Review, list[str]]:
    """Compare the paths as they are with those of `base`; return the review, and what could not be read.

    `base`: a folder that holds the same paths, or a revision. Raises InvalidQuestion for one that is neither.
    """
    with _base_folder(base) as (folder, is_revision):
        places = {path: folder / _within(path, is_revision=is_revision) for path in paths}
        there = {path: place for path, place in places.items() if place.exists()}
        both = all(
            (place / "target/manifest.json").is_file() and (Path(path) / "target/manifest.json").is_file()
            for path, place in there.items()
            if (Path(path) / "dbt_project.yml").is_file()
        )
        # A manifest on one side alone would show every name that dbt resolves as a change.
        options = msgspec.structs.replace(options, manifests=options.manifests and both)
        before, problems, dialect = _read(list(map(str, there.values())), options)
        shown = {str(place): path for path, place in there.items()}
        before = [_renamed(one, shown) for one in before]
    head = [path for path in paths if Path(path).exists()]
    if not head and not there:
        raise InvalidQuestion(f"{', '.join(paths)}: no such file or folder, neither now nor in {base}")
    after, more, now = _read(head, options)
    return compare(before, after, options.dialect or now or dialect), [
        *(one for one in problems if one not in more),
        *more,
    ]


def _read(paths: list[str], options: Options) -> tuple[list[AnalysedText], list[str], str]:
    if not paths:
        return [], [], ""
    reading = Reading(paths, options)
    return list(reading.analysed()), reading.problems, reading.dialect


def _renamed(one: AnalysedText, shown: dict[str, str]) -> AnalysedText:
    for folder, path in shown.items():
        if one.text.place.startswith(folder):
            place = path + one.text.place[len(folder) :]
            return msgspec.structs.replace(one, text=msgspec.structs.replace(one.text, place=place))
    return one


@contextmanager
def _base_folder(base: str) -> Iterator[tuple[Path, bool]]:
    if Path(base).is_dir():
        yield Path(base), False
        return
    archive = _git(
        "archive", "--format=tar", f"{base}^{{commit}}", cwd=Path(_git("rev-parse", "--show-toplevel").decode().strip())
    )
    with tempfile.TemporaryDirectory(prefix="headwater-review-") as folder:
        try:
            with tarfile.open(fileobj=io.BytesIO(archive)) as files:
                files.extractall(folder, filter="data")
        except tarfile.TarError as error:
            raise InvalidQuestion(f"the files of {base} cannot be laid out: {error}") from error
        yield Path(folder), True


def _within(path: str, *, is_revision: bool) -> Path:
    """Return the path as the base has it: below the root of the repository, or below the other folder as it is given."""
    if not is_revision:
        return Path(path)
    root = Path(_git("rev-parse", "--show-toplevel").decode().strip()).resolve()
    try:
        return Path(path).resolve().relative_to(root)
    except ValueError as error:
        raise InvalidQuestion(f"{path} is not in the repository {root}; name a path in it") from error


def _git(*words: str, cwd: Path | None = None) -> bytes:
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=False, cwd=cwd)
    except FileNotFoundError as error:
        raise InvalidQuestion("git is not installed: give a folder with --base instead of a revision") from error
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip()
        raise InvalidQuestion(
            f"git {words[0]} failed: {problem}. In CI, fetch the base branch first: git fetch origin main"
        )
    return done.stdout
