"""Messages on their way: leased to one process at a time, and noted as sent or as failed."""

import uuid
from typing import NamedTuple

from headwater.store import sqlfile
from headwater.store.database import Connection

_QUERIES = "alerts/messages"


class LeasedMessage(NamedTuple):
    """`body`: JSON text of what is sent, if a try before this one made it."""

    id: uuid.UUID
    alert: uuid.UUID
    rule: str
    stage: int
    address: str
    severity: str
    attempts: int
    body: str | None


async def lease(
    connection: Connection, owner: uuid.UUID, seconds: float, limit: int, *, mail: bool
) -> list[LeasedMessage]:
    """Take messages that are due; mails only if `mail`. What is needed no more is dropped first."""
    queries = sqlfile.load(_QUERIES)
    (is_due,) = await queries["due"].one(connection, mail=mail)
    if not is_due:
        return []
    await queries["drop_needless"].exec(connection)
    rows = await queries["lease"].many(connection, owner=owner, seconds=seconds, limit=limit, mail=mail)
    return [LeasedMessage(*row) for row in rows]


async def set_body(connection: Connection, id_: uuid.UUID, body: str) -> str:
    """Keep what is sent; return what holds, which another process may have made first."""
    (held,) = await sqlfile.load(_QUERIES)["set_body"].one(connection, id=id_, body=body)
    return str(held)


async def sent(connection: Connection, id_: uuid.UUID, owner: uuid.UUID) -> bool:
    return await sqlfile.load(_QUERIES)["sent"].exec(connection, id=id_, owner=owner) > 0


async def failed(
    connection: Connection, id_: uuid.UUID, owner: uuid.UUID, error: str, *, refused: bool, seconds: float
) -> bool:
    """Note why it was not sent; it is due again after so many seconds, unless the receiver will never take it."""
    return (
        await sqlfile.load(_QUERIES)["failed"].exec(
            connection, id=id_, owner=owner, error=clean(error), refused=refused, seconds=seconds
        )
        > 0
    )


def clean(text: str) -> str:
    """Return the text as PostgreSQL can store it, cut to 1,000 characters."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()[:1000]


async def counts(connection: Connection) -> dict[str, tuple[int, int]]:
    """Return by state how many messages there are, and how many of them failed before."""
    return {row[0]: (row[1], row[2]) for row in await sqlfile.load(_QUERIES)["counts"].many(connection)}
