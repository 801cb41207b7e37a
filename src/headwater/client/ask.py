"""Send a request to a Headwater server, for the command line.

Errors are raised as the exceptions of `headwater.errors`, so commands do not handle HTTP.
Never retries, and returns the answer as bytes.
"""

import base64
from collections.abc import Mapping
from email.utils import formatdate
from http.client import InvalidURL
from urllib.parse import urlencode

import msgspec

from headwater.client.connection import FAILURES, Connection, describe
from headwater.errors import (
    Forbidden,
    HeadwaterError,
    InvalidQuestion,
    NotFound,
    ServerUnavailable,
    TooLarge,
    Unauthenticated,
    error_types,
)

_BY_STATUS: dict[int, type[HeadwaterError]] = {
    400: InvalidQuestion,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    413: TooLarge,
    422: InvalidQuestion,
}


class _Problem(msgspec.Struct):
    message: str
    code: str = ""
    detail: dict[str, object] | None = None


def ask(
    base_url: str,
    path: str,
    params: Mapping[str, object] | None = None,
    api_key: str | None = None,
    timeout: float = 30.0,
    *,
    method: str = "GET",
    body: bytes | None = None,
    basic: tuple[str, str] | None = None,
) -> bytes:
    """Return the body of a 2xx answer of `base_url` + `path`. `path` is percent-encoded; params that are None are omitted, lists are repeated.

    `api_key` authenticates, or `basic`, a name and a password, for servers that accept nothing else.

    Raises ServerUnavailable if no server answers or it cannot answer now; else the error that `refusal` reads from the answer.
    """
    given = [
        (key, _text(one))
        for key, value in (params or {}).items()
        for one in (value if isinstance(value, list | tuple) else [value])
        if one is not None
    ]
    headers = {"Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/json"
        headers["Date"] = formatdate(usegmt=True)  # by this clock, as are the times in the body
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    elif basic:
        headers["Authorization"] = f"Basic {base64.b64encode(':'.join(basic).encode()).decode()}"
    try:
        connection = Connection(base_url if "://" in base_url else f"http://{base_url}", timeout=timeout)
    except (ValueError, InvalidURL) as error:
        raise InvalidQuestion(f"{base_url!r} is not a server's address: {error}", url=base_url) from error
    target = connection.path.rstrip("/") + path + (f"?{urlencode(given)}" if given else "")
    try:
        answer = connection.exchange(method, target, body, headers)
    except TimeoutError as error:
        raise ServerUnavailable(f"{base_url} did not answer within {timeout:g} s", url=base_url) from error
    except FAILURES as error:
        raise ServerUnavailable(
            f"no Headwater server answers at {base_url} ({describe(error)}); start one with `headwater up`, or set HEADWATER_URL",
            url=base_url,
        ) from error
    finally:
        connection.close()
    if 200 <= answer.status < 300:
        return answer.body
    raise refusal(answer.status, answer.body, base_url + path)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def refusal(status: int, reply: bytes, url: str) -> HeadwaterError:
    """Return the error of an answer other than 2xx: the one whose code its body has, else one for the status.

    A 5xx or 429 that may be retried is ServerUnavailable.
    """
    try:
        problem = msgspec.json.decode(reply, type=_Problem)
    except ValueError:
        text = reply[:200].decode("utf-8", "replace").strip()
        problem = _Problem(f"{url} answered HTTP {status}" + (f": {text}" if text else ""))
    kind = error_types().get(problem.code) or _BY_STATUS.get(status)
    if (status >= 500 or status == 429) and (kind is None or not kind.permanent):
        kind = ServerUnavailable  # the caller retries in any case
    kind = kind or HeadwaterError
    detail = {key: value for key, value in (problem.detail or {}).items() if key not in {"self", "message"}}
    return kind(problem.message, **detail | {"status": status})
