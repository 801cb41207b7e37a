"""The server that commands talk to: its address, and requests to it."""

import os
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.cli.moment import moment
from headwater.errors import Ambiguous, NotFound

URL_HELP = "Ask the server at this address. Default: HEADWATER_URL, OPENLINEAGE_URL or the one `headwater up` started."


def address(url: str | None) -> str:
    """Return the base address: the given one, else the environment's, else the local server's."""
    if url:
        return url
    from headwater.client import config

    found = config.destination()
    if found.source == "default" and (running := local_address()):
        return running
    return next((each.base for each in found.each if each.base), config.DEFAULT_URL)


def use_local() -> None:
    """Send events of this process and its children to the server that `up` started, unless another one is configured."""
    from headwater.client import config

    if config.destination().source == "default" and (running := local_address()):
        os.environ["HEADWATER_URL"] = running


def local_address() -> str | None:
    """Return the address of the server that `headwater up` started."""
    from headwater.cli.process import read

    state = read()
    return state.url if state else None


def ask(url: str | None, path: str, **parameters: object) -> bytes:
    """Return the server's answer."""
    from headwater.client.ask import ask as client_ask

    return client_ask(address(url), path, parameters, api_key=key(url))


def send(url: str | None, method: str, path: str, body: object = None, **parameters: object) -> bytes:
    """Send a change, and return the server's answer."""
    from headwater.client.ask import ask as client_ask

    given = None if body is None else msgspec.json.encode(body)
    return client_ask(address(url), path, parameters, api_key=key(url), method=method, body=given)


def key(url: str | None) -> str | None:
    """Return `HEADWATER_API_KEY`, else the key that the environment has with the address."""
    from headwater.client import config

    key = os.environ.get("HEADWATER_API_KEY")
    if key or url:
        return key
    return next((each.api_key for each in config.destination().each if each.transport == "http"), None)


def get(url: str | None, path: str, **parameters: object) -> Any:
    """Return the server's answer, decoded."""
    return msgspec.json.decode(ask(url, path, **parameters))


def resolve(url: str | None, name: str, kind: str | None = None) -> Any:
    """Resolve a name to `{"id", "type", "namespace", "name", …}`.

    Raises Ambiguous with the candidates, NotFound with the nearest names.
    """
    if "/" in name and (location := as_location(name)):
        found = get(url, "/api/v2/resolve", name=location, type=kind)
        if found["match"]:
            return found["match"]
    found = get(url, "/api/v2/resolve", name=name, type=kind)
    if found["match"]:
        return found["match"]
    if found["candidates"]:
        raise Ambiguous(
            f"{name!r} could be any of {len(found['candidates'])}; give a longer name or a whole node id:",
            candidates=[item["id"] for item in found["candidates"]],
        )
    near = [item["id"] for item in found["suggestions"]]
    raise NotFound(
        f"nothing is named {name!r}; {'the nearest:' if near else _nothing_near(url, name)}", suggestions=near
    )


def _nothing_near(url: str | None, name: str) -> str:
    """Return advice about a name that is like no other."""
    from headwater.cli.output import counted

    counts = get(url, "/api/v2/status")["counts"]
    if not counts["datasets"] and not counts["jobs"]:
        return "nothing has been recorded yet: run a package with `headwater run`, or send events to the server"
    return (
        f"no name of {counted(counts['datasets'], 'dataset')} and {counted(counts['jobs'], 'job')} is near it: search for a word of it with "
        f"`headwater search`, or list them with `headwater datasets`"
    )


def as_location(name: str) -> str | None:
    """Return the node id that an existing path, or a URI, would have."""
    from headwater.model.names import from_location

    if "://" in name or os.path.exists(name):  # noqa: PTH110
        return from_location(name).node_id
    return None


def path(*segments: str) -> str:
    """Return an API path with every segment encoded."""
    return "/api/v2/" + "/".join(quote(segment, safe="") for segment in segments)


def time(text: str | None) -> str | None:
    """Convert a time as people write it (`moment`) to the API's form. Raises InvalidQuestion."""
    return None if text is None else moment(text).isoformat()
