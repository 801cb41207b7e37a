"""A plan on a server, for a worker: take, renew and end items over HTTP.

Each call is one request, which a worker can repeat. Does not retry by itself, and does not know what an item runs.
"""

from collections.abc import Set
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.client.ask import ask
from headwater.errors import InvalidQuestion

RERUN, RESTORE = "rerun", "restore"
_AT_ONCE = 0.001  # seconds: the shortest lease
_TIMEOUT = 30.0


class Makes(msgspec.Struct, frozen=True):
    """Instances of one entity."""

    entity: str
    instances: list[str]


class Restore(msgspec.Struct, frozen=True):
    """An instance that goes back to the version of the report `version`, in `storage`; its present one is in `current`, None if not reported. The
    other fields are for the report of the new version.
    """

    entity: str
    instances: list[str]
    version: int
    storage: dict[str, Any]
    current: dict[str, Any] | None
    restored_from: int
    seq: int
    reads: list[Makes]
    code: str | None
    fingerprint: str | None
    states: list[str]
    rows: int | None
    bytes: int | None
    right: bool


class Item(msgspec.Struct, frozen=True):
    """An item that a worker took for the `attempt`-th time. `runs`: periods of the producer; `start` and `end`: of the first and the last, None
    without any. `before`: the run of an abandoned attempt, which may still be running. `restore`: set if that is the action.
    """

    plan: str
    number: int
    attempt: int
    action: str
    producer: str | None
    makes: list[Makes]
    runs: list[str]
    start: str | None
    end: str | None
    before: str
    restore: list[Restore] = []

    @property
    def about(self) -> str:
        """Return it for display: `reads 2024-03-06..2024-03-07`."""
        return _about(self.makes)


class Work(msgspec.Struct, frozen=True):
    """Items to do. `state`: of the plan. `wait`: more will come without action. `skipped`: items that turned out to be right. `opens`: before that
    time no item is handed out.
    """

    state: str
    items: list[Item]
    skipped: int
    wait: bool
    opens: str | None = None


class Ended(msgspec.Struct, frozen=True):
    """`item`: done, failed or skipped, as the server decides; running while it waits for the report of what was made."""

    item: str
    note: str


class Progress(msgspec.Struct, frozen=True):
    """The progress of a plan. `opens`: when items may begin again; None if they may now."""

    id: str
    state: str
    items: int
    done: int
    skipped: int
    failed: int
    running: int
    waiting: int
    opens: str | None = None


class PlannedItem(msgspec.Struct, frozen=True):
    """An item with its result. `needs`: numbers of the items that come before, `3..7`; `state`: waiting, running, done, skipped or failed."""

    number: int
    state: str
    action: str
    producer: str | None
    makes: list[Makes]
    level: int
    needs: list[str]
    note: str

    @property
    def about(self) -> str:
        """Return it for display: `reads 2024-03-06..2024-03-07`."""
        return _about(self.makes)

    @property
    def over(self) -> bool:
        """Return whether the item's instances are right: it is done or skipped."""
        return self.state in {"done", "skipped"}


class Page(msgspec.Struct, frozen=True):
    """The progress of a plan, and some of its items."""

    plan: Progress
    items: list[PlannedItem]


class _Held(msgspec.Struct):
    held: bool


class _State(msgspec.Struct):
    state: str


class PlanOnServer:
    """One plan. Every method raises what `headwater.client.ask` does; after ServerUnavailable, a retry may help."""

    def __init__(self, url: str, plan: str, api_key: str | None = None) -> None:
        self.id = plan
        self._url, self._key = url, api_key

    def progress(self) -> Progress:
        return self.page(0, 1).plan

    def page(self, offset: int, limit: int) -> Page:
        """Return at most `limit` items from number `offset` on."""
        return msgspec.json.decode(self._ask("", method="GET", offset=offset, limit=limit), type=Page)

    def numbers_without(self, entities: Set[str], most: int = 1000) -> list[int]:
        """Return the numbers of the first items that are not over and make none of these entities."""
        found: list[int] = []
        for offset in range(0, self.progress().items, most):
            for item in self.page(offset, most).items:
                if not item.over and not entities & {each.entity for each in item.makes}:
                    found.append(item.number)
            if len(found) >= most:
                break
        return found[:most]

    def apply(self) -> str:
        """Let items be taken from now on; return the new state."""
        return msgspec.json.decode(self._ask("/apply", {}), type=_State).state

    def retry(self) -> str:
        """Put failed items back into the queue; return the new state."""
        return msgspec.json.decode(self._ask("/retry", {}), type=_State).state

    def take(
        self,
        worker: str,
        *,
        limit: int,
        lease: float,
        producers: list[str],
        actions: list[str],
        numbers: list[int] | None = None,
    ) -> Work:
        """Take items that may run now, for `lease` seconds: reruns of these producers, and restores of any. `numbers`: only these
        items.
        """
        wanted: dict[str, object] = {
            "worker": worker,
            "limit": limit,
            "lease_seconds": lease,
            "producers": producers,
            "actions": actions,
        }
        if numbers is not None:
            wanted["numbers"] = numbers
        return msgspec.json.decode(self._ask("/take", wanted), type=Work)

    def renew(self, item: Item, run: str, lease: float) -> bool:
        """Renew the lease, with this run. False if another worker has the item, or it is over."""
        wanted = {"attempt": item.attempt, "run": run, "lease_seconds": lease}
        return msgspec.json.decode(self._ask(f"/items/{item.number}/renew", wanted), type=_Held).held

    def give_back(self, item: Item) -> None:
        """Release the item for any worker, without an outcome: if it is right by then, it is skipped."""
        self.renew(item, "", _AT_ONCE)

    def end(self, item: Item, *, failed: bool, run: str, note: str, settled: bool = True) -> Ended | None:
        """End the item; return the server's decision. None if another worker has the item. `settled` False: its report may still come, so it
        has not failed yet.
        """
        wanted = {"attempt": item.attempt, "failed": failed, "run": run, "note": note, "settled": settled}
        try:
            return msgspec.json.decode(self._ask(f"/items/{item.number}/end", wanted), type=Ended)
        except InvalidQuestion:  # 422: another attempt has it
            return None

    def _ask(self, path: str, body: object = None, *, method: str = "POST", **parameters: Any) -> bytes:
        given = None if body is None else msgspec.json.encode(body)
        return ask(
            self._url,
            f"/api/v2/plans/{quote(self.id, safe='')}{path}",
            parameters,
            api_key=self._key,
            timeout=_TIMEOUT,
            method=method,
            body=given,
        )


def _about(makes: list[Makes]) -> str:
    return "; ".join(f"{each.entity} {', '.join(each.instances)}" for each in makes)
