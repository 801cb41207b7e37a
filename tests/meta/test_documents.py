"""Documents agree with the code."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from headwater.environment import is_part

ROOT = Path(__file__).parents[2]
API = (ROOT / "docs/reference/api-v2.md").read_text(encoding="utf-8")
CLI = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")


def routes() -> list[str]:
    from headwater.api.routes import auth, v2
    from headwater.api.routes.v2 import connectors, history
    from headwater.api.routes.v2.people import admin, listeners

    routers = (v2.router, connectors.router, history.router, admin.router, listeners.router, auth.router)
    found = [route.path for router in routers for route in router.routes]
    return sorted({re.sub(r"\{(\w+):\w+\}", r"{\1}", path) for path in found})


@pytest.mark.parametrize("route", routes())
def test_every_route_is_described(route: str) -> None:
    assert f"GET {route}" in API.replace("{run id}", "{run_id}") or route in API


def commands() -> list[str]:
    from typer.main import get_command

    from headwater.cli.program import program

    found = []

    def walk(command: Any, path: str) -> None:
        for name, child in sorted(getattr(command, "commands", {}).items()):
            if not child.hidden:
                found.append(f"{path} {name}")
                walk(child, f"{path} {name}")

    walk(get_command(program), "headwater")
    return found


@pytest.mark.parametrize("command", commands())
def test_every_command_is_described(command: str) -> None:
    assert f"`{command}" in CLI


def test_the_table_of_commands_is_the_program_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/site/cli_page.py` writes it."""
    monkeypatch.syspath_prepend(ROOT / "docs/site")
    import cli_page

    assert cli_page.with_generated(CLI) == CLI


def test_the_page_of_platforms_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/site/platforms_page.py` writes it."""
    monkeypatch.syspath_prepend(ROOT / "docs/site")
    import platforms_page

    text = platforms_page.PAGE.read_text(encoding="utf-8")
    assert platforms_page.with_generated(text) == text


def test_the_page_of_marquez_is_what_its_cases_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/site/marquez_page.py` writes it."""
    monkeypatch.syspath_prepend(ROOT / "docs/site")
    import marquez_page

    text = marquez_page.PAGE.read_text(encoding="utf-8")
    assert marquez_page.with_generated(text) == text


def settings() -> list[str]:
    from headwater.settings import Settings

    def variables(model: Any, prefix: str) -> list[str]:
        found = []
        for name, kind in get_type_hints(model).items():
            if name != "checks":
                found += variables(kind, f"{prefix}{name}__") if is_part(kind) else [f"{prefix}{name}".upper()]
        return found

    return variables(Settings, "HEADWATER_")


@pytest.mark.parametrize("variable", settings())
def test_every_setting_is_described(variable: str) -> None:
    assert f"`{variable}`" in SETTINGS


def test_the_metrics_are_those_of_the_page() -> None:
    from headwater.api import metrics, receiver_metrics
    from headwater.cli.capture import spool

    page = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(headwater_\w+)` \| (\w+) \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    made = [
        (name, kind, ", ".join(f"`{label}`" for label in labels) or "–", words)
        for name, (kind, labels, words) in [
            *metrics.NAMES.items(),
            *receiver_metrics.NAMES.items(),
            *spool.METRICS.items(),
        ]
    ]
    assert told == made


def test_every_error_is_in_the_tree() -> None:
    from headwater import errors

    drawn = errors.__doc__ or ""
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.HeadwaterError) and error is not errors.HeadwaterError:
            assert f"{error.__name__} " in drawn
            assert f" {error.code} " in drawn


def test_links_in_documents_lead_somewhere() -> None:
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
    ]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} → {target}"


def test_the_page_shows_the_proof_of_pruning_that_the_docs_have() -> None:
    proof = json.loads((ROOT / "web/src/pages/usage/proof.json").read_text(encoding="utf-8"))
    document = (ROOT / "docs/explanation/prune.md").read_text(encoding="utf-8")
    for one in proof["replays"]:
        waves = "none" if one["waves"] == 0 else "1" if one["waves"] == 1 else f"1–{one['waves']}"
        cells = (waves, one["dropped"], f"{one['run']:,}", one["removed"], one["errors"])
        assert f"| {' | '.join(map(str, cells))} |" in document
    assert f"{proof['bytes_unused']:,} bytes" in document
    assert f"{proof['bytes_found']:,} of them" in document


def test_every_page_is_in_the_site_s_navigation(tmp_path: Path) -> None:
    script = [sys.executable, "docs/site/pages.py", str(tmp_path)]
    written = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert written.returncode == 0, written.stderr
