"""The process that watches the workers: small, and it says what would stop a worker before one starts."""

import os
import subprocess
import sys
from typing import Any

import pytest

from headwater.api import preparing, serving
from headwater.errors import DatabaseUnavailable, NotSecured
from headwater.settings import AccessSettings, DatabaseSettings, ServerSettings, Settings

ABSENT = "postgresql://headwater@127.0.0.1:1/headwater"


def test_a_database_that_is_away_is_reported_as_in_one_process() -> None:
    settings = Settings(database=DatabaseSettings(url=ABSENT))
    with pytest.raises(DatabaseUnavailable, match="PostgreSQL does not answer"):
        serving._check_apart(settings)


def test_a_server_open_to_a_network_is_refused(database: Any, postgres: Any) -> None:
    settings = Settings(
        database=DatabaseSettings(url=postgres.url),
        server=ServerSettings(host="0.0.0.0"),
        access=AccessSettings(mode="keys"),
    )
    with pytest.raises(NotSecured, match=r"0\.0\.0\.0") as refused:
        serving._check_apart(settings)
    assert refused.value.detail == {"host": "0.0.0.0"}


def test_a_check_that_dies_ends_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def die(_settings: Settings) -> None:
        os._exit(3)

    monkeypatch.setattr(preparing, "check", die)
    with pytest.raises(SystemExit) as ended:
        serving._check_apart(Settings(database=DatabaseSettings(url=ABSENT)))
    assert ended.value.code == 1


def loaded_by(code: str, heavy: tuple[str, ...]) -> list[str]:
    """Return those of the `heavy` modules that a new process has loaded after `code`."""
    shown = f"import sys; {code}; print(*[one for one in {heavy!r} if one in sys.modules])"
    return subprocess.run([sys.executable, "-c", shown], check=True, capture_output=True, text=True).stdout.split()


def test_it_loads_nothing_of_what_serves() -> None:
    heavy = (
        "litestar",
        "psycopg",
        "numpy",
        "sqlglot",
        "cryptography",
        "typer",
        "rich",
        "pydantic",
        "headwater.cli.program",
    )
    assert loaded_by("import headwater.cli.serve.foreground, headwater.api.serving", heavy) == []


def test_serve_is_called_without_the_tree_of_commands() -> None:
    called = "import headwater.cli, headwater.cli.serve.foreground as f; f.serve = lambda: None; sys.argv = ['headwater', 'serve']"
    assert loaded_by(f"{called}; headwater.cli.main()", ("typer", "headwater.cli.program")) == []


def test_an_idle_worker_loads_no_sql_engine_and_no_client_of_http() -> None:
    heavy = ("sqlglot", "httpx", "rich", "click", "pyarrow", "pandas", "pydantic", "pydantic_settings", "attrs")
    made = "create_app(Settings(database=DatabaseSettings(url='postgresql://127.0.0.1:1/x')))"
    imports = "from headwater.api.app import create_app; from headwater.settings import DatabaseSettings, Settings"
    assert loaded_by(f"{imports}; {made}", heavy) == []
