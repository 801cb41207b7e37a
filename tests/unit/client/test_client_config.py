"""Where events go: one order, and nothing that stops a program."""

from pathlib import Path

import pytest

from headwater.client.config import destination, lineage_url

WHOLE = "http://h:5000/api/v1/lineage"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("http://h:5000", WHOLE),
        ("http://h:5000/", WHOLE),
        ("h:5000", WHOLE),
        ("HTTP://h:5000/api/v1/lineage/", WHOLE),
        ("http://user:secret@h:5000", WHOLE),
        ("https://h/proxied", "https://h/proxied/api/v1/lineage"),
        ("https://h/openapi/openlineage/api/v1/lineage", "https://h/openapi/openlineage/api/v1/lineage"),
        ("ftp://h", None),
        ("http://", None),
        ("http://h:port", None),
    ],
)
def test_an_address_may_have_the_path_or_not(given: str, expected: str | None) -> None:
    assert lineage_url(given) == expected


def write_dk(tmp_path: Path, text: str) -> dict[str, str]:
    (tmp_path / ".dk").mkdir()
    (tmp_path / ".dk" / "config.yaml").write_text(text)
    return {"HOME": str(tmp_path)}


def test_the_order(tmp_path: Path) -> None:
    env = write_dk(tmp_path, "lineage: {backend: marquez, endpoint: 'http://dk:1/api/v1/lineage', api_key: dk}")
    found = destination(env)
    assert (found.url, found.api_key) == ("http://dk:1/api/v1/lineage", "dk")
    assert found.source.endswith(".dk/config.yaml")
    env |= {"OPENLINEAGE_URL": "http://ol:2", "OPENLINEAGE_API_KEY": "ol", "OPENLINEAGE_ENDPOINT": "/gms/lineage"}
    found = destination(env)
    assert (found.url, found.api_key, found.base, found.endpoint) == (
        "http://ol:2/gms/lineage",
        "ol",
        "http://ol:2",
        "gms/lineage",
    )
    env |= {"HEADWATER_URL": "http://hw:3", "HEADWATER_API_KEY": "hw"}
    found = destination(env)
    assert (found.url, found.api_key, found.source) == ("http://hw:3/api/v1/lineage", "hw", "HEADWATER_URL")
    found = destination(env, url="http://arg:4", api_key="arg")
    assert (found.url, found.api_key) == ("http://arg:4/api/v1/lineage", "arg")
    assert destination({"HOME": str(tmp_path / "nobody")}).url == "http://127.0.0.1:5000/api/v1/lineage"


def test_a_key_stays_with_its_own_server(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "HEADWATER_URL": "http://hw:3", "OPENLINEAGE_API_KEY": "for another server"}
    assert destination(env).api_key is None


@pytest.mark.parametrize("text", ["lineage: [", "- 1", "lineage: text", "a: &a [*a]\nlineage: *a", "\x00"])
def test_a_bad_dk_config_is_one_line_and_never_a_crash(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = destination(write_dk(tmp_path, text))
    assert found.url == "http://127.0.0.1:5000/api/v1/lineage"
    assert len(caplog.records) == 1
    assert "\n" not in caplog.records[0].getMessage()
    assert "config.yaml" in caplog.records[0].getMessage()


def test_disabled_and_other_ways_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    env = {"HOME": str(tmp_path)}
    assert destination(env | {"OPENLINEAGE_DISABLED": "True"}).transport == "none"
    file = destination(env | {"HEADWATER_TRANSPORT": "file", "HEADWATER_EVENTS_FILE": "/x/e.ndjson"})
    assert (file.transport, file.file) == ("file", Path("/x/e.ndjson"))
    assert destination(env | {"HEADWATER_TRANSPORT": "console"}).transport == "console"
    assert caplog.records == []
    assert destination(env | {"HEADWATER_TRANSPORT": "file"}).transport == "spool"
    assert destination(env | {"HEADWATER_TRANSPORT": "pigeon"}).transport == "http"
    assert destination(env | {"HEADWATER_URL": "ftp://x"}).transport == "spool"
    assert destination(env | {"HEADWATER_FLUSH_SECONDS": "soon"}).flush_seconds == 5.0
    assert len(caplog.records) == 4


def test_the_spool_folder(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    assert destination(env).spool == tmp_path / ".headwater" / "spool"
    assert destination(env | {"HEADWATER_SPOOL": "/var/x"}).spool == Path("/var/x")
