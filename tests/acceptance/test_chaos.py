"""Everything between a step and the log is killed, stopped, cut off and filled, in the order a seed draws: nothing that was spooled is lost.

More and longer: `python -m tests.chaos --seed 7 --rounds 5 --seconds 60` (tests/chaos/).
"""

import pytest
from tests.chaos.__main__ import play
from tests.chaos.faults import families, plan


def test_a_seed_says_all_there_is_to_a_round() -> None:
    assert plan(7, 60) == plan(7, 60) != plan(8, 60)
    for seed in range(20):
        faults = plan(seed, 60)
        assert faults == sorted(faults)
        assert all(fault.at + fault.hold <= 60 for fault in faults)
    played = {(fault.kind, fault.target) for seed in range(200) for fault in plan(seed, 60)}
    assert played == {one for family in families() for one in family}


@pytest.mark.soak
def test_no_event_that_was_spooled_is_lost_or_doubled_and_no_step_waits() -> None:
    told: list[str] = []
    seen = play(582, 14, say=told.append)
    assert seen["waited"] == 0
    assert seen["told"] > 100, told
    assert seen["edges"]["taken"] > 100
