"""The suite's own promises: what it says of a test that fails, is flaky or hangs, and that nothing outlives it. In processes of their own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.suite.soak import SOAK
from tests.suite.stages import ROOT, STAGES

PROGRAM = """
import sys
from pathlib import Path
from tests.suite.__main__ import Suite
from tests.suite.stages import Stage
stages = [{stages}]
sys.exit(Suite(Path({folder!r}) / 'out', 2, stages, Path({folder!r})).run(stages))
"""


@pytest.fixture
def begin(tmp_path: Path):
    """Starts the suite over some stages, written as Python; `{here}` is a folder whose tests may take a minute each."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 60\naddopts = -p no:schemathesis\n")

    def start(*stages: str) -> "subprocess.Popen[str]":
        program = PROGRAM.format(stages=", ".join(stages).replace("{here}", str(tmp_path)), folder=str(tmp_path))
        return subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)

    return start


@pytest.fixture
def said(begin):
    def run(*stages: str) -> tuple[int, str]:
        process = begin(*stages)
        out, _ = process.communicate(timeout=240)
        return process.returncode, out

    return run


TESTS = "Stage('planted', tests=('{here}',))"


def test_a_test_that_fails(tmp_path: Path, said) -> None:
    (tmp_path / "test_planted.py").write_text("def test_good(): pass\ndef test_bad(): assert 1 == 2\n")
    code, out = said(TESTS)
    assert code == 1
    assert out.count("assert 1 == 2") >= 2, "the failure is shown, and that of the second try"
    assert "failed, is run again alone: " in out
    assert "FAILED: " in out
    assert out.endswith("test_planted.py::test_bad\nflaky: 0\n1 passed, 1 failed\n")


def test_a_stage_that_lost_tests(tmp_path: Path, said) -> None:
    (tmp_path / "test_planted.py").write_text("def test_good(): pass\n")
    assert said("Stage('planted', tests=('{here}',), least=1)")[0] == 0
    code, out = said("Stage('planted', tests=('{here}',), least=2)")
    assert code == 1
    assert "FAILED: planted (ran 1 tests, and at least 2 are its own)" in out


MEETS = """
import sys, time
from pathlib import Path
here, name, others = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
(here / name).touch()
ends = time.monotonic() + 20
while not all((here / other).exists() for other in others):
    if time.monotonic() > ends:
        sys.exit(3)
    time.sleep(0.02)
time.sleep(0.5 if "idle" in name else 2)
sys.exit(2 if name == "idle" and (here / "late").exists() else 0)
"""


def test_one_that_waits_runs_beside_two_that_work_and_no_fourth_does(tmp_path: Path, said) -> None:
    """Two stages that work and one that waits meet; what would be a fourth begins when one has ended."""
    (tmp_path / "meets.py").write_text(MEETS)
    words = "command=(sys.executable, '{here}/meets.py', '{here}', "
    code, out = said(
        f"Stage('idle', {words}'idle', 'work-1', 'work-2'), waits=True)",
        f"Stage('late', {words}'late'), waits=True)",
        f"Stage('work-1', {words}'work-1', 'idle', 'work-2'))",
        f"Stage('work-2', {words}'work-2', 'idle', 'work-1'))",
    )
    assert code == 0, out


def test_a_test_that_passes_when_it_is_alone(tmp_path: Path, said) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "test_planted.py").write_text(
        f"import pathlib\ndef test_chance():\n    mark = pathlib.Path({str(mark)!r})\n    seen = mark.exists()\n    mark.touch()\n    assert seen\n"
    )
    code, out = said(TESTS)
    assert code == 0
    assert "test_planted.py::test_chance failed, and passed when it was run again alone" in out
    assert out.endswith("flaky: 1\n1 passed, 0 failed\n")


def test_a_test_that_hangs_is_named_and_the_rest_goes_on(tmp_path: Path, said) -> None:
    planted = "import pytest, time\n@pytest.mark.timeout(1)\ndef test_hangs(): time.sleep(600)\ndef test_good(): pass\n"
    (tmp_path / "test_planted.py").write_text(planted)
    code, out = said(TESTS)
    assert code == 1
    assert "Timeout" in out
    assert out.endswith("test_planted.py::test_hangs\nflaky: 0\n1 passed, 1 failed\n")


