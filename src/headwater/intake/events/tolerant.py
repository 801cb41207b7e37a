"""Accept events that have no client waiting for a reply: from a queue or its dead letters. The answer names every event it refuses."""

from collections.abc import Sequence

from headwater import telemetry
from headwater.errors import HeadwaterError
from headwater.intake.events.accept import Accepted, Intake, Refused
from headwater.intake.events.bisection import isolate_failures
from headwater.intake.events.claims import collisions
from headwater.store.database import Database

# Codes without an error class: they are never raised.
UNEXPECTED = "unexpected_error"
ID_COLLISION = "id_collision"


class TolerantIntake:
    """An `Intake` that also refuses an event that claims another writer's item, and an event on which the code fails."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._intake = Intake(database)

    async def __call__(self, bodies: Sequence[bytes]) -> Accepted:
        """Accept events as `Intake.accept_each` does. Raises DatabaseUnavailable; then assume that no event is stored."""
        refused = {
            collision.index: Refused(collision.index, collision.reason, ID_COLLISION)
            for collision in await collisions(self._database, bodies)
        }
        places = [index for index in range(len(bodies)) if index not in refused]
        answer = await self._accept_isolating([bodies[index] for index in places])
        moved = [Refused(places[refusal.index], refusal.reason, refusal.code) for refusal in answer.refused]
        return Accepted(answer.receipts, sorted([*refused.values(), *moved], key=lambda refusal: refusal.index))

    async def _accept_isolating(self, bodies: Sequence[bytes]) -> Accepted:
        """Accept events; one on which the code fails is isolated and refused, and the others are accepted."""
        answer = Accepted([], [])
        done = 0

        async def attempt(run: Sequence[bytes]) -> None:
            nonlocal done
            accepted = await self._intake.accept_each(run)
            answer.receipts.extend(accepted.receipts)
            answer.refused.extend(
                Refused(refusal.index + done, refusal.reason, refusal.code) for refusal in accepted.refused
            )
            done += len(run)

        def refuse(place: int, error: Exception) -> None:
            nonlocal done
            reason = f"{type(error).__name__}: {error}"
            telemetry.say(telemetry.EventRefused("", reason), error)  # with its traceback
            answer.refused.append(Refused(place, reason, UNEXPECTED))
            done += 1

        await isolate_failures(bodies, attempt, Exception, refuse, never=(HeadwaterError,))
        return answer


def merge_accepted(left: Accepted, right: Accepted, half: int) -> Accepted:
    """Merge two answers; the indexes of the second start at `half`."""
    moved = [Refused(refusal.index + half, refusal.reason, refusal.code) for refusal in right.refused]
    return Accepted(left.receipts + right.receipts, left.refused + moved)
