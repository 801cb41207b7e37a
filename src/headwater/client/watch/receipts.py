"""Check the receipts in a reply: accepted, duplicate, refused. Pure.

An acknowledged event must be a duplicate when it is sent again; if it is new, the server had lost it. An event that was never sent
must be new; if it is a duplicate, a proxy sent it twice. After a lost first reply, both are right.
"""

from collections.abc import Iterator
from typing import Any

from headwater.client.watch.scene import Delivery, Finding


class Ledger:
    """The events of one scene, by position: acknowledged, refused, or sent without an answer."""

    def __init__(self) -> None:
        self.acknowledged: set[int] = set()
        self.refused: set[int] = set()
        self.uncertain: set[int] = set()

    def unanswered(self, delivery: Delivery) -> None:
        """Note that the request may or may not have arrived."""
        self.uncertain.update(delivery.events)

    def refuse(self, delivery: Delivery, why: str) -> Iterator[Finding]:
        """Note that the server refused all of it for good."""
        self.refused.update(delivery.events)
        yield "refused", f"{len(delivery.events)} events were refused: {why}"

    def settle(self, delivery: Delivery, reply: Any) -> Iterator[Finding]:
        """Record the server's 2xx reply, and return its mistakes."""
        refused: dict[int, str] = {}
        if delivery.batch:
            try:
                refused = {item["index"]: str(item["reason"]) for item in reply["failed_events"]}
                receipts = list(reply["receipts"])
            except (KeyError, TypeError) as error:
                self.acknowledged.update(delivery.events)
                yield "wrong_reply", f"the reply to a batch is not of its shape: {type(error).__name__} {error}"
                return
        else:
            receipts = [reply]
        kept = [position for index, position in enumerate(delivery.events) if index not in refused]
        for index, reason in refused.items():
            self.refused.add(delivery.events[index])
            yield "refused", f"event {delivery.events[index]} was refused: {reason}"
        if len(receipts) != len(kept):
            yield "wrong_reply", f"{len(receipts)} receipts for {len(kept)} events"
        for position, receipt in zip(kept, receipts, strict=False):
            duplicate = receipt.get("duplicate") if isinstance(receipt, dict) else None
            if not isinstance(duplicate, bool):
                yield "wrong_reply", f"event {position} has no receipt that says whether it is a duplicate"
            elif position in self.acknowledged and not duplicate:
                yield "lost_event", f"event {position} was acknowledged, but is unknown now"
            elif duplicate and position not in self.acknowledged | self.uncertain:
                yield "doubled_event", f"event {position} was sent for the first time, but is already known"
            self.acknowledged.add(position)
