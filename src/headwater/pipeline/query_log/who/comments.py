r"""The comments of a statement that may say who ran it, found where the text is looked at anyway, and cut into texts.

Tools put theirs before the statement or after it, so only the two ends of a text are looked at, and only what holds a mark some tool's
module knows is kept: a comment like `-- run of 2026-01-01 at 10:31` would make every query a case of its own. Comments between two parts
of a statement are not looked for.
"""

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# Characters at either end in which a comment must lie whole.
REACH = 16_384

# Drivers wrap what a tool sent: PREPARE s FROM …, DECLARE c CURSOR FOR …, EXPLAIN …
_WRAP = r"(?i:(?:prepare\s{1,5}\S{1,200}\s{1,5}from|declare\s{1,5}\S{1,200}\s{1,5}cursor(?:\s{1,5}\w{1,20}){0,4}\s{1,5}for|explain)\s{1,5})?"
_LEADING = re.compile(rf"\s*+{_WRAP}((?:--[^\n]*+|#[^\n]*+|/\*(?s:.*?)\*/|[\s;]++)++)")
# The characters that may follow the last comment.
_AFTER = " ;\t\r\n"

_OPENING = re.compile(r"--|/\*|#")


def find_comments(texts: "pa.Array", marks: tuple[str, ...]) -> "pa.Array":
    """`statement_comments` of each text. Only texts that hold a mark anywhere become objects of Python."""
    import pyarrow as pa
    import pyarrow.compute as pc

    held = pc.match_substring_regex(texts, _any(marks))
    if not pc.any(held).as_py():
        return pa.nulls(len(texts), pa.string())
    said = pa.array([statement_comments(text, marks) for text in texts.filter(held).to_pylist()], pa.string())
    return pc.replace_with_mask(pa.nulls(len(texts), pa.string()), pc.fill_null(held, False), said)


@functools.cache
def _any(marks: tuple[str, ...]) -> str:
    return f"(?i:{'|'.join(map(re.escape, marks))})"


def with_comments(table: "DataFrame", marks: tuple[str, ...], *, statement: str, name: str) -> "DataFrame":
    """The table with the column `name`: the comments at both ends of `statement` that hold one of the marks, as they stand, one after
    another; null when there are none."""
    import pyarrow as pa
    from pyspark.sql import functions as F  # noqa: N812

    def extract_comments(texts: pa.Array) -> pa.Array:
        return find_comments(texts, marks)

    # Bytes that are no text have no characters.
    return table.withColumn(name, F.arrow_udf(extract_comments, "string")(F.make_valid_utf8(F.col(statement))))


def comments(text: str) -> tuple[str, ...]:
    """The texts of these comments, without what opens and closes them. Lines that follow each other and hold one JSON object are joined."""
    found: list[str] = []
    at, size = 0, len(text)
    open_line = False
    while at < size and (opening := _OPENING.search(text, at)):
        gap = text[at : opening.start()].strip()
        if opening[0] == "/*":
            end = text.find("*/", opening.end())
            end = size if end < 0 else end
            found.append(text[opening.end() : end])
            at, open_line = end + 2, False
            continue
        end = text.find("\n", opening.end())
        end = size if end < 0 else end
        body = text[opening.end() : end]
        if open_line and not gap:
            found[-1] = f"{found[-1]}\n{body}"
        else:
            found.append(body)
        open_line = found[-1].count("{") > found[-1].count("}")
        at = end + 1
    return tuple(dict.fromkeys(body for body in found if body.strip()))


def statement_comments(statement: str, marks: tuple[str, ...]) -> str | None:
    """The comments at both ends of a statement that hold one of the marks, as they stand, one after another; None when there are none.

    `marks`: what to look for, in lower case; letter case is ignored. At most 2 × REACH characters; a comment that is longer is not seen.
    """
    leading = _LEADING.match(statement[:REACH])
    tail = statement[-REACH:].rstrip(_AFTER)
    cut = tail.rfind("/*")
    line = tail.rpartition("\n")[2]
    trailing = tail[cut:] if tail.endswith("*/") and cut >= 0 else line[line.find("--") :] if "--" in line else ""
    kept = [part for part in ((leading[1] if leading else ""), trailing) if any(mark in part.lower() for mark in marks)]
    return "\n".join(kept) or None
