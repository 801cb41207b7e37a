"""The policy of a repository: which effects fail a review, by names and by the tiers of models; and what is refused, with file, line and remedy."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.cli.review.policy import Policy, read_policy
from headwater.errors import InvalidQuestion

PROJECT = {
    "dbt_project.yml": "name: shop\nprofile: shop\nmodels:\n  shop:\n    old:\n      +meta: {tier: 3}\n",
    "profiles.yml": "shop:\n  outputs:\n    dev: {type: postgres, schema: shop, dbname: shop}\n",
    "models/orders.sql": "select id, amount from raw.orders\n",
    "models/totals.sql": "select sum(amount) as total from {{ ref('orders') }}\n",
    "models/old/report.sql": "select amount from {{ ref('orders') }}\n",
    "models/tagged.sql": "{{ config(tags=['tier:gold']) }}\nselect amount from {{ ref('orders') }}\n",
}
PROPERTIES = "models:\n  - name: totals\n    meta: {tier: %s}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A change that breaks `totals`, `report` and `tagged`."""
    for side in ("base", "head"):
        for name, text in PROJECT.items():
            path = tmp_path / side / "dbt" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    (tmp_path / "head/dbt/models/orders.sql").write_text("select id from raw.orders\n")
    (tmp_path / "head/.headwater").mkdir()
    monkeypatch.chdir(tmp_path / "head")
    return tmp_path / "head"


def fails(policy: str, *, text: bool = False) -> tuple[int, str]:
    Path(".headwater/review.yaml").write_text(policy)
    done = CliRunner().invoke(program, ["review", "dbt", "--base", "../base", *([] if text else ["--json"])])
    return (0 if text else json.loads(done.stdout)["fails"]), done.stdout


@pytest.mark.parametrize(
    ("policy", "count"),
    [
        ("fail_on: breaks\n", 3),
        ("fail_on: breaks\nrules:\n  - match: ['*.tot*']\n    fail_on: never\n", 2),
        ("fail_on: never\nrules:\n  - match: ['*.totals']\n    fail_on: breaks\n", 1),
        ("fail_on: never\nrules:\n  - tier: 1\n    fail_on: breaks\n", 2),
        ("fail_on: never\nrules:\n  - tier: gold\n    fail_on: breaks\n", 2),
        ("fail_on: never\nrules:\n  - tier: 3\n    fail_on: breaks\n", 3),
        ("fail_on: never\nrules:\n  - tier: 0\n    fail_on: breaks\n", 0),
        ("fail_on: never\nrules:\n  - tier: 1\n    match: ['*.tagged']\n    fail_on: breaks\n", 1),
        ("", 3),
    ],
)
def test_the_policy_decides_what_fails(project: Path, policy: str, count: int) -> None:
    (project / "dbt/models/schema.yml").write_text(PROPERTIES % 1)
    assert fails(policy)[0] == count


def test_the_comment_names_the_tier_of_a_table(project: Path) -> None:
    CliRunner().invoke(program, ["review", "dbt", "--base", "../base", "--markdown", "comment.md"])
    rows = [line for line in Path("comment.md").read_text().splitlines() if "tagged.sql" in line]
    assert len(rows) == 1
    assert "shop.tagged` tier `gold`" in rows[0]


def test_a_rule_by_tier_says_where_no_table_has_one(project: Path) -> None:
    for file in ("dbt_project.yml", "models/tagged.sql"):
        path = project / "dbt" / file
        path.write_text(path.read_text().replace("tier", "rank"))
        (project.parent / "base/dbt" / file).write_text(path.read_text())
    count, answer = fails("fail_on: never\nrules:\n  - tier: 1\n    fail_on: breaks\n")
    assert count == 0
    assert "none of these tables has one" in answer
    assert "meta: {tier: 1}" in answer


def test_a_tier_is_that_of_the_manifest(project: Path) -> None:
    for side in ("../base", "."):
        folder = Path(side) / "dbt"
        nodes = {
            f"model.shop.{name}": {
                "resource_type": "model", "name": name, "package_name": "shop", "database": "db", "schema": "shop", "alias": name,
                "original_file_path": f"models/{name}.sql", "relation_name": f'"db"."shop"."{name}"', "raw_code": (text := (folder / f"models/{name}.sql").read_text()).strip(),
                "compiled_code": text.replace("{{ ref('orders') }}", '"db"."shop"."orders"'), "depends_on": {"nodes": []}, "config": {"materialized": "table", "meta": {"tier": 1} if name == "totals" else {}},
            } for name in ("orders", "totals")
        }  # fmt: skip
        for name in ("old/report", "tagged"):
            (folder / f"models/{name}.sql").unlink()
        metadata = {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "project_name": "shop",
            "adapter_type": "postgres",
        }
        (folder / "target").mkdir()
        (folder / "target/manifest.json").write_text(json.dumps({"metadata": metadata, "nodes": nodes}))
    assert fails("fail_on: never\nrules:\n  - tier: 1\n    fail_on: breaks\n")[0] == 1
    assert fails("fail_on: never\nrules:\n  - tier: 0\n    fail_on: breaks\n")[0] == 0


