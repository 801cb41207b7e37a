"""`headwater review` as a pull request runs it: a repository of git, the comment, SARIF, the policy and the exit code."""

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.cli.review.results import Affected, Review
from headwater.cli.review.written import MARK, markdown
from headwater.columns.shape.words import words

ORDERS = "create table shop.orders as select id, amount from raw.orders;\n"
TOTALS = "create table shop.totals as select sum(amount) as total from shop.orders;\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "orders.sql").write_text(ORDERS)
    (tmp_path / "sql" / "totals.sql").write_text(TOTALS)
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words_ in (("init", "-q", "-b", "main"), ("add", "."), (*author, "commit", "-qm", "one")):
        subprocess.run(["git", *words_], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def review(*words_: str) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(program, ["review", "sql", *words_, "--json"])
    return done.exit_code, json.loads(done.stdout)


def test_a_dropped_column_breaks_its_reader_and_fails(repository: Path) -> None:
    (repository / "sql" / "orders.sql").write_text(ORDERS.replace(", amount", ""))
    code, found = review("--markdown", "comment.md", "--sarif", "review.sarif")
    assert (code, found["severity"], found["fails"]) == (3, "breaks", 1)
    assert {
        "action": "drop_column",
        "table": "shop.orders",
        "column": "amount",
        "to": "",
        "place": "sql/orders.sql",
    } in found["changes"]
    comment = (repository / "comment.md").read_text()
    assert comment.startswith(MARK)
    assert "`sql/totals.sql:1`" in comment
    results = json.loads((repository / "review.sarif").read_text())["runs"][0]["results"]
    assert [
        one["level"]
        for one in results
        if one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "sql/totals.sql"
    ] == ["error"]


@pytest.mark.parametrize("paths", [[], ["."], ["./sql"], ["sql/"], ["sql", "./sql/read.sql"], ["ABSOLUTE"]])
def test_a_path_may_be_spelt_in_any_way(repository: Path, paths: list[str]) -> None:
    """A text that only reads is compared by its place, so both sides have to spell it alike."""
    (repository / "sql" / "read.sql").write_text(
        "select total from shop.totals;\ninsert into shop.log select total from shop.totals;\n"
    )
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "two"], check=True)
    words_ = ["review", *(str(repository / "sql") if path == "ABSOLUTE" else path for path in paths), "--json"]
    found = json.loads(CliRunner().invoke(program, words_).stdout)
    assert (found["changes"], found["affected"], found["problems"]) == ([], [], [])
    (repository / "sql" / "totals.sql").write_text(TOTALS.replace("total", "sum"))
    found = json.loads(CliRunner().invoke(program, words_).stdout)
    assert {one["severity"] for one in found["affected"]} == {"breaks", "changes_values"}


def test_comments_and_layout_change_nothing(repository: Path) -> None:
    (repository / "sql" / "orders.sql").write_text("-- orders\n" + ORDERS.replace("select", "SELECT\n  "))
    code, found = review()
    assert (code, found["severity"], found["same"], found["affected"]) == (0, None, ["sql/orders.sql"], [])


def test_another_literal_is_another_value(repository: Path) -> None:
    (repository / "sql" / "orders.sql").write_text(ORDERS.replace(";", " where id > 1;"))
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "two"], check=True)
    (repository / "sql" / "orders.sql").write_text(ORDERS.replace(";", " where id > 2;"))
    code, found = review()
    assert (code, found["severity"]) == (0, "may_change")
    assert {one["place"] for one in found["affected"]} == {"sql/orders.sql", "sql/totals.sql"}


def test_a_file_that_moved_is_compared_with_what_made_its_table(repository: Path) -> None:
    (repository / "sql" / "orders.sql").unlink()
    (repository / "sql" / "sales.sql").write_text(ORDERS)
    assert review()[1]["affected"] == []
    (repository / "sql" / "sales.sql").write_text(ORDERS.replace(";", " where id > 1;"))
    assert {one["place"] for one in review()[1]["affected"]} == {"sql/sales.sql", "sql/totals.sql"}


