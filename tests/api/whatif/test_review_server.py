"""A review that asks a server who notices: dashboards by column, people and pipelines of the log, owners, and what the tables cost."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.api.usage.measures import dataset as measured
from tests.api.whatif.test_whatif import N, world_events
from typer.testing import CliRunner

from headwater.cli.program import program

ORDERS = "create table shop.public.orders as select id, amount, email from raw.orders;\n"


@pytest.fixture
def review(server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Review an edit of the text that makes `orders`, with the server; the answer, and the comment."""
    priced = measured("shop.public.orders", namespace=N, cost={"grain": "table", "executions": 12, "money": 3.5})
    batch = json.dumps([*world_events(), priced]).encode()
    urllib.request.urlopen(urllib.request.Request(f"{server_url}/api/v1/lineage/batch", batch), timeout=10).close()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base").mkdir()

    def run(text: str, *more: str) -> tuple[dict[str, Any], str]:
        Path("base/orders.sql").write_text(ORDERS)
        Path("orders.sql").write_text(text)
        words = [
            "review",
            "orders.sql",
            "--base",
            "base",
            "--dialect",
            "postgres",
            "--json",
            "--markdown",
            "comment.md",
        ]
        done = CliRunner().invoke(program, [*words, *more, "--url", server_url], catch_exceptions=False)
        Path("review.json").write_text(done.stdout)
        return json.loads(done.stdout), Path("comment.md").read_text()

    return run


def names(answer: dict[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in answer["noticed"]["parties"]:
        found.setdefault(one["kind"], set()).add(one["name"])
    return found


def test_a_dropped_column_is_noticed_by_those_who_use_it(review: Any) -> None:
    answer, comment = review(ORDERS.replace("amount, ", ""))
    found = names(answer)
    assert {"Amounts", "Sales"} <= found["dashboard"]
    assert found["person"] >= {"ada", "bob"}
    assert "eve" not in found["person"]  # she reads another column
    assert "etl" in found["pipeline"]
    assert answer["noticed"]["tables"] == {"shop.public.orders": "breaks"}
    assert "#### Who notices" in comment
    assert "person ada" in comment
    assert "costs: 12 statements, 3.50 to run" in comment


def test_other_values_of_one_column_reach_its_readers(review: Any) -> None:
    found = names(review(ORDERS.replace("amount", "amount + 1 as amount"))[0])
    assert found["person"] == {"ada", "bob"}
    assert names(review(ORDERS.replace("from raw.orders", "from raw.orders where id > 1"))[0])["person"] == {
        "ada",
        "bob",
        "eve",
    }


def test_a_comment_changes_nothing_and_asks_nothing(review: Any) -> None:
    answer, comment = review("-- orders\n" + ORDERS)
    assert answer["noticed"] == {"tables": {}, "parties": [], "costs": [], "unknown": [], "unasked": 0, "tiers": {}}
    assert "No dashboard, person or pipeline" in comment


def test_an_earlier_review_is_asked_about_without_its_files(review: Any, server_url: str) -> None:
    """So the job that has the server's key has no file of the author."""
    first, _ = review(ORDERS.replace("amount, ", ""))
    Path("orders.sql").unlink()
    words = ["review", "--result", "review.json", "--url", server_url, "--json"]
    done = CliRunner().invoke(program, words)
    assert json.loads(done.stdout)["noticed"] == first["noticed"]
    assert done.exit_code == 3


def test_the_tier_of_a_table_is_the_servers_tag(review: Any, server_url: str) -> None:
    policy = Path("policy.yaml")
    text = ORDERS.replace("amount, ", "")
    policy.write_text("fail_on: never\nrules:\n  - tier: 1\n    fail_on: breaks\n")
    answer, _ = review(text, "--policy", "policy.yaml")
    assert (answer["fails"], answer["noticed"]["tiers"]) == (0, {})
    tagged = CliRunner().invoke(program, ["tag", "shop.public.orders", "tier=gold", "--url", server_url])
    assert tagged.exit_code == 0, tagged.output
    answer, _ = review(text, "--policy", "policy.yaml")
    assert answer["noticed"]["tiers"] == {"shop.public.orders": "gold"}
    assert answer["fails"] == 1
    policy.write_text("fail_on: never\nrules:\n  - tier: 0\n    fail_on: breaks\n")
    assert review(text, "--policy", "policy.yaml")[0]["fails"] == 0


def test_tables_that_the_server_does_not_know_are_named(review: Any) -> None:
    Path("base/more.sql").write_text("create table shop.nowhere as select 1 as a, 2 as b;\n")
    Path("more.sql").write_text("create table shop.nowhere as select 1 as a;\n")
    answer, comment = review(ORDERS, "more.sql")
    assert answer["noticed"]["unknown"] == ["shop.nowhere"]
    assert "does not know `shop.nowhere`" in comment
