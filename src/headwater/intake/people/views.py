"""Save and remove views, each with its row in the audit log."""

from urllib.parse import urlsplit

from headwater.errors import InvalidQuestion, NotFound
from headwater.intake.people.audit import Change
from headwater.store.database import Database
from headwater.store.people import audit as audit_store
from headwater.store.people import views as store
from headwater.store.people.views import ViewRow

MOST = 500
"""Views of one person, or of everyone."""
_LONGEST_NAME, _LONGEST_ADDRESS = 80, 8000


async def save(database: Database, *, owner: str, name: str, address: str, by: Change) -> ViewRow:
    """Save a view. Raises InvalidQuestion for a name or an address that is none, or when the owner has too many."""
    name = check_name(name)
    _check_address(address)
    async with database.transaction() as connection:
        if await store.count(connection, owner, name) >= MOST:
            raise InvalidQuestion(f"there are {MOST} views already; remove one first", parameter="name")
        await audit_store.append(connection, by)
        return await store.store(connection, owner, name, address, by.actor)


async def remove(database: Database, *, owner: str, name: str, by: Change) -> ViewRow:
    """Remove a view. Raises NotFound."""
    async with database.transaction() as connection:
        removed = await store.remove(connection, owner, name)
        if removed is None:
            raise NotFound(f"no {'view of yours' if owner else 'shared view'} is named {name[:100]!r}", name=name[:100])
        await audit_store.append(connection, by)
        return removed


def check_name(name: str) -> str:
    """Return the name without blanks around it. Raises InvalidQuestion."""
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidQuestion(f"a view's name has 1 to {_LONGEST_NAME} printable characters", parameter="name")
    return name


def _check_address(address: str) -> None:
    """Refuse what leads away from this page: a view of one person is a link that others click."""
    parts = urlsplit(address)
    path = parts.path
    # A colon in the first segment would be read as a scheme by a browser; names of the page have theirs behind a slash.
    leads_away = (
        parts.scheme or parts.netloc or path.startswith("/") or "\\" in path or ":" in path.split("/", 1)[0]
        or ".." in path.split("/") or not address.isprintable()
    )  # fmt: skip
    if not path or leads_away or len(address) > _LONGEST_ADDRESS:
        raise InvalidQuestion(
            f"{address[:100]!r} is no address of the page; give the path below its start, as catalogue/datasets?tag=pii",
            parameter="address",
        )
