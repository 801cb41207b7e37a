"""A reader with limits asks from an assistant: no tool tells of a dataset that they may not see, and a hidden name is answered as an unknown one."""

import json
from typing import Any

import pytest
from tests.api.people import limited_world as world
from tests.api.people.test_limited import ADMIN, HIDDEN, KEYS, MINE, Names, limited_key
from tests.api.serve.test_mcp import Asking
from tests.events import RUN

UNKNOWN = Names("zz1ns", "zz1raw", "zz1jobs", "zz1load", RUN.format(998), "zz1mart")


def asks(names: Names) -> list[tuple[str, dict[str, Any]]]:
    dataset, job = f"dataset:{names.namespace}:{names.dataset}", f"job:{names.job_namespace}:{names.job}"
    other = f"dataset:{names.namespace}:{names.other}"
    return [
        ("search", {"words": names.dataset}), ("search", {"words": names.job, "type": "JOB"}),
        *((tool, {"name": name}) for tool in ("lineage", "describe", "history", "status") for name in (dataset, job)),
        ("lineage", {"name": names.run}), ("columns", {"name": dataset}), ("paths", {"source": dataset, "target": other}),
        ("changes", {"since": "2020-01-01T00:00:00Z"}), ("changes", {"since": "2020-01-01T00:00:00Z", "name": dataset}),
        ("quality", {"name": dataset}), ("quality", {}), ("status", {}), ("usage", {"name": dataset}), ("usage", {"namespace": names.namespace}),
    ]  # fmt: skip


def without_names(answer: Any, names: Names) -> str:
    text = json.dumps(answer)
    for name in sorted({text for text in names[:6] if len(text) > 1}, key=len, reverse=True):
        text = text.replace(name, "…")
    return text


@pytest.fixture
def ask(served: Any, run: Any) -> Asking:
    server = served(**KEYS)
    world.plant(server, ADMIN)
    return Asking(server.app, run, authorization=f"Bearer {limited_key(server, 'namespace:team-a')}")


def test_no_tool_tells_of_what_a_limited_key_may_not_see(ask: Asking) -> None:
    for tool, given in asks(MINE):
        answer, failed = ask(tool, **given, budget=100_000)
        assert "zq7" not in json.dumps(answer), (tool, given, answer)
        assert not failed or "limit" in str(answer), (tool, given, answer)


def test_a_hidden_name_is_answered_as_an_unknown_one(ask: Asking) -> None:
    for (tool, given), (_, nowhere) in zip(asks(HIDDEN), asks(UNKNOWN), strict=True):
        (hidden, failed), (unknown, also) = ask(tool, **given), ask(tool, **nowhere)
        assert failed == also, (tool, given, hidden, unknown)
        if tool not in {"status", "quality", "changes"} or len(given) > 1:
            assert without_names(hidden, HIDDEN) == without_names(unknown, UNKNOWN), (tool, given)
