"""Kafka topics, from the options of a reader or writer. Classes are known by name alone: the connector may be missing.

Does not ask the broker: a pattern (`subscribePattern`), or rows that each name their topic, yield no topics.
"""

import json
from collections.abc import Mapping
from typing import Any

TABLE, RELATION = "KafkaTable", "KafkaRelation"
_SERVERS = "kafka.bootstrap.servers"
_SEPARATOR = "\x01"


def options(jmap: Any) -> dict[str, str]:
    """Return a Java or Scala map of options by lower-case key."""
    if isinstance(jmap, dict):
        return {key.lower(): value for key, value in jmap.items()}
    found = getattr(jmap, "asCaseSensitiveMap", None)
    if found is not None and "CaseInsensitiveStringMap" in str(jmap.getClass().getName()):
        return {str(key).lower(): str(value) for key, value in found().items()}
    keys = str(jmap.keys().mkString(_SEPARATOR)).split(_SEPARATOR)
    return {key.lower(): str(jmap.apply(key)) for key in keys if key}


def topics(given: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (namespace, name) of the topics that options name: `topic` of a writer, `subscribe` or `assign` of a reader."""
    server = given.get(_SERVERS, "").split(",")[0].strip()
    if not server:
        return []
    if "topic" in given:
        names = [given["topic"]]
    elif "subscribe" in given:
        names = given["subscribe"].split(",")
    else:
        try:
            names = list(json.loads(given.get("assign", "{}")))
        except (ValueError, TypeError):
            names = []
    return [(f"kafka://{server}", name.strip()) for name in names if name.strip()]


def of_relation(relation: Any) -> dict[str, str]:
    """Return the options of a `KafkaRelation`, with which Spark reads a topic once; Spark has no public access to them."""
    for field in relation.getClass().getDeclaredFields():
        if str(field.getName()).endswith("sourceOptions"):
            field.setAccessible(True)
            return options(field.get(relation))
    return {}
