"""The inputs and outputs of a dk.yaml: the place of each, and the OpenLineage name that follows from it.

Only `headwater.model.names` makes names. Does not check whether the data exists.
"""

import os.path
import re
from pathlib import Path

import yaml

from headwater.model import names as naming
from headwater.model.names import DatasetName
from headwater.runner.document import Document, Entry, is_null
from headwater.runner.entities import PackageEntities, read_instance
from headwater.runner.interpolation import Names, UnknownName
from headwater.runner.manifest import Declared

_KNOWN = (
    "name", "type", "description", "classification", "location", "dataset", "url", "table", "servers", "topic",
)  # fmt: skip
_OF_OUTPUTS = ("entity", "instance")
_WAYS = "location (a path or URI), dataset: {namespace, name}, url + table (JDBC), or servers + topic (Kafka)"
_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+:")


def read_datasets(
    document: Document,
    names: Names,
    folder: Path,
    entry: Entry | None,
    section: str,
    made: PackageEntities | None = None,
) -> tuple[Declared, ...]:
    """Read the datasets of one section and add each to `names` as `section.name`. `made`: the entities that outputs may hold."""
    if entry is None or is_null(entry.value):
        return ()
    found: list[Declared] = []
    nodes: dict[str, yaml.Node] = {}
    for index, node in enumerate(document.items(entry.value, section)):
        field = f"{section}[{index}]"
        entries = document.mapping(node, field, _KNOWN if made is None else (*_KNOWN, *_OF_OUTPUTS))
        if not isinstance(node, yaml.MappingNode):
            continue
        name = document.text(entries, "name", field, owner=node)
        kind = document.text(entries, "type", field, owner=node)
        description = document.text(entries, "description", field)
        classification = _classification(document, entries.get("classification"), field)
        located = _located(document, names, folder, entries, field)
        entity, instance = (None, None) if made is None else read_instance(document, entries, field, made)
        if name and name in nodes:
            first = nodes[name].start_mark.line + 1
            document.note(
                entries["name"].value, f"{field}.name", f"{name!r} is defined twice; the first is in line {first}"
            )
            continue
        if name:
            nodes[name] = node
        if name and located:
            place, dataset = located
            names.place(f"{section}.{name}", place)
            found.append(
                Declared(
                    name=name,
                    type=kind or "",
                    place=place,
                    dataset=dataset,
                    description=description,
                    classification=classification,
                    entity=entity,
                    instance=instance,
                )
            )
    return tuple(found)


def _located(
    document: Document, names: Names, folder: Path, entries: dict[str, Entry], field: str
) -> tuple[str, DatasetName] | None:
    node = next((each.key for each in entries.values()), None)
    ways = [way for way in ("location", "dataset", "table", "topic") if way in entries]
    if len(ways) != 1:
        document.note(node, field, f"needs exactly one of: {_WAYS}")
        return None

    def text(name: str, within: dict[str, Entry] = entries, place: str = field) -> str | None:
        raw = document.text(within, name, place, owner=node)
        if raw is None:
            return None
        try:
            return names.resolve(raw)
        except UnknownName as error:
            document.note(within[name].value, f"{place}.{name}", str(error))
            return None

    if ways == ["location"]:
        location = text("location")
        if location is None:
            return None
        if not _URI.match(location):
            location = os.path.normpath(folder / Path(location).expanduser())
        return location, naming.from_location(location, base=str(folder))
    if ways == ["table"]:
        url, table = text("url"), text("table")
        return (table, naming.from_jdbc(url, table)) if url and table else None
    if ways == ["topic"]:
        servers, topic = text("servers"), text("topic")
        return (topic, DatasetName(f"kafka://{servers.split(',')[0].strip()}", topic)) if servers and topic else None
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
