"""Reports of earlier tries of a task whose process was killed: Airflow then calls no callback.

Headwater still considers them running. The next try of the same task in the same run reports their failure. Does not report other runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.capture.airflow.config import Config
from headwater.capture.airflow.reports import Run
from headwater.client.ask import ask


class _Mark(msgspec.Struct):
    kind: str
    ref: str


class _Stretch(msgspec.Struct):
    marks: list[_Mark]


class _Status(msgspec.Struct):
    stretches: list[_Stretch]


def died(config: Config, run: Run, made: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a report for each. A first try sends no request. Raises what `ask` does."""
    if run.attempt < 2:
        return []
    instances: dict[str, list[str]] = {}
    for one in made:
        instances.setdefault(one["entity"], []).append(one["instance"])
    found = []
    for entity, keys in instances.items():
        path = f"/api/v2/entities/{quote(entity, safe='')}/status"
        body = ask(config.url, path, {"instances": keys}, config.api_key, 10.0)
        status = msgspec.json.decode(body, type=_Status)
        running = {mark.ref for stretch in status.stretches for mark in stretch.marks if mark.kind == "running"}
        earlier = {msgspec.structs.replace(run, attempt=attempt).ref for attempt in range(1, run.attempt)}
        found += [
            {
                "entity": entity,
                "what": "failed",
                "instances": keys,
                "ref": ref,
                "key": f"{ref}#{run.id} died",
                "reason": "its process ended without a report",
            }
            for ref in sorted(running & earlier)
        ]
    return found
