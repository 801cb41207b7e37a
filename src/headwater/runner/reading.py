"""Read a dk.yaml's nodes into a Manifest: check every rule of the format, and note each mistake with its place.

Does not stop at the first mistake. The order matters: parameters, then inputs and outputs, then what may refer to them.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import yaml

from headwater.errors import InvalidManifest
from headwater.runner import lint
from headwater.runner.bindings import ENVIRONMENT, read_bindings
from headwater.runner.datasets import DatasetReader
from headwater.runner.document import Document, Entry, is_null, suggestion
from headwater.runner.entities import WORDS, read_entities
from headwater.runner.interpolation import Names, UnknownName
from headwater.runner.manifest import Manifest, Owner, Period
from headwater.runner.period import EVERY, read_bounds
from headwater.runner.program import ProgramReader

FILE = "dk.yaml"
_TOP = ("metadata", "run", "parameters", "period", "heartbeat", *WORDS, "bindings", "inputs", "outputs")
_METADATA = ("name", "namespace", "version", "owner", "description", "tags")


def load(
    folder: str | os.PathLike[str],
    params: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    environment: str | None = None,
) -> Manifest:
    """Read `folder`/dk.yaml, with `params` over `HEADWATER_PARAM_*` over the file's own parameters.

    `environment`: whose bindings count; default: the variable `HEADWATER_ENVIRONMENT`, else the only one there is.

    Raises InvalidManifest with every problem at once: `detail["problems"]` is a list of {file, line, column, field, message}.
    `Manifest.warnings` has advice.
    """
    path = Path(folder).absolute()
    document = Document(path / FILE)
    env = os.environ if environ is None else environ
    manifest = _read(document, path, params or {}, env, environment or env.get(ENVIRONMENT) or None)
    if manifest is None or document.problems:
        problems = sorted(document.problems, key=lambda each: (each.line, each.column))
        count = f"{len(problems)} problems" if len(problems) > 1 else "1 problem"
        raise InvalidManifest(
            f"{path / FILE} has {count}:\n" + "\n".join(f"  {each}" for each in problems),
            problems=[msgspec.to_builtins(each) for each in problems],
        )
    return manifest


def _read(
    document: Document, folder: Path, params: Mapping[str, str], environ: Mapping[str, str], environment: str | None
) -> Manifest | None:
    """Return the manifest, or None; `document.problems` has its mistakes in both cases."""
    root = document.read()
    if root is None:
        return None
    top = document.mapping(root, "", _TOP)
    if not isinstance(root, yaml.MappingNode):
        return None
    declared = document.mapping(top["parameters"].value, "parameters") if "parameters" in top else {}
    parameters = _parameters(document, declared, params, environ)
    names = Names(parameters, environ)
    resolved = {
        key: resolve(document, names, raw, declared[key].value, f"parameters.{key}") for key, raw in parameters.items()
    }
    reader = _Reader(document, folder, names)
    made = read_entities(document, top)
    bindings = read_bindings(document, top, folder, environment)
    metadata = document.mapping(top["metadata"].value, "metadata", _METADATA) if "metadata" in top else {}
    owner = top["metadata"].key if "metadata" in top else root
    name = document.text(metadata, "name", "metadata", owner=owner)
    namespace = document.text(metadata, "namespace", "metadata", owner=owner)
    datasets = DatasetReader(document, names, folder, bindings, namespace or "")
    inputs = datasets.read(top.get("inputs"), "inputs")
    outputs = datasets.read(top.get("outputs"), "outputs", made)
    program = ProgramReader(
        document, folder, lambda text, node, field: resolve(document, names, text, node, field)
    ).read(top, root)
    manifest = Manifest(
        folder=str(folder),
        namespace=namespace or "",
        name=name or "",
        version=document.text(metadata, "version", "metadata"),
        description=document.text(metadata, "description", "metadata"),
        owners=reader.owners(metadata.get("owner")),
        tags=reader.texts(metadata.get("tags"), "metadata.tags"),
        program=program,
        parameters=resolved,
        period=reader.period(top.get("period")),
        heartbeat=reader.seconds(top.get("heartbeat")),
        made=made,
        environment=bindings.environment,
        inputs=inputs,
        outputs=outputs,
    )
    return lint.with_warnings(manifest, document, top, metadata)


def resolve(document: Document, names: Names, text: str, node: yaml.Node, field: str) -> str:
    """Resolve every `${…}` in `text`; an unknown name is a problem at `node`."""
    try:
        return names.resolve(text)
    except UnknownName as error:
        document.note(node, field, str(error))
        return text


def _parameters(
    document: Document, declared: dict[str, Entry], params: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    for name in params:
        if name not in declared:
            document.note(None, f"--param {name}", f"is not a parameter of this package{suggestion(name, [*declared])}")
    found = {}
    for name, entry in declared.items():
        variable = "HEADWATER_PARAM_" + re.sub(r"\W", "_", name).upper()
        given = params.get(name, environ.get(variable))
        if given is None:
            given = document.scalar(entry.value, f"parameters.{name}")
            if given is None and is_null(entry.value):
                document.note(entry.value, f"parameters.{name}", f"has no value; give one with --param {name}=…")
        found[name] = given or ""
    return found


class _Reader:
    """Reads the parts of a manifest that are not datasets."""

    def __init__(self, document: Document, folder: Path, names: Names) -> None:
        self._document = document
        self._folder = folder
        self._names = names

    def owners(self, entry: Entry | None) -> tuple[Owner, ...]:
        if entry is None or is_null(entry.value):
            return ()
        if isinstance(entry.value, yaml.ScalarNode):
            return (Owner(str(entry.value.value)),)
        found = []
        for index, node in enumerate(self._document.items(entry.value, "metadata.owner")):
            field = f"metadata.owner[{index}]"
            if isinstance(node, yaml.ScalarNode):
                found.append(Owner(str(node.value)))
                continue
            parts = self._document.mapping(node, field, ("name", "type"))
            name = self._document.text(parts, "name", field, owner=node)
            found.append(Owner(name or "", self._document.text(parts, "type", field)))
        return tuple(found)

    def texts(self, entry: Entry | None, field: str) -> dict[str, str]:
        """Read a mapping of names to single values, each resolved."""
        if entry is None or is_null(entry.value):
            return {}
        found = {}
        for name, each in self._document.mapping(entry.value, field).items():
            text = self._document.scalar(each.value, f"{field}.{name}")
            found[name] = resolve(self._document, self._names, text or "", each.value, f"{field}.{name}")
        return found

    def seconds(self, entry: Entry | None) -> float | None:
        if entry is None:
            return None
        text = self._document.scalar(entry.value, "heartbeat")
        try:
            value = float(text or "")
        except ValueError:
            value = -1.0
        if not 0 <= value <= 86400:
            self._document.note(entry.value, "heartbeat", f"expected seconds between 0 and 86400, got {text!r}")
            return None
        return value or None

    def period(self, entry: Entry | None) -> Period | None:
        if entry is None:
            return None
        document = self._document
        entries = document.mapping(entry.value, "period", ("every", "start", "end"))
        every = document.text(entries, "every", "period", owner=entry.key) or ""
        if every and every not in EVERY:
            document.note(entries["every"].value, "period.every", f"is {every!r}{suggestion(every, EVERY)}")
        bounds: dict[str, str | None] = {}
        noted = len(document.problems)
        for name in ("start", "end"):
            text = document.text(entries, name, "period")
            field = f"period.{name}"
            bounds[name] = resolve(document, self._names, text, entries[name].value, field) if text else None
        try:
            start, end = read_bounds(every, bounds["start"], bounds["end"])
        except ValueError as error:
            if len(document.problems) == noted:  # else its cause is already noted
                document.note(entry.key, "period", str(error))
            return None
        return Period(every, start, end)
