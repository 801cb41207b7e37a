"""The checks of `doctor --security`: files of this user, and the connections that the server accepts and opens."""

import datetime as dt
import ipaddress
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from headwater.cli import server
from headwater.cli.serve.checks import Check
from headwater.client import config
from headwater.client.ask import ask
from headwater.errors import Forbidden, HeadwaterError, Unauthenticated
from headwater.home import home

_UNUSED = dt.timedelta(days=90)
# Files of HEADWATER_HOME with a secret in them.
_PRIVATE = ("secret.key", "server.json", "server.log", "postgres", "run")


def security_checks(url: str | None, now: dt.datetime | None = None) -> list[Check]:
    """Run every check. Those of the server need a key with the role admin if the server is closed."""
    found = [*_files(), *_old_modes()]
    try:
        found += [*_open(url), *_keys(url, now or dt.datetime.now(dt.UTC)), *_listeners(url)]
    except (Unauthenticated, Forbidden) as error:
        found.append(
            Check(
                "server",
                "warn",
                f"keys and listeners are not checked: {error.message}; set HEADWATER_API_KEY to an admin key",
            )
        )
    except HeadwaterError as error:
        found.append(Check("server", "bad", error.message))
    return found


def _files() -> Iterator[Check]:
    folders = [path for path in dict.fromkeys(one.spool for one in config.destination().each) if path.is_dir()]
    files = [path for path in (home() / name for name in _PRIVATE) if path.exists()]
    wrong = False
    for path in [*files, *folders]:
        status = path.stat()
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            wrong = True
            yield Check(
                "files", "bad",
                f"{path} has the mode {stat.S_IMODE(status.st_mode):o}, so other users may read it: chmod {'700' if path.is_dir() else '600'} {path}",
            )  # fmt: skip
    if not wrong:
        yield Check("files", "ok", f"{len(files) + len(folders)} files and folders are readable by their user alone")


def _old_modes() -> Iterator[Check]:
    """Folders that an earlier version opened for PostgreSQL's user."""
    if os.name != "posix" or os.geteuid() != 0:
        return
    root = Path("~root").expanduser()
    if root in (home(), *home().parents) and root.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield Check(
            "folders", "warn",
            f"{root} can be entered by every user; an earlier Headwater may have opened it: `headwater down`, chmod 700 {root}, `headwater up`",
        )  # fmt: skip


def _open(url: str | None) -> Iterator[Check]:
    address = server.address(url)
    host = urlsplit(address).hostname or ""
    try:
        me = msgspec.json.decode(ask(address, "/auth/me"))
    except (Unauthenticated, Forbidden):
        yield Check("access", "ok", f"{address} answers only callers with a key, a token or a session")
        return
    if host == "localhost" or _is_loopback(host):
        yield Check("access", "ok", f"{address} is open, with the role {me['role']}, to programs of this machine only")
    else:
        yield Check(
            "access",
            "bad",
            f"{address} is open to its network with the role {me['role']}: set HEADWATER_ACCESS__MODE=keys",
        )


def _keys(url: str | None, now: dt.datetime) -> Iterator[Check]:
    live = [
        key
        for key in server.get(url, "/api/v2/admin/keys")["keys"]
        if not key["revoked_at"] and not _past(key["expires_at"], now)
    ]
    for key in live:
        last = dt.datetime.fromisoformat(key["last_used_at"] or key["created_at"])
        if now - last > _UNUSED:
            when = f"last used {last:%Y-%m-%d}" if key["last_used_at"] else f"never used since {last:%Y-%m-%d}"
            yield Check(
                "keys",
                "warn",
                f"{key['name']} ({key['role']}) was {when}: `headwater server keys revoke {key['name']}`",
            )
    forever = [key["name"] for key in live if key["role"] == "admin" and not key["expires_at"]]
    if forever:
        yield Check(
            "keys",
            "warn",
            f"admin keys that never expire: {', '.join(forever)}; create one with --expires, and revoke these",
        )
    yield Check("keys", "ok", f"{len(live)} keys can be used")


def _listeners(url: str | None) -> Iterator[Check]:
    listeners = server.get(url, "/api/v2/admin/listeners")["listeners"]
    for listener in listeners:
        if private := sorted(_private_addresses(listener["url"])):
            yield Check(
                "listeners", "warn",
                f"{listener['name']} sends events to {listener['url'].partition('?')[0]}, which is {', '.join(private)}, inside of a network",
            )  # fmt: skip
        if (
            listener["url"]
            and listener["url"].startswith("http://")
            and listener["has_secret"]
            and listener["kind"] != "webhook"
        ):
            yield Check(
                "listeners", "warn", f"{listener['name']} sends its API key without TLS: use an https:// address"
            )
    yield Check("listeners", "ok", f"{len(listeners)} listeners")


def _past(time: str | None, now: dt.datetime) -> bool:
    return time is not None and dt.datetime.fromisoformat(time) < now


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _private_addresses(url: str | None) -> set[str]:
    """Return the non-public addresses that the URL's host resolves to."""
    host = urlsplit(url or "").hostname
    if host is None:
        return set()
    try:
        found = {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return set()
    return {address for address in found if not ipaddress.ip_address(address).is_global}
