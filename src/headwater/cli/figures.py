"""Lists of figures from the server, printed as a table, JSON or CSV: the options and formats that the commands share."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import comma_separated, output, server

Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV: all rows, unless --limit is given.")]
Namespace = Annotated[str | None, typer.Option(help="Show only this namespace.")]
Sort = Annotated[str | None, typer.Option(help="Sort by this figure, or by `name`.")]
Order = Annotated[str | None, typer.Option(help="Sort `asc` or `desc`. Default: what suits the figure.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Show at most this many rows. Default for a table: 50.")]
Offset = Annotated[int, typer.Option(min=0, help="Skip this many rows first.")]
_PAGE = 10_000
_TABLE = 50


class List:
    """One list of the server, fetched as the chosen format needs it."""

    def __init__(self, url: str | None, path: str, key: str, columns: tuple[str, ...], **question: object) -> None:
        self._url, self._path, self._key, self._columns, self._question = url, path, key, columns, question

    def fetch(self, *, as_json: bool, as_csv: bool, limit: int | None, offset: int) -> Any:
        """Return the answer to draw as a table; None if it was printed as JSON or CSV."""
        if as_csv:
            comma_separated.table(self._columns, self._all(limit, offset))
            return None
        body = server.ask(self._url, self._path, **self._question, limit=min(limit or _TABLE, _PAGE), offset=offset)
        if as_json:
            output.raw(body)
            return None
        return msgspec.json.decode(body)

    def _all(self, limit: int | None, offset: int) -> Iterator[dict[str, Any]]:
        """Yield all rows, page by page."""
        left = limit
        while left is None or left > 0:
            size = _PAGE if left is None else min(left, _PAGE)
            rows = server.get(self._url, self._path, **self._question, limit=size, offset=offset)[self._key]
            yield from rows
            if len(rows) < size:
                return
            offset += size
            left = None if left is None else left - size


def more(shown: int, total: int, offset: int) -> None:
    if total > shown:
        output.line(f"{shown:,} of {total:,}{f' from {offset + 1:,}' if offset else ''}; --limit shows more", "dim")


def money(amount: float | None) -> str | None:
    return None if amount is None else f"{amount:,.2f}"


def count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def share(value: float | None) -> str | None:
    return None if value is None else f"{value:.1%}"


def node(url: str | None, name: str | None, kind: str | None = None) -> str | None:
    return None if name is None else str(server.resolve(url, name, kind)["id"])