def test_rows_that_are_no_longer_written_are_missed_by_readers(repository: Path) -> None:
    (repository / "sql" / "more.sql").write_text("insert into shop.orders select id, amount from raw.more;\n")
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "two"], check=True)
    (repository / "sql" / "more.sql").unlink()
    assert [one["place"] for one in review()[1]["affected"]] == ["sql/totals.sql"]


def test_names_of_strangers_stay_in_their_cells() -> None:
    bad = "a`|\n<b>@team"
    row = Affected(bad, 1, bad, "breaks", bad, [bad], True, True, [bad])
    text = markdown(Review("breaks", [], [row], [], 1), [bad])
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 3
    assert "<b>" not in text.replace("`a   <b>@team:1`", "").replace("`a   <b>@team`", "")


def test_case_of_quoted_names_and_texts_counts() -> None:
    assert words("SELECT a FROM t -- x", "postgres") == words("select A\nfrom t;", "postgres")
    assert words('select "A"', "postgres") != words('select "a"', "postgres")
    assert words("select 'A'", "postgres") != words("select 'a'", "postgres")
    assert words("select /*+ full(t) */ a", "oracle") != words("select a", "oracle")


POLICIES = """
policies:
  - name: gold reads no raw
    datasets: gold.*
    never_reads: raw.*
  - name: no personal data in marketing
    tag: pii
    never_in: marketing.*
    except: [{dataset: marketing.newsletter, until: 2999-12-31, reason: consent}]
"""


def test_a_branch_that_breaks_a_policy_fails(repository: Path) -> None:
    Path("policies.yaml").write_text(POLICIES)
    code, found = review("--policies", "policies.yaml")
    assert (code, found["policies"]) == (0, [])
    (repository / "sql" / "gold.sql").write_text("create table gold.orders as select id from raw.orders;\n")
    code, found = review("--policies", "policies.yaml", "--markdown", "comment.md")
    assert code == 3
    (broken,) = found["policies"]  # type: ignore[misc]
    assert (broken["policy"], broken["place"], broken["line"], broken["path"]) == (
        "gold reads no raw", "sql/gold.sql", 1, ["raw.orders", "gold.orders"],
    )  # fmt: skip
    assert "`gold reads no raw`" in (repository / "comment.md").read_text()
    (repository / "review.json").write_text(json.dumps(found))
    code, again = review("--result", "review.json")
    assert (code, again["policies"]) == (3, [broken]), "a later step of CI refuses what the first one found"


def test_tagged_columns_are_followed_through_the_branch(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("policies.yaml").write_text(POLICIES)
    told = [
        {"dataset": "dataset:postgres://h:5432:db.shop.customers", "column": "email", "handling": "plain"},
        {"dataset": "dataset:postgres://h:5432:db.marketing.old", "column": "email", "handling": "plain"},
    ]
    monkeypatch.setattr("headwater.cli.server.get", lambda *_, **__: {"columns": told})
    texts = {
        "wide": "create table mart.wide as select id, upper(email) as mail from shop.customers;",
        "letters": "create table marketing.letters as select mail as line from mart.wide;",
        "hashed": "create table marketing.hashed as select md5(mail) as digest from mart.wide;",
        "newsletter": "create table marketing.newsletter as select mail from mart.wide;",
        "old": "create table marketing.old as select id from shop.customers;",
    }
    for name, text in texts.items():
        (repository / "sql" / f"{name}.sql").write_text(text)
    monkeypatch.setattr("headwater.cli.review.noticed.ask_server", lambda *_, **__: None)
    code, found = review("--policies", "policies.yaml", "--url", "http://localhost:1")
    assert code == 3
    (broken,) = found["policies"]  # type: ignore[misc]
    assert (broken["table"], broken["column"]) == ("marketing.letters", "line")
    assert [each.rpartition(".")[2] for each in broken["path"]] == ["customers#email", "wide#mail", "letters#line"]
    applied = {"files": [{"name": "policies.yaml", "text": POLICIES}]}
    answers = {"/api/v2/privacy/policies": applied, "/api/v2/privacy/where": {"columns": told}}
    monkeypatch.setattr("headwater.cli.server.get", lambda _url, path, **_: answers[path])
    assert review("--url", "http://localhost:1")[1]["policies"] == [broken], (
        "the policies of the server hold without a file"
    )
