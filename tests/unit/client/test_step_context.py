"""The step around a piece of code: in blocks, tasks, threads, child processes and programs in other languages."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import headwater
from headwater.client import context, current
from stepping import Told, program

RUN = "01927f2e-8c7a-7aaa-bbbb-1234567890ab"
ABOVE = context.Parent(RUN, "airflow", "dag.task", RUN, "airflow", "dag.task")


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in current.NAMES}
    yield
    assert not headwater.current_step()
    assert {name: os.environ.get(name) for name in current.NAMES} == before


def shown() -> str | None:
    """The run that a child process started now would have as its parent."""
    found = context.parent()
    return found and found.run_id


def test_a_block_inside_a_block_has_it_as_parent_with_the_root(told: Told) -> None:
    with headwater.step("a", namespace="meter") as a, headwater.step("b") as b, headwater.step("c"):
        pass
    facets = told.of("c")[0]["run"]["facets"]["parent"]
    assert facets["run"]["runId"] == b.id
    assert facets["job"] == {"namespace": "meter", "name": "b"}
    assert facets["root"]["run"]["runId"] == a.id
    assert told.of("c")[1]["run"]["facets"]["parent"] == facets


def test_the_run_that_started_the_process_is_the_parent(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as here:
        for name, value in context.environment(ABOVE).items():
            here.setenv(name, value)
        with headwater.step("outer") as outer, headwater.step("inner"):
            assert shown() != RUN
        assert context.parent() == ABOVE
    assert (outer.parent, outer.namespace) == (ABOVE, "airflow")
    assert told.of("inner")[0]["run"]["facets"]["parent"]["root"]["run"]["runId"] == RUN


def test_only_the_older_variable(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as here:
        here.setenv("OPENLINEAGE_PARENT_ID", f"airflow/dag.task/{RUN}")
        with headwater.step("outer") as outer:
            assert shown() == outer.id
        assert context.parent() == ABOVE
    assert outer.parent == ABOVE
    assert "OPENLINEAGE_CONTEXT" not in os.environ


def test_a_named_parent_and_a_named_namespace_win(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "of the environment")
    with (
        headwater.step("around") as around,
        headwater.step("a", parent=ABOVE) as a,
        headwater.step("b", parent=around, namespace="mine") as b,
    ):
        pass
    assert around.namespace == "of the environment"
    assert (a.parent, a.namespace) == (ABOVE, "airflow")
    assert b.parent is not None
    assert (b.parent.run_id, b.namespace) == (around.id, "mine")


def test_the_environment_is_the_innermost_step_and_then_what_it_was(told: Told) -> None:
    seen = [shown()]
    with headwater.step("a") as a:
        seen.append(shown())
        with headwater.step("b") as b:
            seen.append(shown())
        seen.append(shown())
    assert [*seen, shown()] == [None, a.id, b.id, a.id, None]


def test_what_the_host_sets_meanwhile_stays(told: Told) -> None:
    with headwater.step("a"):
        os.environ.update(context.environment(ABOVE))
    assert shown() == RUN
    for name in current.NAMES:
        del os.environ[name]


def test_a_child_process_has_the_step_as_parent(told: Told) -> None:
    child = "import headwater\nwith headwater.step('child'):\n    with headwater.step('grandchild'): pass"
    with headwater.step("a", namespace="meter") as a:
        assert program(child).returncode == 0
    facets = told.of("child")[0]["run"]["facets"]["parent"]
    assert (facets["run"]["runId"], told.of("child")[0]["job"]["namespace"]) == (a.id, "meter")
    assert told.parents() == {"a": None, "child": "a", "grandchild": "child"}
    assert told.of("grandchild")[0]["run"]["facets"]["parent"]["root"]["run"]["runId"] == a.id


def test_a_child_of_multiprocessing_has_it_too(told: Told, tmp_path: Any) -> None:
    script = tmp_path / "pool.py"
    script.write_text(
        "import multiprocessing as mp, headwater\n"
        "def work(n):\n"
        "    with headwater.step(f'work-{n}'): return n\n"
        "if __name__ == '__main__':\n"
        "    for kind in ('fork', 'spawn'):\n"
        "        with headwater.step(kind):\n"
        "            with mp.get_context(kind).Pool(2) as pool:\n"
        "                assert pool.map(work, [kind]) == [kind]\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert told.parents() == {"fork": None, "work-fork": "fork", "spawn": None, "work-spawn": "spawn"}


def test_a_thread_without_a_step_has_that_of_the_main_thread(told: Told) -> None:
    def work(number: int) -> str | None:
        with headwater.step(f"work-{number}") as step:
            assert headwater.current_step() is step
            return step.parent and step.parent.run_id

    with headwater.step("all") as around, ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(20))) == {around.id}
        assert shown() == around.id


def test_independent_threads_have_no_parent_step(told: Told) -> None:
    """A program that runs a job in each thread: whichever is open elsewhere, they have nothing to do with each other."""
    meet = threading.Barrier(4)
    found: list[tuple[object, str | None]] = []

    def job(number: int) -> None:
        with headwater.step(f"job-{number}") as step:
            meet.wait(5)
            found.append((step.parent, shown()))
            meet.wait(5)

    threads = [threading.Thread(target=job, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(None, None)] * 4


def test_what_is_carried_is_current_where_it_is_called(told: Told) -> None:
    found: list[bool] = []

    def outer() -> None:
        with headwater.step("outer") as step:
            look = headwater.carry(lambda: found.append(headwater.current_step() is step))
            threads = [threading.Thread(target=look) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            bare = threading.Thread(target=lambda: found.append(not headwater.current_step()))
            bare.start()
            bare.join()

    thread = threading.Thread(target=outer)
    thread.start()
    thread.join()
    assert found == [True] * 4


def test_of_concurrent_tasks_the_environment_tells_what_is_around_both(told: Told) -> None:
    async def work(seen: list[str | None], meet: asyncio.Barrier) -> None:
        async with headwater.step("work") as step:
            await meet.wait()
            assert headwater.current_step() is step
            seen.append(shown())
            await meet.wait()

    async def main() -> tuple[str, list[str | None], list[str | None]]:
        seen: list[str | None] = []
        alone: list[str | None] = []
        meet = asyncio.Barrier(2)
        async with headwater.step("around") as around:
            await asyncio.gather(work(seen, meet), work(seen, meet))
            alone.append(shown())
        await asyncio.gather(work(alone, meet), work(alone, meet))
        return around.id, seen, alone

    around, seen, alone = asyncio.run(main())
    assert seen == [around, around]
    assert alone == [around, None, None]


def test_blocks_left_in_another_order(told: Told) -> None:
    first, second = headwater.step("first"), headwater.step("second")
    a = first.__enter__()
    b = second.__enter__()
    first.__exit__(None, None, None)
    assert headwater.current_step() is b
    assert shown() == b.id
    second.__exit__(None, None, None)
    assert a.state == b.state == "COMPLETE"


def test_the_environment_of_a_step_can_be_passed_on(told: Told) -> None:
    step = headwater.start_step("by hand")
    assert shown() is None
    done = program("import headwater\nwith headwater.step('child'): pass", **step.environment())
    step.complete()
    assert done.returncode == 0
    assert told.parents()["child"] == "by hand"


def test_very_many_steps_stop_writing_the_environment(
    told: Told, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(current, "MOST_CHANGES", current._process.changes + 3)
    seen = []
    for _ in range(5):
        with headwater.step("a") as step:
            seen.append(shown() == step.id)
    monkeypatch.setattr(current, "_process", current._Process())
    assert seen == [True, True, False, False, False]
    assert len(caplog.records) == 1


OFFICIAL = """
import sys, uuid, datetime
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import parent_run
from openlineage.client.transport.file import FileConfig, FileTransport
from headwater.client import context

