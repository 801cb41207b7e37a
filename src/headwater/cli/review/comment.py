"""One comment on a pull request of GitHub or a merge request of GitLab, updated in place.

Sources: GitHub's REST API for issue comments (2022-11-28), GitLab's notes API (v4), and the variables that their runners set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.cli.review.written import MARK
from headwater.client.connection import FAILURES, Connection, describe
from headwater.errors import InvalidQuestion

_PER_PAGE = 100
_SECONDS = 30


class Forge(msgspec.Struct, frozen=True):
    """The comments of one request. `comments`: their address; `one`: that of one comment, before its number; `method`: that updates it."""

    comments: str
    one: str
    method: str
    headers: dict[str, str]


def forge_of(environment: Mapping[str, str]) -> Forge:
    """Return the forge whose runner this is. Raises InvalidQuestion outside of one, without a request, or without a token."""
    if repository := environment.get("GITHUB_REPOSITORY"):
        number = re.fullmatch(r"refs/pull/(\d+)/\w+", environment.get("GITHUB_REF", ""))
        if number is None:
            raise InvalidQuestion("GITHUB_REF is not that of a pull request: run this on `pull_request`")
        url = environment.get("GITHUB_API_URL", "https://api.github.com")
        headers = {
            "Authorization": f"Bearer {_token(environment, 'GITHUB_TOKEN')}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        issues = f"{url}/repos/{repository}/issues"
        return Forge(f"{issues}/{number[1]}/comments", f"{issues}/comments", "PATCH", headers)
    if request := environment.get("CI_MERGE_REQUEST_IID"):
        project = quote(environment.get("CI_PROJECT_ID", ""), safe="")
        notes = f"{environment.get('CI_API_V4_URL', 'https://gitlab.com/api/v4')}/projects/{project}/merge_requests/{request}/notes"
        return Forge(notes, notes, "PUT", {"PRIVATE-TOKEN": _token(environment, "HEADWATER_GITLAB_TOKEN")})
    raise InvalidQuestion(
        "this is no runner of a pull request: set GITHUB_REPOSITORY and GITHUB_REF, or CI_PROJECT_ID and CI_MERGE_REQUEST_IID"
    )


def send_comment(path: Path, environment: Mapping[str, str]) -> str:
    """Write the file as the comment, in place of the earlier one. Returns a line about it; raises InvalidQuestion where the forge refuses."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidQuestion(f"{path}: {error}; write it first: headwater review --markdown {path}") from error
    if not text.startswith(MARK):
        raise InvalidQuestion(f"{path} is no comment of a review: write it with headwater review --markdown {path}")
    forge = forge_of(environment)
    number = 1
    while True:
        page = _ask(forge, "GET", f"{forge.comments}?per_page={_PER_PAGE}&page={number}")
        for one in page:
            if str(one.get("body") or "").startswith(MARK):
                _ask(forge, forge.method, f"{forge.one}/{one['id']}", {"body": text})
                return f"the comment {one['id']} is updated"
        if len(page) < _PER_PAGE:
            break
        number += 1
    made = _ask(forge, "POST", forge.comments, {"body": text})
    return f"the comment {made['id']} is written"


def _token(environment: Mapping[str, str], name: str) -> str:
    token = environment.get(name)
    if not token:
        raise InvalidQuestion(
            f"{name} is not set: the comment needs a token that may write comments, in this step alone"
        )
    return token


def _ask(forge: Forge, method: str, url: str, body: object = None) -> Any:
    data = None if body is None else msgspec.json.encode(body)
    # GitHub refuses a request that does not name its program.
    headers = {**forge.headers, "Content-Type": "application/json", "User-Agent": "headwater"}
    try:
        connection = Connection(url, timeout=_SECONDS)
    except (ValueError, *FAILURES) as error:
        raise InvalidQuestion(f"{url!r} is no address of a forge: {error}") from error
    try:
        _, question, query = url.partition("?")
        answer = connection.exchange(method, connection.path + question + query, data, headers)
    except FAILURES as error:
        raise InvalidQuestion(f"{method} {url} failed: {describe(error)}") from error
    finally:
        connection.close()
    if not 200 <= answer.status < 300:
        raise InvalidQuestion(f"{method} {url} was refused ({answer.status}): check the rights of the token")
    try:
        return msgspec.json.decode(answer.body)
    except msgspec.DecodeError as error:
        raise InvalidQuestion(f"{method} {url} did not answer in JSON: {error}") from error
