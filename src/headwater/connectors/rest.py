"""Questions to a system's REST API: one connection, one at a time, with a pause between them, repeated when the system asks for patience."""

import time
from collections.abc import Mapping
from typing import Any, Final, Self
from urllib.parse import urlencode

import msgspec

from headwater.client.connection import FAILURES, Answer, Connection, describe
from headwater.errors import Forbidden, InvalidQuestion, NotFound, ServerUnavailable, Unauthenticated

PAUSES: Final = (1.0, 4.0, 16.0)
_REST: Final = 0.02
_SECONDS: Final = 30.0
_LARGEST: Final = 256 << 20
_LONGEST_WAIT: Final = 60.0
_SHOWN: Final = 300


class Rest:
    """One system. `headers` go with every question. Raises InvalidQuestion for a text that is no address.

    Questions raise ServerUnavailable: no answer, or it asks for patience, four times. Unauthenticated, Forbidden, NotFound, InvalidQuestion: it
    refuses, with its words.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidQuestion(f"{url[:100]!r} is no address; begin with http:// or https://", field="address")
        self._url, self.headers = url.rstrip("/"), dict(headers or {})
        try:
            self._connection = Connection(self._url, timeout=_SECONDS, connect=10.0, most=_LARGEST)
        except ValueError as error:
            raise InvalidQuestion(f"{url[:100]!r} is no address: {error}", field="address") from error

    def get(self, path: str, parameters: Mapping[str, object] | None = None) -> Any:
        """Return what the system answers, decoded."""
        return self._ask("GET", path + (f"?{urlencode(parameters)}" if parameters else ""), None)

    def post(self, path: str, body: object) -> Any:
        """Return what the system answers, decoded."""
        return self._ask("POST", path, msgspec.json.encode(body))

    def form(self, path: str, fields: Mapping[str, str]) -> Any:
        """Post fields as a form does, and return what the system answers, decoded."""
        return self._ask("POST", path, urlencode(fields).encode(), "application/x-www-form-urlencoded")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    def _ask(self, method: str, target: str, body: bytes | None, kind: str = "application/json") -> Any:
        for pause in (*PAUSES, None):
            answer, trouble = self._try(method, target, body, kind)
            if answer is not None and answer.status < 300:
                return _decoded(answer, f"{self._url}{target}")
            if answer is not None and answer.status != 429 and answer.status < 500:
                raise _refusal(answer, f"{method} {self._url}{target.partition('?')[0]}")
            if pause is not None:
                time.sleep(min(max(pause, (answer and answer.retry_after) or 0.0), _LONGEST_WAIT))
        raise ServerUnavailable(f"{self._url} did not answer {len(PAUSES) + 1} times, the last time: {trouble}")

    def _try(self, method: str, target: str, body: bytes | None, kind: str) -> tuple[Answer | None, str]:
        time.sleep(_REST)
        headers = {"Accept": "application/json", "User-Agent": "headwater", **self.headers}
        if body is not None:
            headers["Content-Type"] = kind
        try:
            answer = self._connection.exchange(method, self._connection.path.rstrip("/") + target, body, headers)
        except FAILURES as error:
            return None, describe(error)
        return answer, f"HTTP {answer.status}"


def _decoded(answer: Answer, url: str) -> Any:
    try:
        return msgspec.json.decode(answer.body) if answer.body else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidQuestion(
            f"{url} answered no JSON ({error}); is it the address of this system?", field="address"
        ) from error


def _refusal(answer: Answer, what: str) -> Exception:
    words = f"{what}: HTTP {answer.status} {' '.join(answer.body[:_SHOWN].decode('utf-8', 'replace').split())}"
    kinds = {401: Unauthenticated, 403: Forbidden, 404: NotFound}
    return kinds.get(answer.status, InvalidQuestion)(words)
