"""Subjects of a real schema registry, and what a connector reads of them: `scripts/schema-registry` starts the registry and runs this."""

import json
import sys
import urllib.request
from typing import Any
from urllib.parse import quote

from headwater.connectors import connector
from headwater.model.connector_kinds import KINDS, check_options
from headwater.model.connector_reports import ConnectorTask, PullReport

ADDRESS = {
    "type": "record", "name": "Address", "namespace": "shop", "fields": [{"name": "city", "type": "string"}, {"name": "zip", "type": "string"}],
}  # fmt: skip
ORDER = [{"name": "id", "type": "long"}, {"name": "to", "type": "shop.Address"}]
LATER = {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None}


def main(url: str) -> None:
    def ask(method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def register(subject: str, schema: Any, **more: Any) -> None:
        ask("POST", f"/subjects/{quote(subject, safe='')}/versions", {"schema": json.dumps(schema), **more})

    def pull(cursor: Any = None) -> tuple[list[dict[str, Any]], PullReport]:
        settings, _ = check_options(KINDS["schema_registry"], {"address": url, "namespace": "kafka://broker:9092"})
        sent: list[dict[str, Any]] = []
        task = ConnectorTask("pull", "schema_registry", "registry", settings, cursor=cursor)
        return sent, connector("schema_registry").pull(task, sent.append)

    register("address", ADDRESS)
    references = [{"name": "shop.Address", "subject": "address", "version": 1}]
    record = {"type": "record", "name": "Order", "namespace": "shop"}
    register("orders-value", {**record, "fields": ORDER}, references=references)
    ask("PUT", "/config/orders-value", {"compatibility": "BACKWARD"})
    register("orders-value", {**record, "fields": [*ORDER, LATER]}, references=references)
    register("odd/ä-value", {"type": "object", "properties": {"who": {"type": "string"}}}, schemaType="JSON")
    register("gone-value", {**record, "name": "Gone", "fields": [{"name": "x", "type": "int"}]})

    sent, first = pull()
    shown = {(topic, version): fields for topic, version, fields, _ in map(show, sent)}
    order = [("id", []), ("to", ["city", "zip"])]
    assert shown == {
        ("orders", "1"): order, ("orders", "2"): [*order, ("at", [])], ("odd/ä", "1"): [("who", [])], ("gone", "1"): [("x", [])],
    }, shown  # fmt: skip
    assert {asked for topic, *_, asked in map(show, sent) if topic == "orders"} == {"BACKWARD"}
    assert pull(first.cursor)[0] == []
    ask("PUT", "/config/orders-value", {"compatibility": "FULL"})
    ask("DELETE", "/subjects/gone-value")
    changed, second = pull(first.cursor)
    assert [show(one)[:2] + show(one)[3:] for one in changed] == [("orders", "2", "FULL")], changed
    assert second.warnings == ("gone-value was deleted in the registry: the versions that were read of it are kept",)
    assert pull(second.cursor)[1].warnings == ()
    print(
        f"{len(shown)} versions of {len({topic for topic, _ in shown})} topics were registered in a real registry, and read"
    )


def show(sent: dict[str, Any]) -> tuple[str, str, list[tuple[str, list[str]]], str]:
    """Return the topic, the version, the columns with those inside of each, and the compatibility."""
    (output,) = sent["outputs"]
    facets = output["facets"]
    fields = [(one["name"], [each["name"] for each in one.get("fields") or []]) for one in facets["schema"]["fields"]]
    return (
        output["name"],
        facets["version"]["datasetVersion"],
        fields,
        facets["headwater_compatibility"]["compatibility"],
    )


if __name__ == "__main__":
    main(sys.argv[1])
