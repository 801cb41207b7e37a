"""Send a request to a Headwater server, for the command line.

Errors are raised as the exceptions of `headwater.errors`, so commands do not handle HTTP.
Never retries, and returns the answer as bytes.
"""

import base64
import http.client
from collections.abc import Mapping
from email.utils import formatdate
from urllib.parse import urlencode, urlsplit

import msgspec

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
    base = urlsplit(base_url if "://" in base_url else f"http://{base_url}")
    given = [
        (key, _text(one))
        for key, value in (params or {}).items()
        for one in (value if isinstance(value, list | tuple) else [value])
        if one is not None
    ]
    target = base.path.rstrip("/") + path + (f"?{urlencode(given)}" if given else "")
    headers = {"Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/json"
        headers["Date"] = formatdate(usegmt=True)  # by this clock, as are the times in the body
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    elif basic:
        headers["Authorization"] = f"Basic {base64.b64encode(':'.join(basic).encode()).decode()}"
    try:
        kind = http.client.HTTPSConnection if base.scheme == "https" else http.client.HTTPConnection
        connection = kind(base.hostname or "", base.port, timeout=timeout)
    except (ValueError, http.client.InvalidURL) as error:
        raise InvalidQuestion(f"{base_url!r} is not a server's address: {error}", url=base_url) from error
    try:
        connection.request(method, target, body=body, headers=headers)
        response = connection.getresponse()
        reply = response.read()
    except TimeoutError as error:
        raise ServerUnavailable(f"{base_url} did not answer within {timeout:g} s", url=base_url) from error
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise ServerUnavailable(
            f"no Headwater server answers at {base_url} ({reason}); start one with `headwater up`, or set HEADWATER_URL",
            url=base_url,
        ) from error
    finally:
        connection.close()
    if 200 <= response.status < 300:
        return reply
    raise refusal(response.status, reply, base_url + path)


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