def test_a_file_that_cannot_be_collected_and_a_crash_are_failures(tmp_path: Path, said) -> None:
    (tmp_path / "test_planted.py").write_text("import nothing_of_this_name\n")
    crash = "Stage('crash', command=('sh', '-c', 'kill -9 $$'))"
    code, out = said(TESTS, crash, "Stage('later', command=('true',), after=('crash',))")
    assert code == 1
    assert "FAILED: crash (exit code -9)" in out
    assert "FAILED: later (not started: crash failed)" in out
    assert "FAILED: planted (exit code 2)" in out


def test_too_many_failures_are_no_matter_of_chance(tmp_path: Path, said) -> None:
    (tmp_path / "test_planted.py").write_text("".join(f"def test_{n}(): assert 0\n" for n in range(11)))
    code, out = said(TESTS)
    assert code == 1
    assert "11 failed: too many to be run again" in out
    assert out.endswith("0 passed, 11 failed\n")


def test_a_stage_has_a_limit_and_leaves_nothing(said) -> None:
    code, out = said(
        "Stage('endless', command=('sleep', '612'), limit=1)",
        "Stage('leaves', command=('sh', '-c', 'setsid sleep 611 & true'))",
    )
    assert code == 1
    assert "FAILED: endless (ended after 1 s, the stage's limit)" in out
    assert "left running, ended now: sleep 611" in out
    assert not sleeping("611", "612")


def test_an_orphan_that_has_ended_is_gone(tmp_path: Path, said) -> None:
    """The suite collects an orphan at once: a zombie looks alive to `pg_ctl stop` and `headwater down`, which wait for its number to go."""
    (tmp_path / "orphan.py").write_text("""
import os, subprocess, time
number = int(subprocess.run("setsid sleep 600 >/dev/null 2>&1 & echo $!", shell=True, capture_output=True, text=True).stdout)
os.kill(number, 9)
for _ in range(100):
    time.sleep(0.05)
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        raise SystemExit(0)
raise SystemExit("still there")
""")
    code, out = said("Stage('orphan', command=(sys.executable, '{here}/orphan.py'))")
    assert code == 0, out


@pytest.mark.parametrize(("number", "deaf"), [(signal.SIGTERM, ""), (signal.SIGINT, "trap true TERM; ")])
def test_ended_it_leaves_nothing(begin, number: int, deaf: str) -> None:
    process = begin(f"Stage('daemons', command=('sh', '-c', '{deaf}setsid sleep 613 & sleep 614'))")
    began = time.monotonic()
    while len(sleeping("613", "614")) < 2:
        assert time.monotonic() - began < 30
        time.sleep(0.05)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 128 + number, out
    assert not sleeping("613", "614")


def sleeping(*seconds: str) -> list[str]:
    lines = [each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])]
    return [line[1] for line in lines if line[:1] == ["sleep"] and line[1:] and line[1] in seconds]


def test_every_test_is_in_one_stage() -> None:
    """The stage whose path is the longest one above a file takes it; two that are equally long would both."""
    paths = [path for stage in STAGES for path in stage.tests]
    assert len(paths) == len(set(paths))
    assert all((ROOT / path).exists() for path in paths)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        name = file.relative_to(ROOT).as_posix()
        assert any(name == path or name.startswith(f"{path}/") for path in paths), f"no stage runs {name}"


def test_what_the_suite_leaves_out_is_in_the_soak() -> None:
    paths = [path for stage in SOAK for path in stage.tests]
    assert len(paths) == len(set(paths))
    assert all((ROOT / path).exists() for path in paths)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text, name = file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix()
        if file != Path(__file__) and ("mark.soak" in text or "from tests.scale import" in text):
            assert any(name == path or name.startswith(f"{path}/") for path in paths), (
                f"no stage of the soak runs {name}"
            )


def test_a_stage_comes_after_stages_that_exist() -> None:
    names = [stage.name for stage in STAGES]
    assert len(names) == len(set(names))
    for stage in STAGES:
        assert set(stage.after) <= set(names)
