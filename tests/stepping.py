"""Steps in tests: what they told, read from a file, and programs of their own."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import headwater


class Told:
    """The events of a file, in the order they were told."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    @property
    def types(self) -> list[str]:
        return [event["eventType"] for event in self.events]

    def of(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["job"]["name"] == name]

    def last(self, name: str | None = None) -> dict[str, Any]:
        return (self.events if name is None else self.of(name))[-1]

    def parents(self) -> dict[str, str | None]:
        """Each job's parent's job, by their names."""
        return {
            event["job"]["name"]: event["run"]["facets"].get("parent", {}).get("job", {}).get("name")
            for event in self.events
            if event["eventType"] == "START"
        }


def said(event: dict[str, Any]) -> dict[str, Any]:
    """The facet `headwater_step` without what every facet has."""
    return bare(event["run"]["facets"]["headwater_step"])


def bare(facet: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facet.items() if not key.startswith("_")}


def item_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The facet `headwater_item` of an input or output; empty when there is none."""
    return bare((entry.get("inputFacets") or entry.get("outputFacets") or {}).get("headwater_item", {}))


def program(text: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program that may use `headwater`, with the environment of now."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *args],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def telling(folder: Path) -> Iterator[Told]:
    """Steps of this process and of its children tell it to a file in the folder, where their spool is too."""
    path = folder / "told.ndjson"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HEADWATER_TRANSPORT", "file")
        environment.setenv("HEADWATER_EVENTS_FILE", str(path))
        environment.setenv("HEADWATER_SPOOL", str(folder / "spool"))
        headwater.use(None)
        yield Told(path)
        headwater.use(None)
