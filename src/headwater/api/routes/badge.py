"""`/badge/NAME.svg`: the state of a dataset as a picture, for wikis and readmes. Off unless the settings allow it, because it asks for no key."""

from typing import Annotated
from urllib.parse import unquote
from xml.sax.saxutils import escape

from litestar import MediaType, Response, get
from litestar.datastructures import State
from litestar.params import PathParameter

from headwater.answer.alerts.badge import BadgeState

_COLOURS = {"fresh": "#2f9e62", "late": "#c98a1b", "doubted": "#c98a1b", "stalled": "#c98a1b"}
_BAD, _NONE = "#d03d3d", "#8b9a95"
_CALM = frozenset({"no rhythm", "dropped", "unknown"})
_LONGEST = 60
_OFF = "There are no badges: HEADWATER_EMBED__BADGES is not true."
_HEADERS = {
    "cache-control": "public, max-age=30",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}


@get("/badge/{name:str}", include_in_schema=False, opt={"role": "anyone"})
async def badge(state: State, name: Annotated[str, PathParameter(max_length=2000)]) -> Response[str]:
    """Return the badge of a dataset, by its name or an ending of it."""
    if not state.settings.embed.badges:
        return Response(_OFF, status_code=404, media_type=MediaType.TEXT)
    found = await state.badges.find(unquote(name).removesuffix(".svg"))
    return Response(draw(found), media_type="image/svg+xml", headers=_HEADERS)


def draw(found: BadgeState) -> str:
    """Draw a flat badge: the dataset at the left, its state at the right."""
    label = found.label if len(found.label) <= _LONGEST else f"{found.label[: _LONGEST - 1]}…"
    label = "".join(char if char.isprintable() else "?" for char in label)
    colour = _COLOURS.get(found.state, _NONE if found.state in _CALM else _BAD)
    left, right = _width(label), _width(found.state)
    name = escape(f"{label}: {found.state}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{name}"><title>{name}</title>'
        f'<rect width="{left}" height="20" fill="#3c4644"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{escape(label)}</text><text x="{left + right / 2:g}" y="14">{escape(found.state)}</text></g></svg>'
    )


def _width(text: str) -> int:
    return 12 + round(6.8 * len(text))
