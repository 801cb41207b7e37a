"""The page's own paths: the server answers each with the page, whose links are relative to where it begins."""

from pathlib import Path
from typing import Any

import pytest

from headwater.api import page

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
