"""Ten days of the example, in dbt's own environment; its log read once by the command, and sent to a server."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/warehouse"


@pytest.fixture(scope="session")
def expected() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLE / "expected.yaml").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="session")
def company(expected: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with `log/` and `manifests/`."""
    python = subprocess.run(
        [ROOT / "scripts/warehouse", "environment"], check=True, capture_output=True, text=True
    ).stdout.strip()
    data = tmp_path_factory.mktemp("warehouse")
    # Nothing of this project is within reach of what runs there.
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    days = str(expected["days"])
    done = subprocess.run(
        [python, EXAMPLE / "run.py", "--days", days, "--data", data],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return data


@pytest.fixture(scope="session")
def lines(company: Path) -> list[dict[str, Any]]:
    """Return the lines that PostgreSQL logged."""
    files = sorted((company / "log").glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def manifests(company: Path) -> list[dict[str, Any]]:
    """dbt's, one of each version of the project."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted((company / "manifests").glob("*.json"))]


class Told:
    """The pipeline's tables: rows as mappings, with datasets called as in `expected.yaml`."""

    def __init__(self, store: Any, database: str, summary: dict[str, Any]) -> None:
        self._store, self._database, self.summary = store, f"{database}.", summary
        self._known: dict[str, list[dict[str, Any]]] = {}

    def __getitem__(self, table: Any) -> list[dict[str, Any]]:
        if table.name not in self._known:
            self._known[table.name] = [row.asDict(recursive=True) for row in self._store.read(table).collect()]
        return self._known[table.name]

    def name(self, dataset: str) -> str:
        return dataset.removeprefix(self._database)


@pytest.fixture(scope="session")
def told(spark: Any, company: Path, expected: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Told:
    from headwater.cli.program import program
    from headwater.pipeline.tables import Store

    store = tmp_path_factory.mktemp("store")
    words = ["--source", "postgres", "--namespace", expected["namespace"], "--input", company / "log", "--store", store]
    words += ["--prices", EXAMPLE / "prices.yaml", "--no-publish", "--json"]
    done = CliRunner().invoke(program, ["sync", "query-log", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return Told(Store(spark, str(store)), expected["database"], json.loads(done.stdout))
