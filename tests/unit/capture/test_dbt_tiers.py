"""The tier that the tags of a model name."""

import pytest

from headwater.capture.dbt.tiers import tier_of_tags


@pytest.mark.parametrize(
    ("tag", "tier"),
    [
        ("tier:gold", "gold"),
        ("Tier = very high", "very high"),
        ("tier-1", "1"),
        ("tier_1", "1"),
        ("tier 1", "1"),
        ("tier1", "1"),
        ("tier", ""),
        ("tier:", ""),
        ("tiers", ""),
        ("tiered", ""),
        ("tierless", ""),
        ("frontier:1", ""),
    ],
)
def test_a_tag_of_a_tier_has_a_separator_or_a_number(tag: str, tier: str) -> None:
    assert tier_of_tags(["nightly", tag]) == tier
