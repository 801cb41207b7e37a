"""Files and folders whose names contain their instance: `/data/reads/{year}-{month}-{day}.csv`, `s3://lake/reads/{period}/`.

| in a pattern | stands for |
|---|---|
| `{year}` `{quarter}` `{month}` `{week}` `{day}` `{hour}` `{minute}` | digits |
| `{period}` | any text without `/`: a key of the entity, a date, a time |
| `*` | any text without `/` |

Only matching folders are entered. A matching folder counts if it has any file in it.
"""

import posixpath
import re
from collections.abc import Iterator

from headwater.capture.storage import fields
from headwater.capture.storage.folders import Folders, has_data, hidden, inside, reached, there
from headwater.capture.storage.listing import Listing
from headwater.errors import InvalidQuestion

_PART = re.compile(r"\{([^{}]*)\}|\*+|[^{}*]+|.")
_DIGITS = {"year": r"\d{4}", "quarter": r"[1-4]"}


def files(pattern: str) -> Listing:
    """List what matches a pattern. Raises InvalidQuestion if the pattern is invalid, NotFound if its folder is missing."""
    root, segments = _split(pattern)
    compiled = [_compiled(segment, pattern) for segment in segments]
    fields.check(list(dict.fromkeys(name for each in compiled for name in each.groupindex)))
    folders, path = reached(root)
    there(folders, path)
    listing = Listing(pattern)
    listing.texts = _walk(folders, path, compiled, segments, listing)
    return listing


def _split(pattern: str) -> tuple[str, list[str]]:
    """Return the folder before the first variable part, and the remaining parts."""
    scheme, separator, rest = pattern.rpartition("://")
    segments = rest.rstrip("/").split("/")
    fixed = next((place for place, each in enumerate(segments) if re.search(r"[{}*]", each)), len(segments) - 1)
    root = "/".join(segments[:fixed])
    if not root and not separator:
        root = "/" if rest.startswith("/") else "."
    segments = [each for each in segments[fixed:] if each]
    if not segments:
        raise InvalidQuestion(f"the pattern {pattern!r} names no file", pattern=pattern)
    return scheme + separator + root, segments


def _compiled(segment: str, pattern: str) -> re.Pattern[str]:
    found, names = "", set()
    parts = list(_PART.finditer(segment))
    for place, part in enumerate(parts):
        name = part[1]
        if name is None:
            if part[0] in {"{", "}"}:
                raise InvalidQuestion(f"a brace of {pattern!r} has no other", pattern=pattern)
            found += ".*" if part[0].startswith("*") else re.escape(part[0])
        elif name not in fields.FIELDS:
            raise InvalidQuestion(
                f"{{{name}}} of {pattern!r} is not a part of a time; use one of {', '.join(fields.FIELDS)}",
                pattern=pattern,
            )
        elif name in names:
            found += f"(?P={name})"
        else:
            # In `{month}{day}` each has two digits; if something separates them, `3` is valid too.
            beside = [each for each in (place - 1, place + 1) if 0 <= each < len(parts)]
            digits = r"\d{2}" if any(parts[each][1] not in {None, "period"} for each in beside) else r"\d{1,2}"
            found += f"(?P<{name}>{'.+?' if name == 'period' else _DIGITS.get(name, digits)})"
            names.add(name)
    return re.compile(found, re.DOTALL)


def _walk(
    folders: Folders, root: str, compiled: list[re.Pattern[str]], segments: list[str], listing: Listing
) -> Iterator[str]:
    waiting: list[tuple[str, int, dict[str, str]]] = [(root, 0, {})]
    while waiting:
        path, depth, known = waiting.pop()
        for name, is_folder in inside(folders, path):
            match = compiled[depth].fullmatch(name)
            found = match.groupdict() if match else {}
            # A part that is named twice must have the same value.
            fits = match is not None and all(known.get(part, value) == value for part, value in found.items())
            if not fits or (hidden(name) and not hidden(segments[depth])):
                listing.ignored += 1
                continue
            below = posixpath.join(path, name)
            if depth + 1 < len(compiled):
                if is_folder:
                    waiting.append((below, depth + 1, known | found))
                else:
                    listing.ignored += 1
            elif not is_folder or has_data(folders, below):
                yield fields.text(known | found)
            else:
                listing.ignored += 1