above = context.parent()
client = OpenLineageClient(transport=FileTransport(FileConfig(sys.argv[1], append=True)))
facet = parent_run.ParentRunFacet(
    run=parent_run.Run(above.run_id),
    job=parent_run.Job(*above.job),
    root=parent_run.Root(parent_run.RootRun(above.root_run_id), parent_run.RootJob(above.root_job_namespace, above.root_job_name)),
)
def tell(state, run, job):
    client.emit(RunEvent(
        eventType=state, eventTime=datetime.datetime.now(datetime.timezone.utc).isoformat(), run=run, job=job,
        producer="https://example.com/custom", outputs=[OutputDataset("file", "/custom")],
    ))
# An event of the run itself, and a child of it.
tell(RunState.OTHER, Run(above.run_id), Job(*above.job))
tell(RunState.COMPLETE, Run(str(uuid.uuid4()), facets={"parent": facet}), Job("custom", "check"))
"""


def test_the_official_client_joins_the_run(told: Told) -> None:
    """K5: unchanged `openlineage-python` in a program that a step started."""
    with headwater.step("outer", namespace="meter") as outer, headwater.step("package") as step:
        done = program(OFFICIAL, str(told.path))
        assert done.returncode == 0, done.stderr
    theirs = [each for each in told.events if each["producer"] == "https://example.com/custom"]
    joined, child = theirs
    assert (joined["run"]["runId"], joined["job"]["namespace"], joined["job"]["name"]) == (step.id, "meter", "package")
    given = child["run"]["facets"]["parent"]
    ours = told.of("package")[0]
    assert given["run"]["runId"] == step.id
    assert (given["job"]["namespace"], given["job"]["name"]) == (ours["job"]["namespace"], ours["job"]["name"])
    assert given["root"]["run"]["runId"] == outer.id
    assert json.dumps(told.events)


def test_which_step_it_was_a_moment_ago(told: Told) -> None:
    """A late observer, as Spark's listeners are, can ask for the step of a moment ago."""
    before = time.time()
    with headwater.step("outer") as outer:
        at_first = time.time()
        with headwater.step("inner") as inner:
            inside = time.time()
        after = time.time()
        assert [current.at(moment) for moment in (before, at_first, inside, after)] == [
            None, outer.as_parent, inner.as_parent, outer.as_parent,
        ]  # fmt: skip
    with headwater.step("next"):
        assert current.at(inside) == inner.as_parent
        assert current.at(after) == outer.as_parent
    assert current.at(time.time()) is None


def test_calls_of_a_forked_worker_on_its_parents_step_are_logged_as_lost(told: Told) -> None:
    """Another thread that holds the step's lock while the process forks does not stop the worker for good."""
    done = program(
        """
        import os, sys, threading, headwater
        with headwater.step("outer") as step:
            held, go = threading.Event(), threading.Event()
            def hold():
                with step._lock:
                    held.set()
                    go.wait(20)
            thread = threading.Thread(target=hold)
            thread.start()
            held.wait(20)
            child = os.fork()
            if child == 0:
                step.output("/data/a")
                step.output("/data/b")
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            go.set()
            thread.join()
        sys.exit(status)
        """
    )
    assert done.returncode == 0
    (line,) = done.stderr.strip().splitlines()
    assert "what a forked worker says is left out of the lineage" in line
    assert told.last("outer")["outputs"] == []
