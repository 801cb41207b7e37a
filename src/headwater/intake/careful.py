"""Accept events that nobody waits for: from a queue, or from the dead letters. Whatever is wrong with one, the answer says it."""

from collections.abc import Sequence

from headwater import telemetry
from headwater.errors import HeadwaterError
from headwater.intake.accept import Accepted, Intake, Refused
from headwater.intake.claims import collisions
from headwater.store.database import Database

# Codes that are no error class: nobody raises them.
UNEXPECTED = "unexpected_error"
ID_COLLISION = "id_collision"


class Careful:
    """An `Intake` that refuses what claims another's item, and what makes the code itself fail."""

    def __init__(self, database: Database, live_runs: int = 10) -> None:
        self._database = database
        self._intake = Intake(database, live_runs)

    async def __call__(self, bodies: Sequence[bytes]) -> Accepted:
        """As `Intake.each`. Raises DatabaseUnavailable, and then nothing may be taken as kept."""
        refused = {
            one.index: Refused(one.index, one.reason, ID_COLLISION) for one in await collisions(self._database, bodies)
        }
        places = [index for index in range(len(bodies)) if index not in refused]
        answer = await self._apart([bodies[index] for index in places])
        moved = [Refused(places[one.index], one.reason, one.code) for one in answer.refused]
        return Accepted(answer.receipts, sorted([*refused.values(), *moved], key=lambda one: one.index))

    async def _apart(self, bodies: Sequence[bytes]) -> Accepted:
        """An event that makes the code fail is found by halves, so that it stops nobody else."""
        if not bodies:
            return Accepted([], [])
        try:
            return await self._intake.each(bodies)
        except HeadwaterError:
            raise
        except Exception as error:  # noqa: BLE001 - logged with its traceback; the event goes to the dead letters
            if len(bodies) == 1:
                told = f"{type(error).__name__}: {error}"
                telemetry.say(telemetry.EventRefused("", told), error)
                return Accepted([], [Refused(0, told, UNEXPECTED)])
        half = len(bodies) // 2
        return joined(await self._apart(bodies[:half]), await self._apart(bodies[half:]), half)


def joined(left: Accepted, right: Accepted, half: int) -> Accepted:
    """One answer of two, the second's places moved by `half`."""
    moved = [Refused(one.index + half, one.reason, one.code) for one in right.refused]
    return Accepted(left.receipts + right.receipts, left.refused + moved)
