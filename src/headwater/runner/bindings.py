"""Bindings: where the datasets of packages are, by environment, written once for all packages that read or write them.

`bindings` of a dk.yaml, or the nearest `bindings.yaml` in the package's folder and those above it. Chooses no environment by guess: where there are
several, one must be named.
"""

import difflib
from collections.abc import Mapping
from pathlib import Path

import yaml

from headwater.runner.document import Document, Entry, suggestion

FILE = "bindings.yaml"
ENVIRONMENT = "HEADWATER_ENVIRONMENT"
"""The variable that names the environment, if `--env` does not."""
_MOST_FOLDERS = 20


class Binding:
    """A place as the file has it. `folder`: what its relative paths are relative to; `document`: what notes its problems."""

    def __init__(self, entries: dict[str, Entry], folder: Path, document: Document, field: str) -> None:
        self.entries = entries
        self.folder = folder
        self.document = document
        self.field = field


class Bindings:
    """The bindings of one environment. `environment`: None without bindings; `elsewhere`: names that only other environments have."""

    def __init__(self, environment: str | None = None, where: str = "") -> None:
        self.environment = environment
        self.where = where
        self.elsewhere: dict[str, list[str]] = {}
        self._bound: dict[str, Binding] = {}

    def add(self, name: str, binding: Binding) -> None:
        self._bound[name] = binding

    def get(self, name: str) -> Binding | None:
        return self._bound.get(name)

    def nearest(self, name: str) -> str | None:
        return next(iter(difflib.get_close_matches(name, self._bound, 1, 0.6)), None)

    def unknown(self, name: str) -> str:
        """Return the error for a name that nothing binds, and how to bind it."""
        if not self.where:
            return f"{name!r} is bound nowhere: add {FILE} beside the package, or `bindings` to this file"
        if name in self.elsewhere:
            others = ", ".join(self.elsewhere[name])
            return f"{name!r} is bound in {others} and not in {self.environment}; add it to {self.environment} in {self.where}"
        return f"{name!r} is not bound in {self.environment} of {self.where}{suggestion(name, [*self._bound])}"


def read_bindings(document: Document, top: Mapping[str, Entry], folder: Path, environment: str | None) -> Bindings:
    """Read the bindings of an environment; problems of another file are noted in `document`, too."""
    if "bindings" in top:
        return _of(document, top["bindings"].value, "bindings", folder, environment, str(document.file))
    file = _nearest(folder)
    if file is None:
        return Bindings(environment)
    other = Document(file)
    other.problems = document.problems
    root = other.read()
    return Bindings(environment) if root is None else _of(other, root, "", file.parent, environment, str(file))


def _nearest(folder: Path) -> Path | None:
    """The file that counts: the nearest one, not above a repository's root."""
    for each in (folder, *folder.parents)[:_MOST_FOLDERS]:
        if (each / FILE).is_file():
            return each / FILE
        if (each / ".git").exists():
            return None
    return None


def _of(document: Document, node: yaml.Node, field: str, folder: Path, environment: str | None, where: str) -> Bindings:
    environments = document.mapping(node, field)
    if not environments:
        return Bindings(environment)
    chosen = environment or (next(iter(environments)) if len(environments) == 1 else None)
    if chosen is None or chosen not in environments:
        given = (
            f"has no environment {environment!r}{suggestion(environment, [*environments])}"
            if environment
            else f"has {len(environments)} environments: choose one with --env or {ENVIRONMENT}: {', '.join(environments)}"
        )
        document.note(node, field or "bindings", given)
        return Bindings(environment, where)
    found = Bindings(chosen, where)
    for name, entry in environments.items():
        place = f"{field}.{name}" if field else name
        for dataset, each in document.mapping(entry.value, place).items():
            if name != chosen:
                found.elsewhere.setdefault(dataset, []).append(name)
            else:
                found.add(dataset, _binding(document, dataset, each, folder, f"{place}.{dataset}"))
    return found


def _binding(document: Document, dataset: str, entry: Entry, folder: Path, field: str) -> Binding:
    """A mapping as an input has it, or a text: a location."""
    if isinstance(entry.value, yaml.ScalarNode):
        return Binding({"location": entry}, folder, document, field)
    return Binding(
        document.mapping(entry.value, field, ("type", "location", "dataset", "url", "table", "servers", "topic")),
        folder,
        document,
        field,
    )
