"""The roles and names that a provider's claims come to here."""

from typing import Any

import pytest

from headwater.api.sessions import groups_of, name_of, role_of
from headwater.settings import OidcSettings

ROLES = "analysts=read,editors=write,owners=admin,odd=god,a=b=write"


@pytest.mark.parametrize(
    ("claims", "settings", "role"),
    [
        ({"groups": ["analysts"]}, {}, "read"),
        ({"groups": ["analysts", "owners", "editors"]}, {}, "admin"),
        ({"groups": "analysts editors"}, {}, "write"),
        ({"groups": ["a=b"]}, {}, "write"),
        ({"groups": ["odd"]}, {}, None),
        ({"groups": ["strangers"]}, {}, None),
        ({}, {}, None),
        ({}, {"default_role": "write"}, "write"),
        ({"groups": ["owners"]}, {"default_role": "read"}, "admin"),
        ({"email": "a@example.com"}, {"allowed_domains": "example.com"}, "read"),
        ({"email": "a@EXAMPLE.com"}, {"allowed_domains": "@Example.com, other.org"}, "read"),
        ({"email": "a@example.com"}, {"allowed_domains": "example.com", "default_role": "none"}, None),
        ({"email": "a@example.com.evil.org"}, {"allowed_domains": "example.com"}, None),
        ({"email": "a@sub.example.com", "groups": ["owners"]}, {"allowed_domains": "example.com"}, None),
        ({"email": "example.com"}, {"allowed_domains": "example.com"}, None),
        ({"email": "a@example.com", "email_verified": False}, {"allowed_domains": "example.com"}, None),
        ({"groups": ["owners"]}, {"allowed_domains": "example.com"}, None),
        ({"realm_access": {"roles": ["editors"]}}, {"role_claim": "realm_access.roles"}, "write"),
        ({"https://x.org/roles": ["editors"]}, {"role_claim": "https://x.org/roles"}, "write"),
    ],
    ids=str,
)
def test_the_role_of_claims(claims: dict[str, Any], settings: dict[str, Any], role: str | None) -> None:
    assert role_of(claims, OidcSettings(roles=ROLES, **settings)) == role


@pytest.mark.parametrize("value", [None, 7, {"a": 1}, True])
def test_a_claim_of_another_shape_gives_no_groups(value: Any) -> None:
    assert groups_of({"groups": value}, "groups") == []


def test_a_name_is_what_the_provider_vouches_for() -> None:
    assert name_of({"sub": "1", "email": "a@b.c"}) == "a@b.c"
    assert name_of({"sub": "1", "email": "ceo@b.c", "email_verified": False, "preferred_username": "eve"}) == "eve"
    assert name_of({"sub": "1"}) == "1"
