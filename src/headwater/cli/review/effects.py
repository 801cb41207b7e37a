"""The effects of a review by the tables that have them."""

from headwater.cli.review.edits import Effect
from headwater.cli.review.texts import fits
from headwater.columns.result import TableName


class Effects(dict[TableName, Effect]):
    """Effects by the key of a table."""

    def __init__(self) -> None:
        super().__init__()
        self._by_last: dict[str, list[TableName]] = {}

    def __setitem__(self, key: TableName, effect: Effect) -> None:
        if key not in self:
            self._by_last.setdefault(key[-1], []).append(key)
        super().__setitem__(key, effect)

    def find(self, key: TableName) -> Effect | None:
        """Return what a table met, by its name or by the only other one that ends in it or in which it ends."""
        if key in self:
            return self[key]
        fitting = [other for other in self._by_last.get(key[-1], ()) if fits(key, other)]
        return self[fitting[0]] if len(fitting) == 1 else None
