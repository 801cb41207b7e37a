"""Rows in another order reach those that may depend on it, and edits of one branch of UNION ALL reach their column alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.cli.review.results import Affected, Review
from headwater.cli.review.sides import compare_with
from headwater.cli.sql.reading import Options

PROJECT = {
    "dbt_project.yml": "name: shop\nprofile: shop\n",
    "profiles.yml": "shop:\n  outputs:\n    dev: {type: postgres, schema: shop, dbname: shop}\n",
    "seeds/regions.csv": "country,rate\nde,0.19\nus,0.05\nfr,0.2\n",
    "models/rates.sql": "select country, round(rate * 100) as rate from {{ ref('regions') }}\n",
    "models/limited.sql": "select country from {{ ref('rates') }} limit 1\n",
    "models/both.sql": "select country, rate from {{ ref('rates') }} union all select upper(place), rate from raw.more\n",
}
QUERIES = {
    "queries/sum.sql": "select country, sum(rate) from shop.rates group by country",
    "queries/below.sql": "select count(*) from shop.limited where country = 'de'",
    "queries/first.sql": "select country from shop.rates limit 1",
    "queries/list.sql": "select string_agg(country, ',') from shop.rates",
    "queries/numbered.sql": "select country, row_number() over (order by rate) from shop.both",
    "queries/ranked.sql": "select country, rank() over (order by rate) from shop.both",
    "queries/rate.sql": "select sum(rate) from shop.both",
    "queries/country.sql": "select country from shop.both where rate > 1",
}


@pytest.fixture
def reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], Review]:
    def review(file: str, old: str, new: str) -> Review:
        for side in ("base", "head"):
            for name, text in (PROJECT | QUERIES).items():
                place = tmp_path / side / ("dbt" if name in PROJECT else "") / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
        changed = tmp_path / "head/dbt" / file
        assert old in PROJECT[file]
        changed.write_text(PROJECT[file].replace(old, new), encoding="utf-8")
        monkeypatch.chdir(tmp_path / "head")
        return compare_with("../base", ["dbt", "queries"], Options())[0]

    return review


def noticing(review: Review, *severities: str) -> dict[str, Affected]:
    return {Path(one.place).stem: one for one in review.affected if one.severity in severities}


@pytest.mark.parametrize(
    ("file", "old", "new", "edited"),
    [
        ("seeds/regions.csv", "de,0.19\nus,0.05\n", "us,0.05\nde,0.19\n", "regions"),
        ("models/rates.sql", "ref('regions') }}", "ref('regions') }} order by 1", "rates"),
    ],
)
def test_another_order_of_rows_reaches_those_that_may_depend_on_it(
    reviewed: Callable[[str, str, str], Review], file: str, old: str, new: str, edited: str
) -> None:
    review = reviewed(file, old, new)
    assert noticing(review, "cosmetic").keys() == {edited}
    found = noticing(review, "may_change")
    assert found.keys() == {"limited", "below", "first", "list", "numbered"}
    assert not any(one.certain for one in found.values())


def test_a_seed_with_another_row_is_not_only_in_another_order(reviewed: Callable[[str, str, str], Review]) -> None:
    review = reviewed("seeds/regions.csv", "de,0.19\nus,0.05\n", "us,0.19\nde,0.05\n")
    assert {"regions", "rates", "sum"} <= noticing(review, "changes_values", "may_change").keys()


def test_a_branch_of_a_union_changes_its_column(reviewed: Callable[[str, str, str], Review]) -> None:
    review = reviewed("models/both.sql", "upper(place)", "lower(place)")
    found = noticing(review, "changes_values", "may_change")
    assert found["both"].columns == ["country"]
    assert found.keys() == {"both", "numbered", "ranked", "country"}


def test_branches_of_a_union_may_change_places(reviewed: Callable[[str, str, str], Review]) -> None:
    old = PROJECT["models/both.sql"]
    first, second = old.strip().split(" union all ")
    new = f"{second.replace('upper(place)', 'upper(place) as country')} union all {first}\n"
    review = reviewed("models/both.sql", old, new)
    assert noticing(review, "cosmetic").keys() == {"both"}
    assert noticing(review, "may_change").keys() == {"numbered"}
