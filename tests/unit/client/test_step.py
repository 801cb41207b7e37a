"""A step's life: its events when it begins, succeeds, fails, is stopped or forgotten; and that it never harms its host."""

import asyncio
import dataclasses
import datetime as dt
import json
import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater.client import Emitter, config, event
from stepping import Told, bare, program, said


def test_a_block_is_a_run(told: Told) -> None:
    with headwater.step("split", version="1.4.0", inputs=["s3://raw/x.csv"], details={"files": 3}) as step:
        assert told.types == ["START"]
        assert step.state == "RUNNING"
        step.detail("rows", 7)
        step.output(("postgres://db", "public.t"), rows=7)
    start, end = told.events
    assert [each["eventType"] for each in told.events] == ["START", "COMPLETE"]
    assert start["run"]["runId"] == end["run"]["runId"] == step.id
    assert start["job"]["namespace"] == "default"
    assert start["job"]["name"] == "split"
    assert said(start) == {"version": "1.4.0", "details": {"files": 3}}
    assert said(end) == {"version": "1.4.0", "details": {"files": 3, "rows": 7}}
    assert [(each["namespace"], each["name"]) for each in end["inputs"]] == [("s3://raw", "x.csv")]
    assert end["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 7
    assert start["eventTime"] <= end["eventTime"]
    assert step.state == "COMPLETE"


def test_an_exception_fails_the_step_and_goes_on(told: Told) -> None:
    with pytest.raises(ZeroDivisionError), headwater.step("split"):
        1 / 0  # noqa: B018
    error = told.last()["run"]["facets"]["errorMessage"]
    assert told.types == ["START", "FAIL"]
    assert error["message"] == "ZeroDivisionError: division by zero"
    assert error["programmingLanguage"] == "python"
    assert "test_step.py" in error["stackTrace"]


@pytest.mark.parametrize(
    ("raised", "state"),
    [
        (KeyboardInterrupt(), "ABORT"),
        (SystemExit(1), "ABORT"),
        (SystemExit("no"), "ABORT"),
        (SystemExit([1]), "ABORT"),
        (SystemExit(0), "COMPLETE"),
        (SystemExit(None), "COMPLETE"),
        (asyncio.CancelledError(), "ABORT"),
        (ValueError(), "FAIL"),
    ],
)
def test_how_a_block_is_left_is_how_the_step_ends(told: Told, raised: BaseException, state: str) -> None:
    with pytest.raises(type(raised)), headwater.step("split"):
        raise raised
    assert told.types == ["START", state]
    assert ("errorMessage" in told.last()["run"]["facets"]) == (state != "COMPLETE")


def test_a_function(told: Told) -> None:
    @headwater.step("clean", version="2")
    def clean(rows: int, *, more: int = 0) -> int:
        """Doc."""
        headwater.current_step().detail("rows", rows)
        return rows + more

    assert [clean(1), clean(2, more=3)] == [1, 5]
    assert (clean.__name__, clean.__doc__) == ("clean", "Doc.")
    assert told.types == ["START", "COMPLETE", "START", "COMPLETE"]
    assert [said(each)["details"]["rows"] for each in told.events[1::2]] == [1, 2]
    assert told.events[0]["run"]["runId"] != told.events[2]["run"]["runId"]


def test_a_function_without_more_is_named_as_it_is(told: Told) -> None:
    @headwater.step
    def aggregate() -> bool:
        return headwater.current_step().name == "aggregate"

    @headwater.step(version="3")
    def load() -> bool:
        return headwater.current_step().name == "load"

    assert aggregate()
    assert load()
    assert [each["job"]["name"] for each in told.events] == ["aggregate", "aggregate", "load", "load"]


def test_a_recursive_function_nests(told: Told) -> None:
    @headwater.step("down")
    def down(depth: int) -> str:
        here = headwater.current_step().id
        if depth:
            assert down(depth - 1) != here
        assert headwater.current_step().id == here
        return here

    top = down(2)
    ids = [each["run"]["runId"] for each in told.events if each["eventType"] == "START"]
    parents = [each["run"]["facets"].get("parent") for each in told.events if each["eventType"] == "START"]
    assert ids[0] == top
    assert [p and p["run"]["runId"] for p in parents] == [None, ids[0], ids[1]]
    assert [p and p["root"]["run"]["runId"] for p in parents] == [None, top, top]


def test_one_object_may_be_entered_again_and_inside_itself(told: Told) -> None:
    steps = headwater.step("twice")
    with steps as outer, steps as inner:
        assert inner.parent is not None
        assert inner.parent.run_id == outer.id
    with steps as third:
        assert third.parent is None
    assert told.types == ["START", "START", "COMPLETE", "COMPLETE", "START", "COMPLETE"]
    assert told.events[2]["run"]["runId"] == inner.id


def test_coroutines_each_have_their_own_step(told: Told) -> None:
    @headwater.step("fetch")
    async def fetch(number: int) -> tuple[int, str]:
        headwater.current_step().detail("number", number)
        await asyncio.sleep(0.01 * (3 - number))
        async with headwater.step(f"parse-{number}") as inner:
            await asyncio.sleep(0)
            assert inner.parent is not None
            return number, inner.parent.run_id

    async def main() -> list[tuple[int, str]]:
        async with headwater.step("all"):
            return await asyncio.gather(*(fetch(n) for n in range(3)))

    found = asyncio.run(main())
    by_run = {each["run"]["runId"]: said(each)["details"]["number"] for each in told.of("fetch")[3:]}
    assert {run: number for number, run in found} == by_run
    assert told.parents() == {"all": None, "fetch": "all", **{f"parse-{n}": "fetch" for n in range(3)}}


def test_a_cancelled_coroutine_aborts(told: Told) -> None:
    async def main() -> None:
        @headwater.step("slow")
        async def slow() -> None:
            await asyncio.sleep(60)

        task = asyncio.create_task(slow())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert told.types == ["START", "ABORT"]


def test_an_async_block_does_not_stop_other_tasks_while_it_reads(told: Told, tmp_path: Path, monkeypatch: Any) -> None:
    import headwater.client.fingerprint as module

    real = module.fingerprint
    beats = []

    def slow(path: Any) -> Any:
        time.sleep(0.3)
        return real(path)

    monkeypatch.setattr(module, "fingerprint", slow)

    async def beat() -> None:
        while True:
            beats.append(1)
            await asyncio.sleep(0.01)

    async def main() -> None:
        task = asyncio.create_task(beat())
        async with headwater.step("write") as step:
            step.output(tmp_path / "x", fingerprint=True)
            (tmp_path / "x").write_text("content")
        task.cancel()

    asyncio.run(main())
    assert len(beats) > 5
    assert "version" in told.last()["outputs"][0]["facets"]


def test_a_generator_is_a_step_from_its_first_to_its_last_value(told: Told) -> None:
    @headwater.step("read")
    def read() -> Any:
        step = headwater.current_step()
        got = yield step.name
        step.detail("got", got)
        try:
            yield headwater.current_step().name
        except LookupError:
            yield "caught"
        return "result"

    made = read()
    assert told.types == []
    assert next(made) == "read"
    assert not headwater.current_step()
    assert made.send(5) == "read"
    assert made.throw(LookupError()) == "caught"
    with pytest.raises(StopIteration) as ended:
        next(made)
    assert ended.value.value == "result"
    assert told.types == ["START", "COMPLETE"]
    assert said(told.last())["details"] == {"got": 5}
    left = read()
    next(left)
    left.close()
    assert told.types[2:] == ["START", "ABORT"]


def test_started_and_ended_by_hand(told: Told) -> None:
    good, bad, stopped = (headwater.start_step(name) for name in ("good", "bad", "stopped"))
    assert not headwater.current_step()
    good.output("/data/x")
    good.complete()
    good.fail("too late")
    try:
        raise ValueError("broken file")
    except ValueError as error:
        bad.fail(error)
    stopped.abort("by hand")
    assert told.types == ["START"] * 3 + ["COMPLETE", "FAIL", "ABORT"]
    assert told.events[4]["run"]["facets"]["errorMessage"]["message"] == "ValueError: broken file"
    assert told.events[5]["run"]["facets"]["errorMessage"]["message"] == "by hand"


def test_an_open_step_is_aborted_with_the_program(told: Told) -> None:
    done = program("import headwater; headwater.start_step('a'); headwater.start_step('b').complete()")
    assert (done.returncode, done.stderr) == (0, "")
    assert [(each["eventType"], each["job"]["name"]) for each in told.events] == [
        ("START", "a"), ("START", "b"), ("COMPLETE", "b"), ("ABORT", "a"),
    ]  # fmt: skip
    assert told.last()["run"]["facets"]["errorMessage"]["message"] == "the program ended before the step did"


def test_a_forked_child_leaves_its_parents_steps_alone(told: Told) -> None:
    done = program(
        """
        import os, sys, headwater
        with headwater.step("outer"):
            child = os.fork()
            if child == 0:
                with headwater.step("inner"):
                    pass
                sys.exit(3)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [(each["eventType"], each["job"]["name"]) for each in told.events] == [
        ("START", "outer"), ("START", "inner"), ("COMPLETE", "inner"), ("COMPLETE", "outer"),
    ]  # fmt: skip
    assert told.parents()["inner"] == "outer"


def test_facets_of_run_and_job(told: Told) -> None:
    nominal = event.nominal_time(dt.datetime(2021, 1, 1, tzinfo=dt.UTC))
    mine = {"team": {"name": "meter"}}
    owner = {"ownership": event.ownership([("team:meter", None)])}
    with headwater.step("split", facets={"nominalTime": nominal}, job_facets=owner) as step:
        step.facet("team", mine["team"])
        step.facet("parent", {"run": {"runId": "mine"}})
    facets = told.last()["run"]["facets"]
    assert facets["nominalTime"] == nominal
    assert bare(facets["team"]) == mine["team"]
    assert facets["team"]["_schemaURL"].startswith("https://openlineage.io/spec/")
    assert told.last()["job"]["facets"]["ownership"] == owner["ownership"]
    assert told.last()["job"]["facets"]["jobType"]["jobType"] == "STEP"


def test_details_keep_their_value_at_the_call(told: Told) -> None:
    @dataclasses.dataclass
    class Shape:
        rows: int

    class Number:
        """A number like numpy's: no int, but it knows one."""

        def tolist(self) -> int:
            return 4

    growing = [1]
    with headwater.step("split") as step:
        for field, value in {
            "list": growing, "shape": Shape(3), "path": Path("/x"), "day": dt.date(2021, 1, 2), "number": Number(), "set": {1},
        }.items():  # fmt: skip
            step.detail(field, value)
        growing.append(2)
    assert said(told.last())["details"] == {
        "list": [1], "shape": {"rows": 3}, "path": "/x", "day": "2021-01-02", "number": 4, "set": [1],
    }  # fmt: skip


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")

    __repr__ = __fspath__ = __str__  # type: ignore[assignment]


def test_nothing_a_host_gives_raises_and_each_trouble_is_one_line(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with headwater.step("bad\0name \udcff", inputs=[Hostile(), 7, "", ("a", "b", "c"), "kept"], version=3) as step:  # type: ignore[list-item,arg-type]
        for value in (Hostile(), loop, "x" * (2 << 20), "\udcff"):
            step.detail("bad", value)
        step.detail(Hostile(), 1)  # type: ignore[arg-type]
        step.detail("good", "x")
        step.facet("bad", 7)  # type: ignore[arg-type]
        assert step.output(Hostile()).id  # type: ignore[arg-type]
        step.output(b"/data/\xff\x00.csv")
        step.output("/gone/for/good", fingerprint=True)
    assert told.types == ["START", "COMPLETE"]
    assert said(told.last())["details"] == {"good": "x"}
    assert said(told.last())["version"] == "3"
    assert told.last()["job"]["name"] == "bad\\0name \\udcff"
    assert [each["name"].rsplit("/", 1)[-1] for each in told.last()["inputs"]] == ["kept"]
    assert told.last()["outputs"][0]["name"] == "/data/\\udcff\\0.csv"
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 5, lines  # input, detail, facet, output, fingerprint


def test_a_step_that_cannot_begin_is_a_line_and_the_block_runs(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    ran = False
    with headwater.step(Hostile()) as step:  # type: ignore[call-overload]
        ran = True
        step.output("/x")
    assert ran
    assert told.types == []
    assert len(caplog.records) == 1


def test_an_exception_without_text_is_reported_by_its_name(told: Told) -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    with pytest.raises(Silent), headwater.step("split"):
        raise Silent
    assert told.last()["run"]["facets"]["errorMessage"]["message"].startswith("Silent")


def test_calls_after_the_end_are_ignored_and_logged(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    with headwater.step("split") as step:
        pass
    step.output("/x")
    step.output("/y")
    step.detail("late", 1)
    assert told.types == ["START", "COMPLETE"]
    assert step.outputs == ()
    assert [("output" in r.getMessage(), "detail" in r.getMessage()) for r in caplog.records] == [
        (True, False),
        (False, True),
    ]


def test_without_a_step_the_current_one_takes_everything(told: Told, tmp_path: Path) -> None:
    step = headwater.current_step()
    assert not step
    step.detail("x", 1)
    step.facet("x", {})
    step.input("/x")
    assert step.output("/x").id
    assert step.environment() == {}
    step.complete()
    with headwater.step("real", parent=step, inputs=[step]) as real:
        assert real.parent is None
    assert told.types == ["START", "COMPLETE"]
    assert said(told.last()) == {}


def test_a_dead_server_and_a_full_disk_are_nothing_to_a_step(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    emitter = Emitter(config.destination(url="http://127.0.0.1:1", spool=tmp_path / "file" / "spool"))
    headwater.use(emitter)
    try:
        began = time.monotonic()
        for _ in range(50):
            with headwater.step("split") as step:
                step.output("/x")
        assert time.monotonic() - began < 5
    finally:
        headwater.use(None)
        emitter.close()


def test_a_step_of_many_outputs_says_them_on_the_way(told: Told) -> None:
    with headwater.step("split", inputs=[f"/in/{n}" for n in range(600)]) as step:
        for number in range(1700):
            step.output(f"/series/{number}")
    sizes = [(each["eventType"], len(each["inputs"]) + len(each["outputs"])) for each in told.events]
    assert max(size for _, size in sizes) <= 500
    assert [kind for kind, _ in sizes] == ["START", *["RUNNING"] * 3, "COMPLETE"]
    assert {each["name"] for one in told.events for each in one["outputs"]} == {f"/series/{n}" for n in range(1700)}
    assert {each["name"] for one in told.events for each in one["inputs"]} == {f"/in/{n}" for n in range(600)}


def test_threads_may_share_a_step(told: Told) -> None:
    with headwater.step("split") as step:
        threads = [
            threading.Thread(target=lambda n=n: [step.output(f"/out/{n}/{i}") for i in range(100)]) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {each["name"] for one in told.events for each in one["outputs"]} == {
        f"/out/{n}/{i}" for n in range(8) for i in range(100)
    }


def test_a_clock_that_jumps_back_does_not_turn_a_step_around(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    with headwater.step("split"):
        now = time.time()
        monkeypatch.setattr("headwater.client.recording.time.time", lambda: now - 3600)
    assert told.events[0]["eventTime"] <= told.events[1]["eventTime"]


def test_the_package_itself_stays_light() -> None:
    light = program("import sys, headwater; print('msgspec' in sys.modules)")
    assert light.stdout == "False\n"
    step = program(
        "import sys, msgspec, logging; before = set(sys.modules)\n"
        "import headwater\nwith headwater.step('x') as s: s.output('/x')\n"
        "print({m.split('.')[0] for m in set(sys.modules) - before} & {'asyncio', 'inspect', 'http', 'xxhash', 'fsspec', 'yaml', 'traceback'})",
        HEADWATER_TRANSPORT="none",
    )
    assert (step.stdout, step.stderr) == ("set()\n", "")


def test_a_disabled_client_reports_nothing(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    headwater.use(None)
    with headwater.step("split") as step:
        step.output("/x")
        assert "OPENLINEAGE_CONTEXT" not in os.environ, "an unreported run is not a parent"
    assert told.events == []


def test_a_signal_may_come_at_any_moment(told: Told) -> None:
    """Its handler opens its own step, at any point of the program."""
    done = program(
        """
        import signal, time, headwater
        seen = []
        def handle(*_):
            with headwater.step("handler"):
                seen.append(1)
        handle()
        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
        end = time.monotonic() + 2
        while time.monotonic() < end:
            with headwater.step("work") as step:
                step.output("/x")
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert len(seen) > 20
        """,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_warnings_go_to_one_logger(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), headwater.step("split") as step:
        step.input(7)  # type: ignore[arg-type]
    assert {record.name for record in caplog.records} == {"headwater"}
    assert json.dumps(caplog.records[0].getMessage()).count("\\n") == 0


def test_a_check_is_reported_with_what_was_checked(told: Told) -> None:
    with headwater.step("build", inputs=["s3://raw/x.csv"]) as step:
        step.output(("postgres://db", "public.t"))
        step.check(("postgres://db", "public.t"), "not null", False, column="id")
        assert headwater.check(("postgres://db", "public.t"), "not null", True, column="id", expected=0, actual=0)
        assert not headwater.check("s3://raw/x.csv", "rows", 7 > 9, severity="warn")
    end = told.last()
    (written,), (read,) = end["outputs"], end["inputs"]
    assert written["outputFacets"]["dataQualityAssertions"]["assertions"] == [
        {"assertion": "not null", "column": "id", "success": True, "expected": "0", "actual": "0", "severity": "error"}
    ]
    assert read["inputFacets"]["dataQualityAssertions"]["assertions"] == [
        {"assertion": "rows", "success": False, "severity": "warn"}
    ]


def test_a_check_outside_of_a_step_is_a_step(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    assert headwater.check("s3://raw/x.csv", "rows", success=False) is False
    assert told.last()["job"]["name"] == "check rows"
    assert told.last()["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"][0]["success"] is False
    assert headwater.check(7, "rows", success=True)
    assert "check is left out of the lineage" in caplog.text, "a mistake is one log line, and the host goes on"
