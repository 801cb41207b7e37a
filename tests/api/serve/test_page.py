"""The page's own paths: the server answers each with the page, whose links are relative to where it begins."""

from pathlib import Path
from typing import Any

import pytest

from headwater.api import page
from headwater.settings import EmbedSettings

INDEX = Path(__file__).parents[3] / "web/index.html"


@pytest.mark.parametrize(
    ("path", "base"),
    [("/", "./"), ("/incidents", "./"), ("/datasets/file:~data", "../"), ("/datasets/file:~data/schema", "../../")],
)
def test_a_path_of_the_page_is_the_page(
    client: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, base: str
) -> None:
    (tmp_path / "index.html").write_bytes(INDEX.read_bytes())
    monkeypatch.setattr(page, "folder", lambda: tmp_path)
    reply = client.get(path)
    assert reply.status_code == 200
    assert f'<base href="{base}" />' in reply.text
    assert "base-uri 'self'" in reply.headers["content-security-policy"]
    assert client.get("/assets/none.js").status_code == 404


def test_nothing_is_framed_unless_the_setting_names_who_may(
    served: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_bytes(INDEX.read_bytes())
    monkeypatch.setattr(page, "folder", lambda: tmp_path)
    refused = "frame-ancestors 'none'"
    off = served()
    for path in ("/embed/lineage/dataset:file:~out", "/embed/datasets/file:~out", "/embed/settings"):
        reply = off.get(path)
        assert (reply.status_code, reply.headers["content-security-policy"].endswith(refused)) == (404, True), path
    on = served(embed={"frame_ancestors": "https://wiki.example.com  'self'"})
    reply = on.get("/embed/lineage/dataset:file:~out")
    assert reply.status_code == 200
    assert reply.headers["content-security-policy"].endswith("; frame-ancestors https://wiki.example.com 'self'")
    assert '<base href="../../" />' in reply.text
    assert "wiki.example.com" in on.get("/embed/status").headers["content-security-policy"]
    for path in ("/", "/lineage/dataset:file:~out", "/settings/keys", "/embed", "/embedded"):
        assert on.get(path).headers["content-security-policy"].endswith(refused), path
    for path in ("/embed/settings/keys", "/embed/lineage/../settings", "/embed/"):
        reply = on.get(path)
        assert reply.headers["content-security-policy"].endswith(refused), path


@pytest.mark.parametrize(
    "text", ["*", "https:", "x; script-src *", "https://a.example, https://b.example", "'none'", "https://a/b"]
)
def test_a_setting_that_is_not_a_list_of_origins_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="name origins"):
        EmbedSettings(frame_ancestors=text)
