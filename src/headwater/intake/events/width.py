"""The limits of one event. A wider one is refused for good, because a client would otherwise send it again for ever."""

import msgspec

from headwater.errors import TooLarge
from headwater.intake.events.correlation import has_correlation
from headwater.model.event import Event


class Limits(msgspec.Struct, frozen=True):
    """The most that one event may hold. `datasets`: inputs, or outputs. `correlated`: inputs times outputs, of an event that is correlated."""

    datasets: int = 50_000
    correlated: int = 250_000


def check_width(event: Event, limits: Limits) -> None:
    """Raise TooLarge, with the list that is too long and how to split it."""
    for name, reports in (("inputs", event.inputs), ("outputs", event.outputs)):
        if len(reports) > limits.datasets:
            raise TooLarge(
                f"{name} has {len(reports):,} datasets, and one event may have {limits.datasets:,}: send them in several events of the same run, "
                "each with a part of them, or raise HEADWATER_SERVER__MAX_DATASETS_PER_EVENT",
                limit=limits.datasets,
                where=name,
            )
    pairs = len(event.inputs) * len(event.outputs)
    if pairs > limits.correlated and has_correlation(event):
        raise TooLarge(
            f"the event correlates {len(event.inputs):,} inputs with {len(event.outputs):,} outputs, {pairs:,} pairs, and one event may have "
            f"{limits.correlated:,}: report what each step read and wrote in a run of its own, or raise "
            "HEADWATER_SERVER__MAX_CORRELATED_PAIRS_PER_EVENT",
            limit=limits.correlated,
            where="inputs, outputs",
        )
