"""The two states of a project that a review compares: the files as they are, and those of a revision of git or of another folder."""

from __future__ import annotations

import datetime as dt
import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from headwater.capture.dbt.files import PROJECT
from headwater.cli.review.broken_policies import BrokenPolicy, Policies, broken_policies
from headwater.cli.review.column_types import Types
from headwater.cli.review.differences import compare
from headwater.cli.review.results import Review
from headwater.cli.sql.reading import Options, Reading
from headwater.cli.sql.statements import name
from headwater.columns.catalog import table_key
from headwater.columns.project import AnalysedText
from headwater.errors import InvalidQuestion


def compare_with(
    base: str, paths: list[str], options: Options, policies: Policies = Policies()
) -> tuple[Review, list[str], list[BrokenPolicy]]:
    """Compare the paths as they are with those of `base`; return the review, what could not be read, and the policies that the paths break.

    `base`: a folder that holds the same paths, or a revision. Raises InvalidQuestion for one that is neither.
    """
    options = msgspec.structs.replace(options, as_written=True)
    with _base_folder(base) as (folder, is_revision):
        places = {path: folder / _within(path, is_revision=is_revision) for path in paths}
        there = {path: place for path, place in places.items() if place.exists()}
        head = [path for path in paths if Path(path).exists()]
        if not head and not there:
            raise InvalidQuestion(f"{', '.join(paths)}: no such file or folder, neither now nor in {base}")
        both = all(
            (place / "target/manifest.json").is_file() and (Path(path) / "target/manifest.json").is_file()
            for path, place in there.items()
            if (Path(path) / "dbt_project.yml").is_file()
        )
        # A manifest on one side alone would show every name that dbt resolves as a change; one that is older than the files would hide the change.
        options = msgspec.structs.replace(options, manifests=options.manifests and both)
        shown = {str(place): path for path, place in there.items()}
        sides = _sides(list(shown), head, options)
        if stale := next((place for side in sides for place in side.stale), None):
            options = msgspec.structs.replace(options, manifests=False)
            sides = _sides(list(shown), head, options)
            stale = next(
                (path + stale[len(place) :] for place, path in shown.items() if stale.startswith(place)), stale
            )
        base_side, head_side = sides
        before = [_renamed(one, shown) for one in base_side.analysed()]
        head_side.share_parsed(base_side)
    after = [_placed(one, one.text.place) for one in head_side.analysed()]
    of_base = [_shown_problem(one, shown) for one in base_side.problems]
    problems = [*(one for one in of_base if one not in head_side.problems), *head_side.problems]
    if stale:
        problems.insert(
            0,
            f"{stale} is not as its target/manifest.json has it: both sides are read from their files; run dbt compile for exact names",
        )
    dialect = options.dialect or head_side.dialect or base_side.dialect
    broken = broken_policies(policies, before, after, dt.datetime.now(dt.UTC).date())
    review = compare(before, after, dialect, base_side.types)
    tiers = base_side.tiers | head_side.tiers
    affected = [msgspec.structs.replace(one, tier=tiers.get(one.table, "")) for one in review.affected]
    return msgspec.structs.replace(review, affected=affected), problems, broken


class _Side:
    """The texts of one state; none if there are no paths."""

    def __init__(self, paths: list[str], options: Options) -> None:
        self._reading = Reading(paths, options) if paths else None
        self.dialect = self._reading.dialect if self._reading else ""
        self.types: Types = self._reading.types if self._reading else {}
        self.stale = [one.stale for one in self._reading.dbt if one.stale] if self._reading else []
        """Files that changed after their project's manifest was written, one of each project."""

        self.tiers = {
            name(table_key(table)): tier
            for project in (self._reading.dbt if self._reading else ())
            for table, tier in project.tiers.items()
        }
        """The tiers of tables, as their models have them."""

    def analysed(self) -> list[AnalysedText]:
        return list(self._reading.analysed()) if self._reading else []

    def share_parsed(self, other: _Side) -> None:
        if self._reading is not None and other._reading is not None:
            self._reading.share_parsed(other._reading)

    @property
    def problems(self) -> list[str]:
        return self._reading.problems if self._reading else []


def _sides(base: list[str], head: list[str], options: Options) -> tuple[_Side, _Side]:
    """Read both states. What dbt's catalog.json lists of the base counts for the head too, which seldom has one of its own."""
    catalogs = tuple(
        path
        for one in base
        if (path := Path(one) / "target/catalog.json").is_file() and (Path(one) / PROJECT).is_file()
    )
    return _Side(base, options), _Side(head, msgspec.structs.replace(options, schemas=(*catalogs, *options.schemas)))


def _renamed(one: AnalysedText, shown: dict[str, str]) -> AnalysedText:
    for folder, path in shown.items():
        if one.text.place.startswith(folder):
            return _placed(one, path + one.text.place[len(folder) :])
    return one


def _shown_problem(problem: str, shown: dict[str, str]) -> str:
    """Name the files of a problem as the paths are given, not as they are laid out for the comparison."""
    for folder, path in shown.items():
        problem = problem.replace(f"{folder}/", "" if path == "." else f"{path.rstrip('/')}/").replace(folder, path)
    return problem


def _placed(one: AnalysedText, place: str) -> AnalysedText:
    """Return the text at the place as both sides spell it: `./shop.sql` and `shop.sql` are one file."""
    return msgspec.structs.replace(one, text=msgspec.structs.replace(one.text, place=os.path.normpath(place)))


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
