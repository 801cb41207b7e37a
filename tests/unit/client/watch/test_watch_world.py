"""The watcher's world: the same seed gives the same scenes, names are bounded, and expectations follow from the events."""

import datetime as dt
import json
import random
from pathlib import Path

import pytest

from headwater.client.watch.expected import Draft
from headwater.client.watch.scene import CHECKS, KINDS, Scene
from headwater.client.watch.stories import STORIES
from headwater.client.watch.world import World, deliveries

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def world(**more: object) -> World:
    return World(**{"namespace": "n", "mark": "m", "seed": 1} | more)  # type: ignore[arg-type]


def rounds(made: World, count: int) -> list[Scene]:
    return [made.scene(slot, NOW) for _ in range(count) for slot in range(len(made))]


def spoken_of(scene: Scene) -> set[tuple[str, str, str]]:
    found = set()
    for body in scene.events:
        event = json.loads(body)
        if "job" in event:
            found.add(("job", event["job"]["namespace"], event["job"]["name"]))
        for item in [
            *event.get("inputs", []),
            *event.get("outputs", []),
            *([event["dataset"]] if "dataset" in event else []),
        ]:
            found.add(("dataset", item["namespace"], item["name"]))
    return found


def test_the_same_seed_tells_the_same() -> None:
    first, again, other = rounds(world(), 3), rounds(world(), 3), rounds(world(seed=2), 3)
    assert [(s.events, s.deliveries) for s in first] == [(s.events, s.deliveries) for s in again]
    assert [s.deliveries for s in first] != [s.deliveries for s in other]


def test_every_event_is_delivered_some_twice_late_ones_last() -> None:
    twice = 0
    for scene in rounds(world(), 3):
        told = [position for delivery in scene.deliveries for position in delivery.events]
        assert set(told) == set(range(len(scene.events)))
        twice += len(told) - len(set(told))
        assert all(delivery.batch or len(delivery.events) == 1 for delivery in scene.deliveries)
        if scene.story == "aliases":
            assert "symlinks" in json.loads(scene.events[told[-1]])["dataset"]["facets"]
            assert told.count(told[-1]) == 1
    assert twice > 10


def test_events_leave_in_and_out_of_order_alone_and_in_batches() -> None:
    orders = [deliveries([b""] * 8, set(), random.Random(seed)) for seed in range(20)]
    firsts = [[p for d in order for p in d.events] for order in orders]
    assert any(told != sorted(told) for told in firsts)
    assert {d.batch for order in orders for d in order} == {True, False}


def test_names_are_bounded_and_only_dated_paths_are_new() -> None:
    made = world()
    first, later = rounds(made, 1), rounds(made, 30)
    known = {name for scene in first for name in spoken_of(scene)}
    new = {name for scene in later for name in spoken_of(scene)} - known
    assert all("-partitions/t/" in name for _, _, name in new)
    assert len(new) <= 2 * 2 * 28
    assert len(known) < 150
    assert {namespace for _, namespace, _ in known} == {"n", "file://n"}


def test_two_watchers_share_no_name() -> None:
    def said(mark: str) -> set[tuple[str, str, str]]:
        return {name for scene in rounds(world(mark=mark), 1) for name in spoken_of(scene)}

    assert not said("a") & said("b")


def test_times_go_forward_and_stay_near_now() -> None:
    made = world()
    last = dt.datetime.min.replace(tzinfo=dt.UTC)
    for _ in range(4):
        scene = made.scene(0, NOW)
        times = [dt.datetime.fromisoformat(json.loads(body)["eventTime"]) for body in scene.events]
        assert last < min(times)
        assert max(times) - min(times) < dt.timedelta(seconds=0.9)
        last = max(times)
    assert abs(last - NOW) < dt.timedelta(seconds=10)


def test_every_check_has_questions_and_other_stories_are_left_out() -> None:
    asked = {question.check for scene in rounds(world(), 2) for question in scene.questions}
    assert asked | {"receipts"} == set(CHECKS)
    few = world(checks=("aliases",))
    assert few.stories == ["aliases"]
    assert {question.check for scene in rounds(few, 1) for question in scene.questions} == {"aliases"}
    assert world(checks=("receipts",)).stories == list(STORIES)
    assert "partitions" not in world(checks=set(CHECKS) - {"partitions", "runs"}).stories


def test_every_check_mismatch_and_story_is_described() -> None:
    page = (Path(__file__).parents[4] / "docs/howto/watch.md").read_text(encoding="utf-8")
    for word in (*CHECKS, *KINDS):
        assert f"`{word}`" in page
    for word in STORIES:
        assert f"| {word} |" in page


@pytest.mark.parametrize(
    ("types", "state", "started", "ended"),
    [
        (["START", "RUNNING", "COMPLETE"], "COMPLETED", 0, 2),
        (["COMPLETE", "START"], "COMPLETED", 1, 0),
        (["FAIL", "COMPLETE"], "FAILED", 0, 1),
        (["COMPLETE", "ABORT"], "ABORTED", 0, 1),
        (["OTHER"], "OTHER", 0, None),
        (["RUNNING", "RUNNING"], "RUNNING", 0, None),
        (["START", "START"], "RUNNING", 0, None),
    ],
)
def test_what_events_of_a_run_add_up_to(types: list[str], state: str, started: int, ended: int | None) -> None:
    draft = Draft(NOW)
    for number, type_ in enumerate(types):
        draft.run(type_, "r", ("n", "j"), number, inputs=[("n", f"in{number}")], outputs=[("n", "out")])
    run = draft.runs["r"]
    assert (run.state, run.started) == (state, NOW + dt.timedelta(milliseconds=started))
    assert run.ended == (None if ended is None else NOW + dt.timedelta(milliseconds=ended))
    assert run.inputs == {("n", f"in{number}") for number in range(len(types))}


def test_a_walk_goes_one_way_and_takes_no_siblings() -> None:
    draft = Draft(NOW)
    draft.run("COMPLETE", "1", ("n", "j1"), 0, inputs=[("n", "a")], outputs=[("n", "b"), ("n", "sibling")])
    draft.run("COMPLETE", "2", ("n", "j2"), 0, inputs=[("n", "b")], outputs=[("n", "c")])
    draft.run("COMPLETE", "3", ("n", "j3"), 0, inputs=[("n", "a")], outputs=[("n", "other")])
    assert draft.walk(("n", "c"), "upstream") == {
        ("job:n:j2", "dataset:n:c"),
        ("dataset:n:b", "job:n:j2"),
        ("job:n:j1", "dataset:n:b"),
        ("dataset:n:a", "job:n:j1"),
    }
    assert draft.walk(("n", "c"), "downstream") == set()
    assert len(draft.walk(("n", "a"), "downstream")) == 7
