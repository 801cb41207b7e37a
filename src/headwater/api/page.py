"""The web page: files that `web/` builds into `static/`, with headers that let no foreign script run."""

from importlib import resources
from pathlib import Path

from litestar import MediaType, Response, get
from litestar.datastructures import State
from litestar.params import FromPath

_CONTENT_SECURITY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src 'self' blob:; "
    "base-uri 'self'; frame-ancestors "
)
_HEADERS = {
    "content-security-policy": _CONTENT_SECURITY + "'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
_TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
    ".png": "image/png", ".woff2": "font/woff2", ".json": "application/json", ".map": "application/json", ".ico": "image/x-icon",
}  # fmt: skip
# What other pages may frame: the rest of the page makes changes, which a frame could trick a person into.
_EMBEDDABLE = ("/embed/lineage/", "/embed/datasets/", "/embed/status")
_NOT_EMBEDDED = "Nothing may be embedded: HEADWATER_EMBED__FRAME_ANCESTORS is not set, or the address is not of a graph, a dataset or the status."
_MISSING = "The page is not built. Run `make web` in a checkout. The API is at /api/v2 and its description at /schema."


def folder() -> Path:
    return Path(str(resources.files("headwater.api").joinpath("static")))


def _file(root: Path, path: str) -> Path | None:
    """Return the file of this path below the root; None if there is none or the path is invalid."""
    try:
        wanted = (root / path.lstrip("/")).resolve()
        return wanted if wanted.is_relative_to(root) and wanted.is_file() else None
    except (OSError, ValueError):  # too long, or with a null
        return None


@get(["/", "/{path:path}"], include_in_schema=False, sync_to_thread=False, opt={"role": "anyone"})
def page(state: State, path: FromPath[str] = "") -> Response[bytes]:
    """Return a file of the page; for any other path the page itself, which reads its state from the address.

    Its links are relative, so that it works below any prefix that a proxy adds. What they are relative to follows from how deep the path is.
    """
    headers = _HEADERS
    if path.startswith("/embed/"):
        ancestors = state.settings.embed.frame_ancestors
        if not ancestors or not path.startswith(_EMBEDDABLE):
            return Response(_NOT_EMBEDDED.encode(), status_code=404, media_type=MediaType.TEXT, headers=_HEADERS)
        headers = _HEADERS | {"content-security-policy": _CONTENT_SECURITY + ancestors}
    root = folder().resolve()
    wanted = _file(root, path)
    if wanted is None:
        if path.startswith("/assets/"):
            return Response(b"not found", status_code=404, media_type=MediaType.TEXT)
        wanted = root / "index.html"
    if not wanted.is_file():
        return Response(_MISSING.encode(), media_type=MediaType.TEXT, headers=_HEADERS)
    # Names under assets/ contain a hash of the content, so browsers may cache them for ever.
    cache = "public, max-age=31536000, immutable" if "assets" in wanted.parts else "no-cache"
    content = wanted.read_bytes()
    if wanted.suffix == ".html":
        base = "../" * (path.count("/") - 1) or "./"
        content = content.replace(b'<base href="./" />', f'<base href="{base}" />'.encode())
    return Response(
        content,
        media_type=_TYPES.get(wanted.suffix, "application/octet-stream"),
        headers=headers | {"cache-control": cache},
    )
