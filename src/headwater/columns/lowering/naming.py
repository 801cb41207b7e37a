"""Names for outputs that have none: the text of the expression, as most products call such a column.

The parser's tree does not say where an expression stood; the tokens do. Only the outermost SELECT is examined: the others' names are not visible.
"""

from typing import Any

from sqlglot.tokenizer_core import TokenType

from headwater.columns import form

_OPEN = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSE = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_ENDS = frozenset(
    {TokenType.FROM, TokenType.WHERE, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.GROUP_BY,
     TokenType.ORDER_BY, TokenType.LIMIT, TokenType.INTO, TokenType.LATERAL, TokenType.QUALIFY, TokenType.HAVING}
)  # fmt: skip
_BEFORE = frozenset({TokenType.DISTINCT, TokenType.ALL})
_BY_FUNCTION = frozenset({"postgres", "redshift", "materialize", "risingwave"})
_LONGEST = 200


def name_outputs(what: form.Form, tokens: list[Any], text: str, parser: str) -> None:
    """Gives the nameless outputs of a query or a written query their text, or their function where the product (`parser`) does so.

    Otherwise it stays nameless.
    """
    if parser == "hive" or not isinstance(what, (form.QueryForm, form.WriteForm)):  # Hive: _c0, _c1 (`resolver`)
        return
    query: form.Query = what.query
    while isinstance(query, form.SetOperation):
        query = query.branches[0]
    if not isinstance(query, form.Select) or all(one.name for one in query.projections):
        return
    for pieces in _lists(tokens):
        if len(pieces) == len(query.projections):
            for one, piece in zip(query.projections, pieces, strict=True):
                if not one.name:
                    one.name, one.named = _called(piece, text, parser), False
            return


def _called(piece: list[Any], text: str, parser: str) -> str:
    if len(piece) == 1 and piece[0].token_type in {TokenType.STRING, TokenType.NUMBER}:
        quote = "'" if parser == "duckdb" and piece[0].token_type is TokenType.STRING else ""
        return f"{quote}{piece[0].text}{quote}"
    if parser in _BY_FUNCTION:
        first = piece[0]
        if len(piece) > 1 and piece[1].token_type is TokenType.L_PAREN and first.text.replace("_", "").isalnum():
            return str(first.text).lower()
        if first.token_type is TokenType.CASE:
            return "case"
        if len(piece) > 1 and piece[1].token_type is TokenType.DCOLON:
            return str(first.text).lower()
        return "?column?"
    return " ".join(text[piece[0].start : piece[-1].end + 1].split())[:_LONGEST]


def _lists(tokens: list[Any]) -> list[list[list[Any]]]:
    """The SELECT lists, outermost first, each as the tokens of its entries."""
    found: list[tuple[int, list[list[Any]]]] = []
    depth = 0
    opened: list[tuple[int, list[list[Any]]]] = []
    for token in tokens:
        kind = token.token_type
        if kind in _CLOSE:
            depth -= 1
            while opened and opened[-1][0] > depth:
                opened.pop()
        if opened and opened[-1][0] == depth and kind in _ENDS:
            opened.pop()
        if opened:
            entries = opened[-1][1]
            if opened[-1][0] == depth and kind is TokenType.COMMA:
                entries.append([])
            elif not (kind in _BEFORE and entries == [[]]):
                entries[-1].append(token)
            for _, outer in opened[:-1]:
                outer[-1].append(token)
        if kind is TokenType.SELECT:
            opened.append((depth, [[]]))
            found.append((depth, opened[-1][1]))
        if kind in _OPEN:
            depth += 1
    found.sort(key=lambda one: one[0])
    return [[entry for entry in entries if entry] for _, entries in found]
