"""Settings that cannot be understood are named, and never shown."""

import pytest

from headwater.errors import InvalidSettings
from headwater.settings import Settings


def test_what_is_wrong_is_named_and_its_value_kept_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_ACCESS__ADMIN_KEY", "too-short")
    monkeypatch.setenv("HEADWATER_SERVER__PORT", "http")
    with pytest.raises(InvalidSettings) as raised:
        Settings()
    assert "HEADWATER_ACCESS__ADMIN_KEY: String should have at least 16 characters" in raised.value.message
    assert set(raised.value.detail["variables"]) == {"HEADWATER_ACCESS__ADMIN_KEY", "HEADWATER_SERVER__PORT"}  # type: ignore[call-overload]
    assert "too-short" not in raised.value.message
    assert raised.value.__cause__ is None


def test_nested_variables_and_empty_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_ACCESS__ADMIN_KEY", "")
    monkeypatch.setenv("HEADWATER_ACCESS__OIDC__ISSUER", "https://id.example")
    monkeypatch.setenv("HEADWATER_SERVER__ROOT_PATH", "lineage/")
    settings = Settings()
    assert settings.access.admin_key is None
    assert settings.access.oidc.issuer == "https://id.example"
    assert settings.server.root_path == "/lineage"


def test_secrets_are_not_in_what_is_printed() -> None:
    printed = repr(Settings(access={"admin_key": "k" * 20, "oidc": {"client_secret": "s" * 20}}))
    assert "kkk" not in printed
    assert "sss" not in printed
