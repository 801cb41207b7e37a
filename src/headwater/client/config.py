"""The destination of events, decided once and in one documented order.

explicit arguments > HEADWATER_URL > OPENLINEAGE_URL (+ OPENLINEAGE_ENDPOINT) > ~/.dk/config.yaml > http://127.0.0.1:5000

An API key comes from the same place as the address, so a key is never sent to another server. With several addresses the
variable's key is the first server's, and the others contain theirs. For the syntax of addresses see `headwater.client.address`.
Never stops the program: a mistake is one log line, and the events stay in the spool.
"""

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from headwater.client import dk
from headwater.client.address import BACKENDS, ENDPOINT, Destination, lineage_url, parse, split, without_secrets

__all__ = ["DEFAULT_URL", "ENDPOINT", "Destination", "destination", "lineage_url"]

log = logging.getLogger("headwater")

DEFAULT_URL = "http://127.0.0.1:5000"
_TRANSPORTS = ("http", "console", "file", "spool", "none")
_FULL = ("drop-oldest", "drop-newest")
_AWAY = ("once", "retry")
_FSYNC = ("never", "interval", "always")
_CAP = 256 << 20
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}


class _Address(msgspec.Struct):
    """One configured address with its options."""

    address: str
    api_key: str | None = None
    backend: str | None = None
    endpoint: str = ENDPOINT


def destination(
    environ: Mapping[str, str] | None = None,
    *,
    url: str | None = None,
    api_key: str | None = None,
    transport: str | None = None,
    file: str | os.PathLike[str] | None = None,
    spool: str | os.PathLike[str] | None = None,
    flush_seconds: float | None = None,
) -> Destination:
    """Decide where events go: the first address, with further ones in `others`. Never raises; empty variables count as absent."""
    env = {key: value for key, value in (os.environ if environ is None else environ).items() if value.strip()}
    home = Path(env["HEADWATER_HOME"]) if "HEADWATER_HOME" in env else _home(env) / ".headwater"
    folder = _folder(spool or env.get("HEADWATER_SPOOL") or home / "spool", env)
    plain = Destination(
        transport="spool",
        spool=folder,
        flush_seconds=flush_seconds if flush_seconds is not None else _seconds(env),
        flush_away=_choice(env, "HEADWATER_FLUSH_AWAY", _AWAY),
        cap_bytes=_bytes(env),
        full=_choice(env, "HEADWATER_SPOOL_FULL", _FULL),
        fsync=_choice(env, "HEADWATER_SPOOL_FSYNC", _FSYNC),
        source="HEADWATER_TRANSPORT",
    )
    if transport is None and env.get("OPENLINEAGE_DISABLED", "").strip().lower() in {"true", "1", "yes"}:
        return _but(plain, transport="none", source="OPENLINEAGE_DISABLED")
    kind = transport or ("http" if url else _choice(env, "HEADWATER_TRANSPORT", _TRANSPORTS))
    if kind == "file":
        target = file or env.get("HEADWATER_EVENTS_FILE")
        if target:
            return _but(plain, transport="file", file=Path(target), source="default")
        log.warning("HEADWATER_TRANSPORT is file but HEADWATER_EVENTS_FILE is not set: events stay in %s", folder)
        return plain
    if kind != "http":
        return _but(plain, transport=kind)
    told, source = _configured_addresses(env, url, api_key)
    found: list[Destination] = []
    for one in told:
        parsed = parse(one.address, spool=folder, backend=one.backend, endpoint=one.endpoint)
        if parsed is None:
            shown = without_secrets(one.address)
            log.warning("%s is %r, which is not an address for events: they stay in %s", source, shown, folder)
            continue
        if any(parsed.redacted == other.redacted for other in found):
            continue
        # The first remote destination uses the folder itself: events that already wait there are for it.
        own = folder / parsed.folder_name if parsed.remote and any(other.remote for other in found) else folder
        key = parsed.api_key or one.api_key if parsed.transport == "http" else None
        found.append(
            _but(
                plain,
                transport=parsed.transport,
                url=parsed.url,
                api_key=key,
                credentials=parsed.credentials,
                queue=parsed.queue,
                backend=parsed.backend,
                file=parsed.file,
                spool=own,
                source=source,
            )
        )
    if not found:
        return _but(plain, source=source)
    return _but(found[0], others=tuple(found[1:]))


