"""Read dbt's `manifest.json` and `catalog.json`: the one place that knows their fields.

Field names: dbt's manifest schemas v7 to v12 and catalog schema v1. Both files are untrusted.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from headwater.errors import InvalidQuestion

Node = dict[str, Any]
Relation = tuple[str, ...]
"""Database, schema and name, as far as dbt gives them."""

BUILT = frozenset({"model", "seed", "snapshot"})
_VERSION = re.compile(r"/(\w+)/v(\d+)\.json$")
_OLDEST, _NEWEST = 7, 12


def read_json(path: Path) -> Any:
    """Decode a file of JSON in UTF-8. Raises InvalidQuestion, which names the file, the place in it and what to do."""
    try:
        return msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise InvalidQuestion(f"{path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidQuestion(f"{path} is not JSON in UTF-8 ({error}); let dbt write it again: dbt compile") from error


class Manifest:
    """All that dbt knows of a project: what it builds, from what, and who uses it.

    `nodes`: models, seeds, snapshots and tests by their unique ids, with sources. `others`: exposures, metrics, semantic models, saved queries.
    `macros`: the texts of the project's own macros. `written`: texts that dbt read from the project's files, by file, those of disabled models too.
    """

    def __init__(self, content: Node) -> None:
        self.nodes: dict[str, Node] = {**_group(content, "nodes"), **_group(content, "sources")}
        self.others: dict[str, Node] = {
            key: node
            for group in ("exposures", "metrics", "semantic_models", "saved_queries")
            for key, node in _group(content, group).items()
        }
        metadata = _mapping(content.get("metadata"))
        self.project = str(metadata.get("project_name") or "dbt")
        self.adapter = str(metadata.get("adapter_type") or "")
        self.macros = [
            str(node.get("macro_sql"))
            for node in _group(content, "macros").values()
            if node.get("package_name") == self.project
        ]
        self.written: dict[str, list[str]] = {}
        off = [node for some in _mapping(content.get("disabled")).values() if isinstance(some, list) for node in some]
        for node in (*_group(content, "nodes").values(), *_group(content, "macros").values(), *map(_mapping, off)):
            text = node.get("raw_code", node.get("macro_sql"))
            if node.get("package_name") == self.project and isinstance(text, str):
                self.written.setdefault(str(node.get("original_file_path")), []).append(text)

    def relation(self, node: Node) -> Relation | None:
        """Return the table or view of a node; None for an ephemeral model, which is none."""
        if _mapping(node.get("config")).get("materialized") == "ephemeral":
            return None
        last = node.get("identifier") or node.get("alias") or node["name"]
        return tuple(str(part) for part in (node.get("database"), node.get("schema"), last) if part)

    def inputs(self, node: Node, relation_of: Callable[[Node], Relation | None] | None = None) -> list[Relation]:
        """Return what a node reads, by dbt's own account; what is no relation, as an ephemeral model or a metric, stands for what it reads itself.

        `relation_of`: how a caller names the relation of a node, instead of `relation`.
        """
        relation_of = relation_of or self.relation
        found: dict[Relation, None] = {}
        queue, seen = list(reads(node)), set[str]()
        while queue:
            id_ = queue.pop(0)
            read = self.nodes.get(id_)
            if id_ in seen:
                continue
            seen.add(id_)
            if read is None:
                queue += reads(self.others.get(id_) or {})
            elif relation := relation_of(read):
                found[relation] = None
            else:
                queue += reads(read)
        return list(found)


def read_manifest(path: Path) -> Manifest:
    """Read a manifest. Raises InvalidQuestion for a file that is none, or of a version that is not known."""
    content = read_json(path)
    check_version(path, content, "manifest", _OLDEST, _NEWEST)
    return Manifest(content)


def check_version(path: Path, content: Any, kind: str, oldest: int, newest: int) -> None:
    """Raise InvalidQuestion unless `content` is dbt's artifact of this kind in one of these versions."""
    metadata = content.get("metadata") if isinstance(content, dict) else None
    schema = str(metadata.get("dbt_schema_version") or "") if isinstance(metadata, dict) else ""
    match = _VERSION.search(schema)
    if match is None or match.group(1) != kind:
        raise InvalidQuestion(f"{path} is no {kind} of dbt: its metadata has the schema {schema[:100]!r}")
    version = int(match.group(2))
    if not oldest <= version <= newest:
        raise InvalidQuestion(
            f"{path} has the version {version} of dbt's {kind} schema; {oldest} to {newest} are understood. "
            f"Write it with another version of dbt, or upgrade Headwater"
        )


def catalog_columns(path: Path) -> Iterator[tuple[Relation, dict[str, str]]]:
    """Yield each relation of a `catalog.json` with its columns in order, and their types.

    Raises InvalidQuestion for an entry that is not in dbt's format.
    """
    content = read_json(path)
    check_version(path, content, "catalog", 1, 1)
    for group in ("nodes", "sources"):
        for key, node in _group(content, group).items():
            try:
                about = node["metadata"]
                columns = sorted(node["columns"].values(), key=lambda column: int(column["index"]))
                parts = (about.get("database"), about["schema"], about["name"])
                yield (
                    tuple(str(part) for part in parts if part),
                    {str(column["name"]): str(column.get("type") or "") for column in columns},
                )
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise _not_dbt(path, group, key, error) from error


def contract_columns(path: Path) -> Iterator[tuple[Relation, list[str]]]:
    """Yield each model of a manifest whose contract is enforced, with its columns: what others document may be incomplete."""
    manifest = read_manifest(path)
    for key, node in manifest.nodes.items():
        try:
            contract = _mapping(_mapping(node.get("config")).get("contract"))
            relation = manifest.relation(node)
            if contract.get("enforced") and relation:
                yield relation, [str(one["name"]) for one in node["columns"].values()]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _not_dbt(path, "nodes", key, error) from error


def _not_dbt(path: Path, group: str, key: str, error: Exception) -> InvalidQuestion:
    return InvalidQuestion(f"{path}: {group}.{key} is not in dbt's format ({error})")


def reads(node: Node) -> list[str]:
    """Return the unique ids of what a node depends on, in dbt's order."""
    listed: Iterable[Any] = _mapping(node.get("depends_on")).get("nodes") or ()
    return [str(id_) for id_ in listed]


def _group(content: Node, name: str) -> dict[str, Node]:
    found = {str(key): node for key, node in _mapping(content.get(name)).items() if isinstance(node, dict)}
    for key, node in found.items():
        node.setdefault("unique_id", key)
    return found


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
