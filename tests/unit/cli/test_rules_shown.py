"""The table of `headwater rules test`."""

import re
from typing import Any

import pytest

from headwater.cli.alerts import rules


def alert(subject: str, label: str) -> dict[str, Any]:
    return {
        "since": "2026-11-25T15:10:39Z", "until": None, "event": "first_seen", "subject": subject, "label": label,
        "members": [{"rules": ["new"]}], "messages": [], "unaddressed": [],
    }  # fmt: skip


def test_objects_of_one_name_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    alerts = [
        alert("dataset:pg://shop:stg.clicks", "clicks"),
        alert("dataset:pg://shop:raw.clicks", "clicks"),
        alert("job:shop:load", "load"),
    ]
    rules._show_tested({"alerts": alerts, "messages": 0})
    shown = [re.split(r" {2,}", line)[2] for line in capsys.readouterr().out.splitlines()[1:4]]
    assert shown == ["pg://shop:stg.clicks", "pg://shop:raw.clicks", "load"]