def _configured_addresses(env: Mapping[str, str], url: str | None, api_key: str | None) -> tuple[list[_Address], str]:
    ours = api_key or env.get("HEADWATER_API_KEY")
    if url and split(url):
        return _keyed(url, ours), "argument"
    if split(env.get("HEADWATER_URL", "")):
        return _keyed(env["HEADWATER_URL"], ours), "HEADWATER_URL"
    if "OPENLINEAGE_URL" in env:
        key = api_key or env.get("OPENLINEAGE_API_KEY")
        return [_Address(env["OPENLINEAGE_URL"], key, endpoint=env.get("OPENLINEAGE_ENDPOINT", ENDPOINT))], (
            "OPENLINEAGE_URL"
        )
    path = _home(env) / ".dk" / "config.yaml"
    entries = dk.lineage(path)
    if entries:
        told = [
            _Address(each["endpoint"], each.get("api_key"), _backend(each.get("backend"), path)) for each in entries
        ]
        if api_key:
            told[0].api_key = api_key
        return told, str(path)
    return [_Address(DEFAULT_URL, ours)], "default"


def _keyed(addresses: str, key: str | None) -> list[_Address]:
    """Assign the key to the first server that takes one."""
    told = [_Address(address) for address in split(addresses)]
    for one in told:
        parsed = parse(one.address, spool=Path())
        if parsed is not None and parsed.transport == "http":
            one.api_key = key
            break
    return told


def _backend(name: str | None, path: Path) -> str | None:
    if name is None or name.strip().lower() in BACKENDS:
        # A path after Headwater's or Marquez's host is a proxy's prefix, as with HEADWATER_URL.
        return name.strip().lower() if name else None
    log.warning("%s: backend %r is not one of %s; events go to %s", path, name, ", ".join(BACKENDS), ENDPOINT)
    return None


def _but(found: Destination, **changes: object) -> Destination:
    return msgspec.structs.replace(found, **changes)


def _choice(env: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    text = env.get(name, known[0]).strip().lower()
    if text in known:
        return text
    log.warning("%s is %r, not one of %s: %s is used", name, text, ", ".join(known), known[0])
    return known[0]


def _folder(given: str | os.PathLike[str], env: Mapping[str, str]) -> Path:
    """Return an absolute path, because a daemon changes its directory; expand `~` also without a shell (Compose, Kubernetes, systemd)."""
    path = Path(given)
    if path.parts[:1] == ("~",):
        path = _home(env).joinpath(*path.parts[1:])
    try:
        return path.absolute()
    except OSError:  # the working directory was deleted
        return path


def _home(env: Mapping[str, str]) -> Path:
    try:
        return Path(env["HOME"]) if "HOME" in env else Path.home()
    except RuntimeError:  # a user without a home directory, as in many containers
        return Path("/nonexistent")


def _seconds(env: Mapping[str, str]) -> float:
    text = env.get("HEADWATER_FLUSH_SECONDS", "5")
    try:
        return min(3600.0, max(0.0, float(text)))
    except ValueError:
        log.warning("HEADWATER_FLUSH_SECONDS is %r, not a number: 5 is used", text)
        return 5.0


def _bytes(env: Mapping[str, str]) -> int:
    text = env.get("HEADWATER_SPOOL_MAX_BYTES", "").strip()
    if not text:
        return _CAP
    found = re.fullmatch(r"(\d+)\s*([kmg]i?|)b?", text.lower())
    if found is None:
        log.warning("HEADWATER_SPOOL_MAX_BYTES is %r, not a size such as 256MB: 256MiB is used", text)
        return _CAP
    return int(found[1]) * _UNITS[found[2]]
