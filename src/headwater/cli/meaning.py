"""Resolve a command's argument: a name, a column, a run, a version, an instance, an item, a file on this disk, a fingerprint."""

from __future__ import annotations

import os
from typing import Any

from headwater.cli import server
from headwater.errors import Ambiguous, NotFound


def find_object(url: str | None, text: str) -> dict[str, Any]:
    """Return `{"type", "id", "label", …}` as `/api/v2/objects` does.

    A path of this disk is a dataset by that name, else a content by its fingerprint.

    Raises Ambiguous with the candidates, NotFound with the nearest names.
    """
    for name in _spellings(text):
        found = server.get(url, "/api/v2/objects", text=name)
        if found["object"]:
            return dict(found["object"])
        if found["candidates"]:
            raise Ambiguous(
                f"{text!r} could be any of {len(found['candidates'])}; give one of these:",
                candidates=[candidate(each) for each in found["candidates"]],
            )
    if os.path.exists(text):  # noqa: PTH110
        return _file(url, text)
    server.resolve(url, text)  # says what is near
    raise NotFound(f"nothing is named {text!r}")


def candidate(each: dict[str, Any]) -> str:
    """Return it as a list of what could be meant shows it."""
    return str(each["id"]) if each["type"] in {"DATASET", "JOB"} else f"{each['id']}  {each['label']}"


def _spellings(text: str) -> list[str]:
    location = server.as_location(text) if "/" in text else None
    return [location, text] if location else [text]


def _file(url: str | None, path: str) -> dict[str, Any]:
    from headwater.client.fingerprint import fingerprint

    id_ = fingerprint(path).text
    found = server.get(url, "/api/v2/objects", text=id_)["object"]
    if not found:
        raise NotFound(
            f"nothing is recorded about {path}: no dataset has this path, and no event names its content ({id_}). If a step read or wrote it, "
            "run `headwater doctor` to see why its event is missing",
            fingerprint=id_,
        )
    return dict(found) | {"label": path}


def described(found: dict[str, Any]) -> str:
    """Return it in words: `run 0199… of daily_orders`."""
    if found["type"] == "RUN":
        return f"{found['label']} ({found['id']})"
    words = {"CONTENT": "file, by its content", "ITEM": "item", "ENTITY": "entity"}
    return f"{found['label']}: {words.get(found['type'], found['type'].lower())}"
