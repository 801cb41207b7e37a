"""Migrations run once, in order, and refuse to be edited after they ran."""

from typing import Any

import pytest

from headwater.errors import DatabaseRefused
from headwater.store import migrate as module
from headwater.store.database import Database


def test_second_run_does_nothing(database: Database, run: Any) -> None:
    assert run(module.migrate(database)) == []


def test_an_edited_file_is_refused(database: Database, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (name, sql), *rest = module.files()
    monkeypatch.setattr(module, "files", lambda: [(name, sql + "\n-- edited"), *rest])
    with pytest.raises(DatabaseRefused, match="was edited after it ran"):
        run(module.migrate(database))
