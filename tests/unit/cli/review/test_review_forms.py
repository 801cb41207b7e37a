"""The form of a relation decides beside its query: the case of names, the types of a seed, a contract, a view for a table; and writes into it."""

from pathlib import Path

import pytest

from headwater.capture.dbt.seeds import read_types
from headwater.cli.review.results import Affected
from headwater.cli.review.sides import compare_with
from headwater.cli.review.texts import breach_of_contract
from headwater.cli.sql.reading import Options
from headwater.columns.project import Text

PROJECT = {
    "dbt_project.yml": "name: shop\nprofile: shop\n",
    "profiles.yml": "shop:\n  outputs:\n    dev: {type: postgres, schema: shop, dbname: shop}\n",
    "seeds/regions.csv": "country,rate\nde,0.19\nus,0.05\n",
    "models/rates.sql": "{{ config(materialized='table') }}\nselect country, round(rate * 100) as rate from {{ ref('regions') }}\n",
    "models/pages.sql": "{{ config(materialized='table') }}\nselect country as page, count(*) as views from {{ ref('rates') }} group by 1\n",
}
QUERIES = {
    "queries/page.sql": "select page from shop.pages",
    "queries/all.sql": "select count(*) from shop.pages",
    "queries/insert.sql": "insert into shop.pages (page) values ('x')",
    "queries/update.sql": "update shop.rates set rate = rate + 1 where country = 'de'",
}


def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str | None, dialect: str = "") -> set[str]:
    for side in ("base", "head"):
        for name, old in (PROJECT | QUERIES).items():
            place = tmp_path / side / ("dbt" if name in PROJECT else "") / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(old, encoding="utf-8")
    changed = tmp_path / "head/dbt" / file
    if text is None:
        changed.unlink()
    else:
        changed.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "head")
    review, _, _ = compare_with("../base", ["dbt", "queries"], Options(dialect=dialect))
    return {Path(one.place).stem for one in review.affected if is_broken(one)}


def is_broken(one: Affected) -> bool:
    return one.severity == "breaks"


@pytest.mark.parametrize(
    ("file", "text", "dialect", "breaks"),
    [
        ("seeds/regions.csv", "country,rate\nde,0.19\nus,unknown\n", "", {"rates", "pages", "page", "all", "insert", "update"}),
        ("seeds/regions.csv", "country,rate\nde,19\nus,5\n", "", set()),
        ("models/pages.sql", PROJECT["models/pages.sql"].replace("page", '"Page"'), "", {"page", "insert"}),
        ("models/pages.sql", PROJECT["models/pages.sql"].replace("page", "`Page`"), "bigquery", set()),
        ("models/pages.sql", PROJECT["models/pages.sql"].replace("table", "view"), "", {"insert"}),
        ("models/pages.sql", PROJECT["models/pages.sql"].replace("count(*)", "rate + count(*)"), "", {"pages", "page", "all", "insert"}),
        ("models/pages.sql", PROJECT["models/pages.sql"].replace("count(*)", "rate + count(*)"), "mysql", set()),
        ("models/pages.sql", PROJECT["models/pages.sql"].replace("by 1", "by coalesce(country, 'x')"), "", {"pages", "page", "all", "insert"}),
        ("models/rates.sql", None, "", {"pages", "page", "all", "insert", "update"}),
    ],
    ids=["a seed's column becomes text", "a seed's column becomes whole", "capitals", "capitals that are none", "a view", "a column that is not grouped", "one of any row", "another group", "gone"],
)  # fmt: skip
def test_what_breaks_by_the_form_of_a_relation(
    file: str, text: str | None, dialect: str, breaks: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broken(tmp_path, monkeypatch, file, text, dialect) == breaks


@pytest.mark.parametrize(
    ("contract", "made", "families", "words", "certain"),
    [
        ((("id", "int"),), {"id"}, {}, "", True),
        ((("id", "int"),), {"*"}, {}, "", True),
        ((("id", "int"), ("cent", "int")), {"id", "cents"}, {}, "its contract names cent", True),
        ((("id", "int"),), {"id", "more"}, {}, "its contract lacks more", True),
        ((("id", "int"),), {"id"}, {"id": "text"}, "its contract has id as int", False),
        ((("id", "text"),), {"id"}, {"id": "text"}, "", True),
        ((("id", "text"),), {"id"}, {}, "its contract has id as text now", False),
    ],
)
def test_a_contract_is_kept_or_not(
    contract: tuple[tuple[str, str], ...], made: set[str], families: dict[str, str], words: str, certain: bool
) -> None:
    old, new = Text("m", "", contract=(("id", "int"),)), Text("m", "", contract=contract)
    assert breach_of_contract(old, new, made, families) == (words, certain)


def test_the_types_of_a_seed_are_those_that_dbt_gives_it(tmp_path: Path) -> None:
    seed = tmp_path / "s.csv"
    seed.write_text(
        "a,b,c,d,e,f,g\n1,1.5,true,2026-01-02,x,,2026-01-02 03:04:05\n2,1,False,2026-01-03,1,null,2026-01-02T03:04:05Z\n"
    )
    found = ("integer", "numeric", "boolean", "date", "text", "integer", "timestamp")
    assert read_types(seed, {}) == found
    assert read_types(seed, {"A": "text"}) == ("text", *found[1:])
    assert read_types(tmp_path / "none.csv", {}) == ()
