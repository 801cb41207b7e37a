"""Addresses as Marquez answers them: its Java client fails for the whole list if `java.net` cannot parse one. Pure."""

import re
from urllib.parse import quote

_CHARACTER = r"(?:[A-Za-z0-9_\-!.~'()*,;:$&+=?/@]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])"
_BEHIND = r"(?:[A-Za-z0-9_\-!.~'()*,;:$&+=?/@\[\]]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])"
_URI = re.compile(
    rf"(?:[A-Za-z][A-Za-z0-9+.\-]*:(?=[^#]))?(?!//(?:#|$))(?P<rest>{_CHARACTER.replace('?/', '/')}*)(?:\?{_BEHIND}*)?(?:#{_BEHIND}*)?",
    re.S,
)
_URL = re.compile(
    r"(?:https?|ftp|file)://(?:[^/?#@]*@)?(?:\[[0-9A-Fa-f:.]+\]|[^/?#:\[\]@\x00-\x20]*)(?::(?P<port>[^/?#]*))?(?:[/?#]|$)"
    r"|(?:https?|ftp|file):(?!//)|mailto:[^#]",
    re.IGNORECASE,
)
_KEPT = "_-!.~'()*,;:$&+=?/@"


def url(text: str | None) -> str | None:
    """Return an address that Java has a protocol for; None for `git@host:path`, `s3://…` and what is no address, as Marquez does."""
    if text is None or (found := _URL.match(text.strip())) is None:
        return None
    return text if not found["port"] or re.fullmatch(r"\d{1,9}", found["port"]) else None


def uri(text: str) -> str:
    """Return the address, encoded as far as a URI must be; one that is only a host and a port gets `http://`, as in Marquez."""
    for candidate in (text, f"http://{text}"):
        if _is_uri(candidate):
            return quote(candidate, safe=_KEPT + "%#[]")
    encoded = quote(text, safe=_KEPT)
    return encoded if _is_uri(encoded) else f"http://{encoded}"


def _is_uri(text: str) -> bool:
    found = _URI.fullmatch(text)
    if found is None or re.search(r"[\s\x00-\x1f\x7f]", text):
        return False
    # Without a scheme, a colon before the first slash would end one.
    return found.start("rest") > 0 or ":" not in re.split(r"[/?#]", text, maxsplit=1)[0]
