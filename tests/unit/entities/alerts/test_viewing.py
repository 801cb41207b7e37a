"""Saved views as selectors: pages that list datasets and jobs, with what they are filtered by."""

import pytest

from headwater.entities.alerts.selectors import Traits, selects
from headwater.entities.alerts.viewing import view_selector
from headwater.errors import InvalidQuestion

ORDERS = Traits(
    "dataset:s3://lake:orders", "s3://lake", ("pii:high", "team:web"), ("Ana",), ("web",), frozenset({"+db:mart.a"})
)


@pytest.mark.parametrize(
    ("address", "has"),
    [
        ("catalogue/datasets", True),
        ("catalogue/jobs", False),
        ("catalogue/datasets?tag=pii&namespace=s3:%2F%2Flake&owner=ana&sort=name&page=2", True),
        ("catalogue/datasets?tag=pii&owner=bob", False),
        ("catalogue/datasets?namespace=lake", False),
        ("catalogue/datasets?namespace=s3:/*&platform=s3", True),
        ("catalogue/datasets?platform=postgres", False),
        ("datasets/s3:~~lake:orders/schema", True),
        ("datasets/s3:~~lake:order", False),
        ("groups/team/web", True),
        ("groups/team/shop", False),
        ("lineage/dataset:db:mart.a?depth=9&lens=pii", True),
        ("lineage/dataset:db:mart.a?direction=downstream", False),
        ("lineage/dataset:db:mart.a?direction=upstream&tag=pii&tag=gold", True),
        ("lineage/dataset:db:mart.a?type=job", False),
        ("lineage/dataset:db:mart!7Ea", False),
    ],
)
def test_a_view_has_what_its_page_lists(address: str, has: bool) -> None:
    assert selects([view_selector("v", address)], ORDERS) is has


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (
            "incidents",
            "lists no datasets or jobs; subscribe to a view of the catalogue, of lineage, of a team or of an object",
        ),
        ("catalogue/teams", "lists no datasets or jobs"),
        (
            "catalogue/datasets?trait=partitioned&state=failed",
            "is filtered by state, trait; a subscription knows namespace, platform, tag, owner only",
        ),
        ("lineage/job:etl:load", "begins at 'job:etl:load'; a subscription to lineage begins at a dataset"),
        ("lineage/dataset:a:b?hide=one_off", "is filtered by hide"),
    ],
)
def test_a_view_that_no_alert_can_follow_is_refused(address: str, words: str) -> None:
    with pytest.raises(InvalidQuestion) as refused:
        view_selector("v", address)
    assert words in refused.value.message
