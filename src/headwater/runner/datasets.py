"""The inputs and outputs of a dk.yaml: the place of each, and the OpenLineage name that follows from it.

Only `headwater.model.names` makes names. Does not check whether the data exists. A dataset that says no place is the one that `bindings` has under
its name; without one it has the package's namespace and its own name, so that packages of one namespace still meet.
"""

import os.path
import re
from pathlib import Path

import yaml

from headwater.model import names as naming
from headwater.model.names import DatasetName
from headwater.runner.bindings import Binding, Bindings
from headwater.runner.document import Document, Entry, is_null
from headwater.runner.entities import PackageEntities, read_instance
from headwater.runner.interpolation import Names, UnknownName
from headwater.runner.manifest import Declared

_KNOWN = (
    "name", "type", "description", "classification", "binding", "location", "dataset", "url", "table", "servers", "topic",
)  # fmt: skip
_PLACES = ("location", "dataset", "table", "topic")
_OF_OUTPUTS = ("entity", "instance")
_WAYS = "location (a path or URI), dataset: {namespace, name}, url + table (JDBC), or servers + topic (Kafka)"
_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+:")


class DatasetReader:
    """Reads inputs and outputs, and adds each to `names` as `section.name`. `namespace`: the package's."""

    def __init__(self, document: Document, names: Names, folder: Path, bindings: Bindings, namespace: str) -> None:
        self._document = document
        self._names = names
        self._folder = folder
        self._bindings = bindings
        self._namespace = namespace

    def read(self, entry: Entry | None, section: str, made: PackageEntities | None = None) -> tuple[Declared, ...]:
        """Read one section. `made`: the entities that outputs may hold."""
        if entry is None or is_null(entry.value):
            return ()
        document = self._document
        found: list[Declared] = []
        nodes: dict[str, yaml.Node] = {}
        for index, node in enumerate(document.items(entry.value, section)):
            field = f"{section}[{index}]"
            entries = document.mapping(node, field, _KNOWN if made is None else (*_KNOWN, *_OF_OUTPUTS))
            if not isinstance(node, yaml.MappingNode):
                continue
            name = document.text(entries, "name", field, owner=node)
            if name and name in nodes:
                first = nodes[name].start_mark.line + 1
                document.note(
                    entries["name"].value, f"{field}.name", f"{name!r} is defined twice; the first is in line {first}"
                )
                continue
            dataset = self._dataset(entries, name or "", field, made)
            if name:
                nodes[name] = node
            if name and dataset:
                self._names.place(f"{section}.{name}", dataset.place)
                found.append(dataset)
        return tuple(found)

    def _dataset(
        self, entries: dict[str, Entry], name: str, field: str, made: PackageEntities | None
    ) -> Declared | None:
        document = self._document
        kind = document.text(entries, "type", field)
        description = document.text(entries, "description", field)
        classification = _classification(document, entries.get("classification"), field)
        own = Binding(entries, self._folder, document, field)
        binding = self._binding(entries, name, field)
        at = binding or own
        located = self._located(at) if binding or any(way in entries for way in _PLACES) else self._unbound(name)
        entity, instance = (None, None) if made is None else read_instance(document, entries, field, made)
        if instance is not None and "location" not in at.entries:
            document.note(entries["instance"].value, f"{field}.instance", "goes with a location")
        if located is None:
            return None
        place, dataset = located
        bound = binding.document.text(binding.entries, "type", binding.field) if binding else None
        return Declared(
            name=name,
            type=kind or bound or dataset.namespace.partition(":")[0],
            place=place,
            dataset=dataset,
            description=description,
            classification=classification,
            entity=entity,
            instance=instance,
            located=at is binding or any(way in entries for way in _PLACES),
        )

    def _binding(self, entries: dict[str, Entry], name: str, field: str) -> Binding | None:
        """Return the place that an environment has for it, if it has none of its own."""
        document = self._document
        wanted = document.text(entries, "binding", field)
        own = [way for way in _PLACES if way in entries]
        if wanted is not None and own:
            document.note(entries["binding"].key, f"{field}.binding", f"excludes {own[0]}; give only one of them")
        if own or not (wanted or name):
            return None
        found = self._bindings.get(wanted or name)
        if found is None and (wanted or name in self._bindings.elsewhere):
            node = entries["binding" if wanted else "name"].value
            document.note(node, f"{field}.{'binding' if wanted else 'name'}", self._bindings.unknown(wanted or name))
        return found

    def _unbound(self, name: str) -> tuple[str, DatasetName]:
        return name, DatasetName(self._namespace, name)

    def _located(self, at: Binding) -> tuple[str, DatasetName] | None:
        entries, field, document = at.entries, at.field, at.document
        node = next((each.key for each in entries.values()), None)
        ways = [way for way in _PLACES if way in entries]
        if len(ways) != 1:
            document.note(node, field, f"needs exactly one of: {_WAYS}")
            return None

        def text(name: str, within: dict[str, Entry] = entries, place: str = field) -> str | None:
            raw = document.text(within, name, place, owner=node)
            if raw is None:
                return None
            try:
                return self._names.resolve(raw)
            except UnknownName as error:
                document.note(within[name].value, f"{place}.{name}", str(error))
                return None

        if ways == ["location"]:
            location = text("location")
            if location is None:
                return None
            if not _URI.match(location):
                location = os.path.normpath(at.folder / Path(location).expanduser())
            return location, naming.from_location(location, base=str(at.folder))
        if ways == ["table"]:
            url, table = text("url"), text("table")
            return (table, naming.from_jdbc(url, table)) if url and table else None
        if ways == ["topic"]:
            servers, topic = text("servers"), text("topic")
            return (
                (topic, DatasetName(f"kafka://{servers.split(',')[0].strip()}", topic)) if servers and topic else None
            )
        parts = document.mapping(entries["dataset"].value, f"{field}.dataset", ("namespace", "name"))
        namespace, name = text("namespace", parts, f"{field}.dataset"), text("name", parts, f"{field}.dataset")
        return (name, naming.normalised(namespace, name)) if namespace and name else None


def _classification(document: Document, entry: Entry | None, field: str) -> dict[str, str]:
    if entry is None or is_null(entry.value):
        return {}
    place = f"{field}.classification"
    found = {}
    for name, each in document.mapping(entry.value, place).items():
        text = document.scalar(each.value, f"{place}.{name}")
        if text is None:
            continue
        # `pii: yes` and `pii: True` are the same tag: with one spelling, a search finds both.
        is_bool = each.value.tag == "tag:yaml.org,2002:bool"
        found[name] = ("true" if text.lower() in {"yes", "true", "on"} else "false") if is_bool else text
    return found
