"""The comment of a review, against a server that has the routes of GitHub and of GitLab."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from headwater.cli.review.comment import send_comment
from headwater.cli.review.written import MARK
from headwater.errors import InvalidQuestion

ROUTES = {
    "github": ("/repos/o/r/issues/7/comments", "/repos/o/r/issues/comments", "PATCH", ("Authorization", "Bearer secret")),
    "gitlab": ("/projects/12/merge_requests/7/notes", "/projects/12/merge_requests/7/notes", "PUT", ("PRIVATE-TOKEN", "secret")),
}  # fmt: skip


class Forge:
    """Comments of one request; all requests that came."""

    def __init__(self, kind: str) -> None:
        self.comments = [{"id": number, "body": f"an earlier comment that quotes {MARK}"} for number in range(130)]
        self.requests: list[str] = []
        every, one, method, (header, value) = ROUTES[kind]
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                url = urlsplit(self.path)
                forge.requests.append(self.command)
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                found: object = None
                if self.headers.get(header) == value:
                    if self.command == "GET" and url.path == every:
                        asked = {key: int(some[0]) for key, some in parse_qs(url.query).items()}
                        start = (asked["page"] - 1) * asked["per_page"]
                        found = forge.comments[start : start + asked["per_page"]]
                    elif self.command == "POST" and url.path == every:
                        found = {"id": len(forge.comments), **body}
                        forge.comments.append(found)
                    elif self.command == method and url.path.startswith(one + "/"):
                        found = forge.comments[int(url.path.rpartition("/")[2])]
                        found.update(body)
                self.send_response(200 if found is not None else 403)
                self.end_headers()
                self.wfile.write(json.dumps(found).encode())

            do_GET = do_POST = do_PATCH = do_PUT = answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture(params=["github", "gitlab"])
def forge(request: pytest.FixtureRequest) -> Iterator[tuple[Forge, dict[str, str]]]:
    made = Forge(request.param)
    url = f"http://127.0.0.1:{made.server.server_port}"
    environment = {
        "github": {"GITHUB_REPOSITORY": "o/r", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_API_URL": url, "GITHUB_TOKEN": "secret"},
        "gitlab": {"CI_PROJECT_ID": "12", "CI_MERGE_REQUEST_IID": "7", "CI_API_V4_URL": url, "HEADWATER_GITLAB_TOKEN": "secret"},
    }[request.param]  # fmt: skip
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made, environment
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_a_comment_is_written_once_and_updated(forge: tuple[Forge, dict[str, str]], tmp_path: Path) -> None:
    made, environment = forge
    comment = tmp_path / "comment.md"
    for text in ("one", "two", "three"):
        comment.write_text(f"{MARK}\n{text}\n")
        send_comment(comment, environment)
    assert [one["body"] for one in made.comments[130:]] == [f"{MARK}\nthree\n"]
    assert made.requests.count("POST") == 1


def test_a_refusal_and_a_missing_token_are_errors(forge: tuple[Forge, dict[str, str]], tmp_path: Path) -> None:
    _, environment = forge
    comment = tmp_path / "comment.md"
    comment.write_text(MARK)
    token = next(name for name in environment if name.endswith("TOKEN"))
    with pytest.raises(InvalidQuestion, match="403"):
        send_comment(comment, {**environment, token: "wrong"})
    with pytest.raises(InvalidQuestion, match=token):
        send_comment(comment, {**environment, token: ""})
