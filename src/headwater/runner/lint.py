"""Warnings about a valid dk.yaml: names without meaning, and missing descriptions.

Requirement K7. Warnings never stop a run.
"""

import re

import msgspec
import yaml

from headwater.runner.document import Document, Entry, Problem
from headwater.runner.manifest import Manifest

_EMPTY_WORDS = re.compile(
    r"(?i)(my[-_]?)?(pipeline|job|task|package|test|untitled|new|foo|bar|tmp|temp|etl|script|main|run|example)[-_]?\d*"
)
_EMPTY_NAMESPACES = frozenset({"default", "test", "namespace", "my-namespace", "none", "null", "example"})


def with_warnings(
    manifest: Manifest, document: Document, top: dict[str, Entry], metadata: dict[str, Entry]
) -> Manifest:
    """Return the manifest with its warnings, each with its place in the file."""
    found: list[Problem] = []

    def warn(node: yaml.Node | None, field: str, message: str) -> None:
        line, column = (node.start_mark.line + 1, node.start_mark.column + 1) if node is not None else (0, 0)
        found.append(Problem(str(document.file), line, column, field, message))

    block = top["metadata"].key if "metadata" in top else None
    if _EMPTY_WORDS.fullmatch(manifest.name):
        message = f"{manifest.name!r} has no meaning; name what it makes, as in user-events-to-parquet"
        warn(metadata["name"].value, "metadata.name", message)
    if manifest.namespace.lower() in _EMPTY_NAMESPACES:
        message = f"{manifest.namespace!r} groups nothing; name the domain, as in analytics"
        warn(metadata["namespace"].value, "metadata.namespace", message)
    if not manifest.description:
        warn(block, "metadata.description", "is missing: describe in one sentence what the package makes")
    if not manifest.owners:
        warn(block, "metadata.owner", "is missing: name the contact for problems")
    for section, datasets in (("inputs", manifest.inputs), ("outputs", manifest.outputs)):
        for each in datasets:
            if not each.located:
                message = f"has no location and no binding: it is {each.dataset.namespace} {each.name}, as for every package of this namespace"
                warn(top[section].key, f"{section}.{each.name}", message)
            if not each.description:
                warn(top[section].key, f"{section}.{each.name}.description", "is missing")
    if manifest.made.entities and manifest.outputs and not any(each.instance for each in manifest.outputs):
        message = "is in no output: without it a period that is made again with the same content counts as new"
        warn(top["outputs"].key, "outputs.instance", message)
    if not manifest.outputs:
        warn(
            top["outputs"].key if "outputs" in top else None, "outputs", "is empty: nothing will depend on this package"
        )
    return msgspec.structs.replace(manifest, warnings=tuple(found))
