"""Errors of a warehouse's client: which are transient, how often to retry, and how to report them without secrets."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from headwater.client.retries import retry
from headwater.errors import DatabaseRefused, DatabaseUnavailable, HeadwaterError

T = TypeVar("T")

DELAYS: Final = (2.0, 8.0, 32.0)
"""Seconds before each further try."""

# By name: the classes are those of libraries that need not be installed.
_PASSING: Final = frozenset(
    "OperationalError InterfaceError ConnectionError gaierror TimeoutError HTTPException TransportError RetryError "
    "ServiceUnavailable InternalServerError BadGateway GatewayTimeout TooManyRequests "
    "ServiceUnavailableError BadGatewayError GatewayTimeoutError RequestTimeoutError OtherHTTPRetryableError HttpError "
    "Http502Error Http503Error Http504Error".split()
)
# Trying a wrong password again and again locks the account.
_SIGN_IN: Final = re.compile(
    r"password|credential|authenti|unauthori[sz]ed|not authori[sz]ed|access denied|permission|forbidden|\b40[13]\b",
    re.IGNORECASE,
)
_TOO_LONG: Final = re.compile(r"time[d ]*-?out|cancell?ed|time limit|max(imum)?[ _]run[ _]time", re.IGNORECASE)


def passing(error: BaseException) -> bool:
    """Return whether trying again may help: the warehouse or the way to it failed, not the question or the credentials."""
    chain = list(_chain(error))
    if any(_SIGN_IN.search(str(one)) for one in chain):
        return False
    return any(kind.__name__ in _PASSING for one in chain for kind in type(one).__mro__)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it came from, and what it was made of: some clients pack one inside another."""
    todo, seen = [error], set[int]()
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        todo += [further for further in (one.__cause__, one.__context__) if further is not None]
        todo += [inside for inside in one.args if isinstance(inside, BaseException)]


def retrying(
    work: Callable[[], T],
    *,
    what: str,
    sleep: Callable[[float], None],
    environ: Mapping[str, str],
    secrets: Sequence[str],
) -> T:
    """Return what `work` returns, tried again after each of DELAYS while its errors may pass.

    DatabaseUnavailable: it failed every time. DatabaseRefused: it failed in a way that will not pass. Our own errors come through as they are.
    Neither holds on to the client's error, in which there may be a secret.
    """
    try:
        return retry(
            work,
            passes=lambda error: not isinstance(error, HeadwaterError) and passing(error),
            pauses=DELAYS,
            sleep=sleep,
        )
    except HeadwaterError:
        raise
    except Exception as error:  # noqa: BLE001  (each client library has errors of its own; every one is raised again as ours)
        line = error_line(error, environ, secrets)
        if not passing(error):
            hint = ". A shorter --window asks for less at once" if _TOO_LONG.search(line) else ""
            raise DatabaseRefused(f"{what}: {line}{hint}") from None
        raise DatabaseUnavailable(f"{what} failed {len(DELAYS) + 1} times, the last time with {line}") from None


def error_line(error: BaseException, environ: Mapping[str, str], secrets: Sequence[str]) -> str:
    """The error in a line, with every secret of the environment replaced."""
    text = " ".join(str(error).split()) or "no message"
    for name in secrets:
        if value := environ.get(name):
            text = text.replace(value, "***")
    return f"{type(error).__name__}: {text[:1_000]}"
