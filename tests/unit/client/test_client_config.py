"""The destination of events: one order, and nothing that stops a program."""

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


def test_several_addresses_each_with_its_own_spool_and_key(tmp_path: Path) -> None:
    env = {
        "HOME": str(tmp_path),
        "HEADWATER_URL": "amqps://user:p%40ss@mq:5671/prod?queue=q.1, https://hw:3 ,https://:other%2Ckey@third,file:///x%2Cy.ndjson,console:",
        "HEADWATER_API_KEY": "hw",
    }
    found = destination(env)
    root = tmp_path / ".headwater" / "spool"
    assert [each.transport for each in found.each] == ["amqp", "http", "http", "file", "console"]
    assert [each.api_key for each in found.each] == [None, "hw", "other,key", None, None]
    assert found.redacted == "amqps://mq:5671/prod?queue=q.1"
    assert found.address == "amqps://user:p%40ss@mq:5671/prod?queue=q.1"
    assert found.each[3].file == Path("/x,y.ndjson")
    folders = [each.spool for each in found.each if each.remote]
    assert folders[0] == root, "what waited for the only destination is not lost when others are added"
    assert len(set(folders)) == 3
    assert all(folder.parent == root for folder in folders[1:])
    again = destination(env | {"HEADWATER_URL": "http://new,https://:changed@third"})
    assert again.each[1].spool == folders[2], "a folder's name depends neither on the key nor on the place in the list"
    assert "ss@" not in "".join(each.redacted for each in found.each)


def test_what_is_handed_down_is_understood_again(tmp_path: Path) -> None:
    env = {
        "HOME": str(tmp_path),
        "HEADWATER_URL": "https://:a%2Fb%2C@hw,datahub+http://d:8080,custom+https://c/events,amqp://u:p@h//?queue=x,file:///e.ndjson",
    }
    found = destination(env)
    again = destination(
        {"HOME": str(tmp_path), "HEADWATER_URL": ",".join(one.address.replace(",", "%2C") for one in found.each)}
    )
    assert again == found


def test_the_variables_key_goes_to_the_first_server_alone(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "HEADWATER_API_KEY": "k"}
    keys = [each.api_key for each in destination(env | {"HEADWATER_URL": "http://a,http://b"}).each]
    assert keys == ["k", None]
    own = destination(env | {"HEADWATER_URL": "http://:mine@a,http://b"})
    assert [each.api_key for each in own.each] == ["mine", None]


@pytest.mark.parametrize(
    ("backend", "endpoint", "expected", "batches"),
    [
        ("headwater", "http://h:5000", "http://h:5000/api/v1/lineage", True),
        ("marquez", "http://h:5000/api/v1", "http://h:5000/api/v1/lineage", True),
        ("datahub", "http://h:8080", "http://h:8080/openapi/openlineage/api/v1/lineage", False),
        ("DataHub", "https://h/api/gms", "https://h/api/gms/openapi/openlineage/api/v1/lineage", False),
        ("openmetadata", "https://h", "https://h/api/v1/openlineage/lineage", False),
        ("openmetadata", "https://h/api/", "https://h/api/v1/openlineage/lineage", False),
        ("openlineage", "https://h", "https://h/api/v1/lineage", True),
        ("custom", "https://h/v1/events", "https://h/v1/events", True),
    ],
)
def test_backends_of_the_dk_config(tmp_path: Path, backend: str, endpoint: str, expected: str, batches: bool) -> None:
    found = destination(write_dk(tmp_path, f"lineage: {{backend: {backend}, endpoint: '{endpoint}', api_key: k}}"))
    assert (found.url, found.batches, found.api_key) == (expected, batches, "k")


def test_an_unknown_backend_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = destination(write_dk(tmp_path, "lineage: {backend: atlas, endpoint: 'http://h'}"))
    assert found.url == "http://h/api/v1/lineage"
    assert len(caplog.records) == 1


def test_a_dk_config_may_list_several(tmp_path: Path) -> None:
    text = "lineage: [{endpoint: 'http://a', api_key: x}, {backend: datahub, endpoint: 'http://b', api_key: y}]"
    found = destination(write_dk(tmp_path, text))
    assert [(each.base, each.api_key) for each in found.each] == [("http://a", "x"), ("http://b", "y")]


def test_arguments_come_before_variables(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "HEADWATER_TRANSPORT": "console"}
    assert destination(env, url="http://a").url == "http://a/api/v1/lineage"
    assert destination(env, transport="none").transport == "none"


def test_one_bad_address_does_not_cost_the_others_nor_show_its_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = {"HOME": str(tmp_path), "HEADWATER_URL": "amqp://user:hunter2@h:port/,http://a,ftp://u:hunter2@b,http://a/"}
    found = destination(env)
    assert [each.url for each in found.each] == ["http://a/api/v1/lineage"]
    assert len(caplog.records) == 2
    assert "hunter2" not in caplog.text
    assert found.spool == tmp_path / ".headwater" / "spool"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1000000", 1_000_000), ("64MB", 64_000_000), ("64 MiB", 64 << 20), ("2g", 2_000_000_000), ("", 256 << 20)],
)
def test_the_cap(tmp_path: Path, text: str, expected: int) -> None:
    assert destination({"HOME": str(tmp_path), "HEADWATER_SPOOL_MAX_BYTES": text}).cap_bytes == expected


def test_settings_of_the_spool(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    env = {"HOME": str(tmp_path), "HEADWATER_SPOOL_FSYNC": "Interval", "HEADWATER_SPOOL_FULL": "drop-newest"}
    found = destination(env)
    assert (found.fsync, found.full) == ("interval", "drop-newest")
    env = dict.fromkeys(["HEADWATER_SPOOL_FSYNC", "HEADWATER_SPOOL_FULL", "HEADWATER_SPOOL_MAX_BYTES"], "perhaps")
    found = destination(env | {"HOME": str(tmp_path)})
    assert (found.fsync, found.full, found.cap_bytes) == ("never", "drop-oldest", 256 << 20)
    assert len(caplog.records) == 3


def test_a_spools_folder_is_absolute_and_knows_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert destination({"HEADWATER_SPOOL": "spool", "HOME": "/h"}).spool == tmp_path / "spool"
    assert destination({"HEADWATER_SPOOL": "~/spool", "HOME": "/h"}).spool == Path("/h/spool")


def test_what_a_host_logs_of_a_destination_has_no_secret(tmp_path: Path) -> None:
    told = destination(
        {"HEADWATER_URL": "http://h:5000,amqp://user:pw-secret@b/v", "HEADWATER_API_KEY": "key-secret"}, spool=tmp_path
    )
    assert (told.api_key, told.others[0].credentials) == ("key-secret", "user:pw-secret")
    assert "secret" not in repr(told) + str(told) + repr(told.others)
    assert "h:5000" in repr(told)
