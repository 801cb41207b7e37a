"""An application that read and wrote nothing says so, under a parent from outside too."""

from typing import Any

import pytest

from headwater.capture.spark.application import Application
from headwater.client import context, current


class Kept:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def emit(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    def flush(self, timeout: float) -> bool:
        return True


@pytest.mark.parametrize("parent", [None, context.own("01a20486-0fc8-7e71-bb79-5c2b7270f8f3", ("test", "package"))])
def test_an_application_that_nothing_was_seen_of(parent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current, "inherited", lambda: parent)
    kept = Kept()
    Application(kept, "test", "app", "4.3.0", {}).end()
    covered = kept.events[-1]["run"]["facets"]["headwater_coverage"]
    assert (covered["reads"], covered["written"]) == (0, 0)
    assert kept.events[-1]["job"]["name"] == ("package" if parent else "app")
