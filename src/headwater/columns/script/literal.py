"""The text that string literals hold, joined where they are joined, and where each of its characters is written. It runs nothing."""

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

STRINGS = {
    TokenType.STRING,
    TokenType.NATIONAL_STRING,
    TokenType.RAW_STRING,
    TokenType.NATIONAL_RAW_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.UNICODE_STRING,
}


def decoded(token: Token) -> str:
    """The tokenizer undoes doubled quotes and escapes."""
    return token.text


def lead(raw: str, text: str) -> int | None:
    """Return the number of characters before the text in its literal, or None if it is written otherwise than it reads."""
    if not text:
        return 0
    longest = min(len(raw) - len(text), 80)
    at = raw.find(text[:40], 0, longest + 40)
    while 0 <= at <= longest:
        if raw.startswith(text, at):
            return at
        at = raw.find(text[:40], at + 1, longest + 40)
    return None


def places(raw: str, text: str) -> list[int]:
    """Return where each character of the text is written in the literal."""
    begin = next((at + 1 for at, char in enumerate(raw) if char in "'\""), 1)
    quote = raw[begin - 1 : begin]
    found: list[int] = []
    at, last = begin, max(len(raw) - 1, 0)
    for char in text:
        found.append(min(at, last))
        if (raw[at : at + 2] == quote * 2 and char == quote) or (
            raw[at : at + 1] == "\\" and (char != "\\" or raw[at + 1 : at + 2] == "\\")
        ):
            at += 2
        else:
            at += 1
    return found or [0]


def fold(
    tokens: Sequence[Token], words: Sequence[str], low: int, high: int, known: Mapping[str, str | None]
) -> str | None:
    """Literals and variables of known text joined by `||`, `+` or CONCAT; None when any part is not known."""
    if words[low] == "CONCAT" and low + 1 < high and words[low + 1] == "(" and words[high - 1] == ")":
        low, high, joins = low + 2, high - 1, (",",)
    else:
        joins = ("||", "+")  # type: ignore[assignment]
    parts: list[str] = []
    at = low
    while at < high:
        if tokens[at].token_type in STRINGS:
            parts.append(tokens[at].text)
        else:
            name = tokens[at].text.lower()
            if words[at] in ("@", ":") and at + 1 < high:
                at += 1
                name = ("@" if words[at - 1] == "@" else "") + tokens[at].text.lower()
            value = known.get(name)
            if value is None:
                return None
            parts.append(value)
        at += 1
        if at < high:
            if words[at] not in joins:
                return None
            at += 1
            if at >= high:
                return None
    return "".join(parts)
