"""The review of a change, checked by making it in a real PostgreSQL: the project is built with it, and every logged statement runs again.

A text that fails must have been said to break; another result must have been said to change. None may be missed (recall 1.0); the share of those that
were said to notice and did is the precision.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from tests.scale import FULL

from headwater.capture.dbt.files import read_files
from headwater.cli.review.sides import compare_with
from headwater.cli.sql.reading import Options
from headwater.columns import Catalog
from headwater.columns.project import Project

CASE = yaml.safe_load((Path(__file__).parents[3] / "cases" / "review" / "shop.yaml").read_text(encoding="utf-8"))


def write(folder: Path) -> None:
    for name, text in CASE["files"].items():
        (folder / "dbt" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "dbt" / name).write_text(text, encoding="utf-8")
    (folder / "queries").mkdir()
    for number, text in enumerate(CASE["statements"]):
        (folder / "queries" / f"{number:02}.sql").write_text(text, encoding="utf-8")
    (folder / "schema.json").write_text(json.dumps(CASE["columns"]), encoding="utf-8")


def make(folder: Path, change: list[str]) -> None:
    path = folder / "dbt" / change[0]
    if len(change) == 1:
        path.unlink()
        return
    old = path.read_text(encoding="utf-8") if change[1] else ""
    assert change[1] in old, change
    path.write_text(old.replace(change[1], change[2], 1) if change[1] else change[2], encoding="utf-8")


def outcomes(connection: Any, folder: Path) -> dict[str, str]:
    """Build the project and run every statement; return the outcome of each model and statement by its file. All of it is undone."""
    project = read_files(folder / "dbt", "dbt")
    order = [one.text for one in Project("postgres", Catalog(CASE["columns"], "postgres")).analyse(project.texts)]
    found: dict[str, str] = {}
    with connection.transaction(force_rollback=True):
        connection.execute(CASE["setup"])
        connection.execute("create schema shop")
        for text in order:
            kind = "view" if text.view == "view" else "table"
            relation = ".".join(text.target[-2:])
            found[text.place] = outcome(
                connection,
                f"create {kind} {relation} as {text.text.split('}}', 1)[-1]}",
                f"select * from {relation} order by 1",
            )
        for number, statement in enumerate(CASE["statements"]):
            found[f"queries/{number:02}.sql"] = outcome(connection, statement)
    return found


def shown(value: object) -> str:
    """As a client sees it: a number is a number, whatever its width."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return f"{'number' if is_number else type(value).__name__} {value}"


def outcome(connection: Any, *statements: str) -> str:
    try:
        with connection.transaction():
            for statement in statements:
                done = connection.execute(statement)
            rows = [[column.name for column in done.description], *([shown(value) for value in row] for row in done)]
            return hashlib.sha256(repr(rows).encode()).hexdigest()
    except psycopg.Error as error:
        return f"error: {error}"


@pytest.fixture(scope="module")
def shop(postgres: Any) -> Iterator[Any]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database if exists review_shop")
        connection.execute("create database review_shop")
    with psycopg.connect(postgres.url, dbname="review_shop", autocommit=True) as connection:
        yield connection
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database review_shop with (force)")


def test_a_review_names_what_a_build_and_a_replay_show(
    shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "base"
    write(base)
    before = outcomes(shop, base)
    assert not [one for one in before.items() if one[1].startswith("error")], before
    every = [(kind, change) for kind, some in CASE["changes"].items() for change in some]
    assert len(every) >= 40
    missed, wrong, said, right, breaks, broken = [], [], 0, 0, 0, 0
    for number, (kind, change) in enumerate(every if FULL else every[::3]):
        head = tmp_path / str(number)
        shutil.copytree(base, head)
        make(head, change)
        monkeypatch.chdir(head)
        review, _, _ = compare_with(str(base), ["dbt", "queries"], Options(schemas=(head / "schema.json",)))
        answer = {one.place: one.severity for one in reversed(review.affected) if one.severity != "cosmetic"}
        sure = {one.place for one in review.affected if one.certain}
        after = outcomes(shop, head)
        for place, now in after.items():
            severity, was = answer.get(place), before.get(place)
            broke = now.startswith("error")
            differs = broke or (was is not None and now != was)
            if (broke and severity != "breaks") or (differs and severity is None):
                missed.append((kind, change, place, severity, now[:90]))
            said += severity is not None
            right += severity is not None and differs
            breaks += severity == "breaks"
            broken += severity == "breaks" and broke
            if severity == "breaks" and place in sure and not broke:
                missed.append((kind, change, place, "breaks for sure", now[:90]))
            if severity is not None and not differs:
                wrong.append((kind, change, place, severity))
        if kind == "comment":
            assert review.severity is None, (change, review)
            assert review.same == [f"dbt/{change[0]}"]
    print(
        f"{len(every)} changes, {said} said to notice, {right} of them did: precision {right / said:.3f}",
        *wrong,
        sep="\n",
    )
    print(f"{breaks} said to break, {broken} of them did: precision {broken / breaks:.3f}")
    assert not missed, (len(missed), missed[:12])
    assert right / said >= 0.95
    assert broken / breaks >= 0.95
