"""Where events go, decided once and in one documented order.

explicit arguments > HEADWATER_URL > OPENLINEAGE_URL (+ OPENLINEAGE_ENDPOINT) > ~/.dk/config.yaml > http://127.0.0.1:5000

An API key is taken from the same place as the URL, so a key is never sent to a server it was not meant for.
Refuses to stop the program: whatever is wrong here is one log line, and the events stay in the spool.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec

log = logging.getLogger("headwater")

DEFAULT_URL = "http://127.0.0.1:5000"
ENDPOINT = "api/v1/lineage"
_TRANSPORTS = ("http", "console", "file", "spool", "none")


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """Where events go and where they wait.

    `transport`: `http`; `console` (stderr) and `file` (NDJSON) for looking at events; `spool` (kept, sent by nobody yet); `none` (dropped).
    `url` is the whole address of `POST …/lineage`; `source` says which setting won.
    """

    transport: str
    url: str = ""
    api_key: str | None = None
    file: Path | None = None
    spool: Path
    flush_seconds: float = 5.0
    source: str = "default"

    @property
    def base(self) -> str:
        """Scheme, host and port: what `OPENLINEAGE_URL` wants."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""

    @property
    def endpoint(self) -> str:
        """The path without its leading slash: what `OPENLINEAGE_ENDPOINT` wants."""
        return urlsplit(self.url).path.lstrip("/")


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
    """Settle where events go. Never raises; empty variables count as absent."""
    env = {key: value for key, value in (os.environ if environ is None else environ).items() if value.strip()}
    folder = Path(spool or env.get("HEADWATER_SPOOL") or _home(env) / ".headwater" / "spool")
    wait = flush_seconds if flush_seconds is not None else _seconds(env)
    if transport is None and env.get("OPENLINEAGE_DISABLED", "").strip().lower() in {"true", "1", "yes"}:
        return Destination(transport="none", spool=folder, source="OPENLINEAGE_DISABLED")
    kind = transport or env.get("HEADWATER_TRANSPORT", "http").strip().lower()
    if kind not in _TRANSPORTS:
        log.warning("HEADWATER_TRANSPORT is %r, not one of %s: http is used", kind, ", ".join(_TRANSPORTS))
        kind = "http"
    if kind == "file":
        target = file or env.get("HEADWATER_EVENTS_FILE")
        if target:
            return Destination(transport="file", file=Path(target), spool=folder, flush_seconds=wait)
        log.warning("HEADWATER_TRANSPORT is file but HEADWATER_EVENTS_FILE is not set: events stay in %s", folder)
        kind = "spool"
    if kind != "http":
        return Destination(transport=kind, spool=folder, flush_seconds=wait, source="HEADWATER_TRANSPORT")
    address, key, source = _address(env, url, api_key)
    whole = lineage_url(address, env.get("OPENLINEAGE_ENDPOINT", ENDPOINT) if source == "OPENLINEAGE_URL" else ENDPOINT)
    if whole is None:
        log.warning("%s is %r, which is not an http address: events stay in %s", source, address, folder)
        return Destination(transport="spool", spool=folder, flush_seconds=wait, source=source)
    return Destination(transport="http", url=whole, api_key=key, spool=folder, flush_seconds=wait, source=source)


def lineage_url(address: str, endpoint: str = ENDPOINT) -> str | None:
    """The whole address of `POST …/lineage` for a server given with or without it; None when it is not http(s).

    `h:5000`, `http://h:5000`, `http://h:5000/` and `http://h:5000/api/v1/lineage` are the same; another path is a prefix.
    """
    text = address.strip()
    parts = urlsplit(text if "://" in text else f"http://{text}")
    try:
        usable = parts.scheme.lower() in {"http", "https"} and bool(parts.hostname) and (parts.port or 80) > 0
    except ValueError:  # a port that is not a number
        return None
    if not usable:
        return None
    path = parts.path.rstrip("/")
    if not path.endswith("/lineage"):
        path = f"{path}/{endpoint.strip('/')}"
    return urlunsplit((parts.scheme.lower(), parts.netloc.rpartition("@")[2], path, "", ""))


def _address(env: Mapping[str, str], url: str | None, api_key: str | None) -> tuple[str, str | None, str]:
    if url:
        return url, api_key or env.get("HEADWATER_API_KEY"), "argument"
    if "HEADWATER_URL" in env:
        return env["HEADWATER_URL"], api_key or env.get("HEADWATER_API_KEY"), "HEADWATER_URL"
    if "OPENLINEAGE_URL" in env:
        return env["OPENLINEAGE_URL"], api_key or env.get("OPENLINEAGE_API_KEY"), "OPENLINEAGE_URL"
    path = _home(env) / ".dk" / "config.yaml"
    lineage = _dk_config(path)
    if lineage.get("endpoint"):
        return lineage["endpoint"], api_key or lineage.get("api_key"), str(path)
    return DEFAULT_URL, api_key or env.get("HEADWATER_API_KEY"), "default"


def _dk_config(path: Path) -> dict[str, str]:
    """`lineage:` of the DataKit configuration; empty when there is none or it cannot be read (one log line)."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        log.warning("%s cannot be read and is ignored: %s", path, error)
        return {}
    import yaml  # 30 ms: only for those who have the file

    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        log.warning("%s is not YAML and is ignored: %s", path, " ".join(str(error).split()))
        return {}
    lineage = found.get("lineage", {}) if isinstance(found, dict) else None
    if not isinstance(lineage, dict):
        log.warning("%s is ignored: expected `lineage:` with `backend`, `endpoint`, `api_key`", path)
        return {}
    return {str(key): str(value) for key, value in lineage.items() if isinstance(value, str | int)}


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
