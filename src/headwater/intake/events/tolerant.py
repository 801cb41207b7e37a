"""Accept events that nobody waits for: from a queue, or from the dead letters. Whatever is wrong with one, the answer says it."""

from collections.abc import Sequence

from headwater import telemetry
from headwater.errors import HeadwaterError
from headwater.intake.events.accept import Accepted, Intake, Refused
from headwater.intake.events.bisection import singled_out
from headwater.intake.events.claims import collisions
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
        """An event that makes the code fail is singled out, so that it stops nobody else."""
        answer = Accepted([], [])
        done = 0

        async def attempt(run: Sequence[bytes]) -> None:
            nonlocal done
            told = await self._intake.each(run)
            answer.receipts.extend(told.receipts)
            answer.refused.extend(Refused(one.index + done, one.reason, one.code) for one in told.refused)
            done += len(run)

        def alone(place: int, error: Exception) -> None:
            nonlocal done
            told = f"{type(error).__name__}: {error}"
            telemetry.say(telemetry.EventRefused("", told), error)  # with its traceback
            answer.refused.append(Refused(place, told, UNEXPECTED))
            done += 1

        await singled_out(bodies, attempt, Exception, alone, never=(HeadwaterError,))
        return answer


def joined(left: Accepted, right: Accepted, half: int) -> Accepted:
    """One answer of two, the second's places moved by `half`."""
    moved = [Refused(one.index + half, one.reason, one.code) for one in right.refused]
    return Accepted(left.receipts + right.receipts, left.refused + moved)
