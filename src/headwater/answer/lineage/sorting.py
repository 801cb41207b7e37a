"""The page and the order that a caller asks of a list: the same words for every list of figures."""

from collections.abc import Collection, Sequence

import msgspec

from headwater.errors import InvalidQuestion

ORDERS = ("asc", "desc")


class Page(msgspec.Struct, frozen=True):
    """`sort` None is the list's own; `order` None is what one expects of it: names and waves upwards, figures downwards."""

    sort: str | None = None
    order: str | None = None
    limit: int = 100
    offset: int = 0

    def sorted_by(self, sorts: Sequence[str], upwards: Collection[str] = ("name",)) -> tuple[str, bool]:
        """Return one of `sorts` (the first is the list's own), and whether it is descending. Raises InvalidQuestion for another."""
        sort = checked(self.sort, sorts, "sort") or sorts[0]
        order = checked(self.order, ORDERS, "order")
        return sort, order == "desc" if order else sort not in upwards


def checked(value: str | None, known: Collection[str], parameter: str) -> str | None:
    """The value, if it is one of those that are known. Raises InvalidQuestion."""
    if value is not None and value not in known:
        raise InvalidQuestion(f"{parameter} {value!r} is not one of {', '.join(known)}", parameter=parameter)
    return value