def test_the_table_names_the_tiers_if_there_are_any(project: Path) -> None:
    lines = fails("", text=True)[1].splitlines()
    assert lines[0].split()[:4] == ["text", "effect", "tier", "why"]
    assert "gold" in next(line for line in lines if "tagged.sql" in line)
    for file in ("dbt_project.yml", "models/tagged.sql"):
        for side in ("../base", "."):
            path = project / side / "dbt" / file
            path.write_text(path.read_text().replace("tier", "rank"))
    assert fails("", text=True)[1].splitlines()[0].split()[:3] == ["text", "effect", "why"]


@pytest.mark.parametrize(
    ("place", "repository", "applies"),
    [
        ("head", "head", True),
        ("head/dbt", "head", True),
        ("head/dbt", None, True),
        (".", ".", True),
        ("head", None, False),
        (".", "head", False),
    ],
)
def test_the_policy_is_found_from_the_project_up_to_its_repository(
    project: Path, monkeypatch: pytest.MonkeyPatch, place: str, repository: str | None, applies: bool
) -> None:
    root = project.parent
    if repository is not None:
        (root / repository / ".git").mkdir()
    policy = root / place / ".headwater/review.yaml"
    policy.parent.mkdir(exist_ok=True)
    policy.write_text("fail_on: never\n")
    (root / "elsewhere").mkdir()
    monkeypatch.chdir(root / "elsewhere")
    command = ["review", "../head/dbt", "--base", str(swapped_base(root)), "--json"]
    answer = json.loads(CliRunner().invoke(program, command).stdout)
    assert answer["policy"] == (str(policy) if applies else None)
    assert bool(answer["fails"]) is not applies
    text = CliRunner().invoke(program, command[:-1]).stdout
    assert (f"Policy: {policy}" in text) is applies


def swapped_base(root: Path) -> Path:
    """Return a folder from which `../head/dbt` is the base's project."""
    (root / "bases/here").mkdir(parents=True)
    (root / "base").rename(root / "bases/head")
    return root / "bases/here"


def test_projects_with_different_policies_ask_for_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("one", "two"):
        (project / folder / ".headwater").mkdir(parents=True)
        (project / folder / ".headwater/review.yaml").write_text("fail_on: never\n")
    done = CliRunner().invoke(program, ["review", "one", "two", "--base", "../base"])
    assert isinstance(done.exception, InvalidQuestion)
    assert "one/.headwater/review.yaml" in str(done.exception)
    assert "choose one with --policy" in str(done.exception)


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        ("[]\n", 1, "the policy is a list; write `fail_on"),
        ("# the policy\n\n- fail_on: breaks\n", 3, "the policy is a list; write `fail_on"),
        ("breaks\n", 1, "the policy is 'breaks'; write `fail_on"),
        ("fail_on: sometimes\n", 1, "write `fail_on: breaks`"),
        ("fail_on: breaks\nrules:\n  - match: ['a']\n    fail_on: never\n  - match: []\n    fail_on: never\n", 5, "`match` is empty"),
        ("rules:\n  - fail_on: never\n", 2, "neither `match` nor `tier`"),
        ("rules:\n  - match: 'a'\n    fail_on: never\n", 2, "`match` (a list of patterns)"),
        ("rules:\n  - tier: [1]\n    fail_on: never\n", 2, "`tier`"),
        ("rules:\n  - tier: ''\n    fail_on: never\n", 2, "`tier` is empty"),
        ("rules:\n  - tears: 1\n    fail_on: never\n", 2, "unknown field `tears`"),
    ],
)  # fmt: skip
def test_a_wrong_policy_is_refused_with_its_line(tmp_path: Path, text: str, line: int, remedy: str) -> None:
    path = tmp_path / "review.yaml"
    path.write_text(text)
    with pytest.raises(InvalidQuestion) as caught:
        read_policy(path)
    assert f"{path}:{line}: " in caught.value.message
    assert remedy in caught.value.message


def test_an_empty_file_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "review.yaml"
    path.write_text("# later\n")
    assert read_policy(path) == Policy()


@pytest.mark.parametrize(
    ("query", "policy", "count"),
    [
        ("select id, amount from raw.orders where id > 1", "fail_on: changes_values\n", 0),
        ("select id, amount from raw.orders where id > 1", "fail_on: may_change\n", 4),
        ("select id, amount * 2 as amount from raw.orders", "fail_on: changes_values\n", 3),
        ("select id, amount * 2 as amount from raw.orders", "fail_on: may_change\n", 4),
    ],
)
def test_the_policy_tells_what_surely_changes_from_what_may(project: Path, query: str, policy: str, count: int) -> None:
    # `totals` sums what changes: on other data the sum may stay.
    (project / "dbt/models/orders.sql").write_text(query + "\n")
    assert fails(policy)[0] == count
    done = CliRunner().invoke(
        program, ["review", "dbt", "--base", "../base", "--sarif", "a.sarif", "--markdown", "a.md"]
    )
    levels = [(one["ruleId"], one["level"]) for one in json.loads(Path("a.sarif").read_text())["runs"][0]["results"]]
    may = 4 if "where" in query else 1
    assert levels.count(("may_change", "note")) == may
    assert levels.count(("changes_values", "warning")) == 4 - may
    assert Path("a.md").read_text().count("| may change on other data |") == may
    assert f"0 would break, {4 - may} would hold other values, {may} may on other data" in done.stdout
