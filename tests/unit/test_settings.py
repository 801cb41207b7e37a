"""Settings that cannot be understood are named, and never shown."""

from pathlib import Path

import pytest

from headwater.environment import InvalidPart
from headwater.errors import InvalidSettings
from headwater.settings import AccessSettings, ServerSettings, Settings


def test_what_is_wrong_is_named_and_its_value_kept_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_ACCESS__ADMIN_KEY", "too-short")
    monkeypatch.setenv("HEADWATER_SERVER__PORT", "http")
    with pytest.raises(InvalidSettings) as raised:
        Settings()
    assert "HEADWATER_ACCESS__ADMIN_KEY: expected text of length >= 16" in raised.value.message
    assert set(raised.value.detail["variables"]) == {"HEADWATER_ACCESS__ADMIN_KEY", "HEADWATER_SERVER__PORT"}  # type: ignore[call-overload]
    assert "too-short" not in raised.value.message
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("SERVER__PORT", "http", "expected a whole number, got text"),
        ("SERVER__PORT", "0", "expected a whole number >= 1"),
        ("SERVER__LOG_LEVEL", "loud", "expected one of debug, info, warning, error"),
        ("SERVER__REQUEST_SECONDS", "0", "expected a number > 0.0"),
        ("LISTENERS__ENABLED", "maybe", "expected true or false, got text"),
        ("RETENTION__EVENTS_DAYS", "", "expected a whole number, got text"),
        ("ACCESS__OIDC__DEFAULT_ROLE", "boss", "expected one of none, read, write, admin"),
        ("ALERTS__MAIL_SERVER", "mail.example", "begin with smtp:// or smtps://"),
        ("SERVER__TRUSTED_PROXIES", "10.0.0.0/99", "'10.0.0.0/99' does not appear to be an IPv4 or IPv6 network"),
        ("SERVER", "x", "expected the name of a setting, as in HEADWATER_SERVER__NAME"),
        ("ACCESS__OIDC", "x", "expected the name of a setting after __"),
    ],
)
def test_each_kind_of_problem_is_explained(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, problem: str
) -> None:
    monkeypatch.setenv(f"HEADWATER_{variable}", value)
    with pytest.raises(InvalidSettings) as raised:
        Settings()
    assert raised.value.message == f"HEADWATER_{variable}: {problem}"


def test_text_becomes_the_type_of_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_LISTENERS__ENABLED", "Off")
    monkeypatch.setenv("HEADWATER_ALERTS__ENABLED", "0")
    monkeypatch.setenv("HEADWATER_EMBED__BADGES", "true")
    monkeypatch.setenv("HEADWATER_RETENTION__RUNS_DAYS", " 30 ")
    monkeypatch.setenv("headwater_server__body_seconds", "1.5")
    monkeypatch.setenv("HEADWATER_SERVER__NO_SUCH_SETTING", "x")
    monkeypatch.setenv("HEADWATER_URL", "http://elsewhere")
    monkeypatch.setenv("HEADWATER_HOME", "/data")
    settings = Settings(server={"port": 80})
    assert (settings.listeners.enabled, settings.alerts.enabled, settings.embed.badges) == (False, False, True)
    assert settings.retention.runs_days == 30
    assert (settings.server.body_seconds, settings.server.port) == (1.5, 80)
    assert settings.home == Path("/data")


def test_what_is_given_replaces_what_was_read_setting_by_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_ACCESS__OIDC__ISSUER", "https://id.example")
    monkeypatch.setenv("HEADWATER_ACCESS__OIDC__CLIENT_ID", "one")
    oidc = Settings(access={"oidc": {"client_id": "two"}}).access.oidc
    assert (oidc.issuer, oidc.client_id) == ("https://id.example", "two")
    assert Settings(access=AccessSettings()).access.oidc.issuer is None
    with pytest.raises(InvalidPart, match="PORT: expected a whole number <= 65535"):
        ServerSettings(port=65536)
    with pytest.raises(TypeError, match="no settings are called servers"):
        Settings(servers={})


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
