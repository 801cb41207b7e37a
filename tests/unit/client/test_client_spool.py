"""The spool: nothing whole is lost, nothing torn is fatal, and the dead are inherited from."""

import contextlib
import multiprocessing
import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scale import full

from headwater.client import spool as spools
from headwater.client.backlog import waiting
from headwater.client.spool import Full, Spool

records = st.lists(st.binary(min_size=1, max_size=80).map(lambda b: b.replace(b"\n", b" ")), min_size=1, max_size=30)


def drain(spool: Spool, size: int = 7) -> list[bytes]:
    found: list[bytes] = []
    while batch := spool.take(size, backlog=True):
        found.extend(batch.records)
        spool.done(batch)
    return found


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.segment"))


@given(given_records=records, size=st.integers(1, 10), segment_bytes=st.integers(30, 4000))
@settings(deadline=None, max_examples=full(40, 15))
def test_what_goes_in_comes_out_in_order(given_records: list[bytes], size: int, segment_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder), segment_bytes=segment_bytes)
        for record in given_records:
            spool.append(record)
        assert spool.count() == len(given_records)
        assert drain(spool, size) == given_records
        assert not spool.pending(backlog=True)
        spool.close()
        assert segments(Path(folder)) == []


@given(given_records=records, cut=st.integers(0, 2000), garbage=st.binary(max_size=40))
@settings(deadline=None, max_examples=full(80, 30))
def test_a_torn_tail_costs_only_the_torn_records(given_records: list[bytes], cut: int, garbage: bytes) -> None:
    """Cut the file anywhere, add anything: every record that is still whole comes out, in order, and reading ends."""
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder))
        for record in given_records:
            spool.append(record)
        spool.close()
        (path,) = segments(Path(folder))
        whole = path.read_bytes()
        kept = max(len(whole) - cut, 0)
        path.write_bytes(whole[:kept] + garbage)
        survivors, at = 0, 21
        for record in given_records:
            at += 9 + len(record) + 1
            survivors += at <= kept
        heir = Spool(Path(folder))
        heir.claim()
        found = drain(heir)
        assert found[:survivors] == given_records[:survivors]
        assert len(found) <= len(given_records)
        heir.close()


def test_torn_records_are_counted(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for record in (b"one", b"two", b"three"):
        spool.append(record)
    spool.close()
    (path,) = segments(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"two", b"twx")[:-3])
    heir = Spool(tmp_path)
    assert heir.claim()
    assert drain(heir) == [b"one"]
    assert heir.torn == 2
    heir.close()
    assert segments(tmp_path) == []


def test_delivery_is_remembered_over_a_restart(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number in range(10):
        spool.append(b"%d" % number)
    batch = spool.take(4, backlog=False)
    assert batch is not None
    spool.done(batch)
    taken_but_not_done = spool.take(4, backlog=False)
    assert taken_but_not_done is not None
    spool.close()
    heir = Spool(tmp_path)
    assert heir.claim()
    assert drain(heir) == [b"%d" % number for number in range(4, 10)]


def test_a_living_process_keeps_its_segment(tmp_path: Path) -> None:
    owner, other = Spool(tmp_path), Spool(tmp_path)
    owner.append(b"mine")
    assert not other.claim()
    owner.close()
    assert other.claim()
    assert drain(other) == [b"mine"]


def test_a_record_longer_than_a_read_survives(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    long = b"x" * 700_000
    for record in (b"short", long, b"after"):
        spool.append(record)
    assert drain(spool) == [b"short", long, b"after"]


def test_the_oldest_whole_segment_goes_at_the_cap(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = Spool(tmp_path, segment_bytes=2000, cap_bytes=8000)
    for number in range(400):
        spool.append(b"%06d" % number * 8)
        total = sum(path.stat().st_size for path in segments(tmp_path))
        assert total <= 8000
    left = drain(spool, 50)
    assert left[-1] == b"000399" * 8
    assert len(left) + spool.dropped == 400
    assert left == [b"%06d" % number * 8 for number in range(400 - len(left), 400)]
    assert "dropped" in caplog.records[0].getMessage()


def test_a_held_segment_is_never_dropped(tmp_path: Path) -> None:
    other = Spool(tmp_path)
    other.append(b"precious")
    spool = Spool(tmp_path, segment_bytes=300, cap_bytes=1000)
    for _ in range(200):
        spool.append(b"y" * 50)
    assert drain(other) == [b"precious"]


def test_a_disk_that_refuses_stores_no_partial_event(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(OSError, match="file"):
        Spool(blocked / "spool").append(b"x")


def _die_holding(folder: str, ready: "multiprocessing.connection.Connection") -> None:
    spool = Spool(Path(folder))
    for number in range(100):
        spool.append(b"%d" % number)
    ready.send(True)
    os.kill(os.getpid(), 9)


def test_kill_9_loses_nothing_that_was_appended(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_die_holding, args=(str(tmp_path), theirs))
    process.start()
    assert ours.recv()
    process.join()
    assert process.exitcode == -9
    heir = Spool(tmp_path)
    assert heir.claim()
    assert drain(heir) == [b"%d" % number for number in range(100)]
    ours.close()
    theirs.close()


@given(
    given_records=records,
    zeros=st.integers(0, 200),
    damage=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=6),
    cut=st.integers(0, 300),
)
@settings(deadline=None, max_examples=full(100, 30))
def test_damage_anywhere_costs_only_what_it_hit(
    given_records: list[bytes], zeros: int, damage: list[tuple[int, int]], cut: int
) -> None:
    """Bytes flipped, the tail torn and followed by zeros, as a power cut leaves it: what comes out was put in, untouched lines all of them."""
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder))
        for record in given_records:
            spool.append(record)
        spool.close()
        (path,) = segments(Path(folder))
        content = bytearray(path.read_bytes())
        whole = len(content)
        content = content[: max(21, whole - cut)] + bytes(zeros)
        hit = {at for at, _ in damage if 21 <= at < len(content)}
        for at, value in damage:
            if at in hit:
                content[at] = value
        path.write_bytes(content)
        expected, at = [], 21
        previous_touched = False
        for record in given_records:
            end = at + 9 + len(record) + 1
            touched = end > whole - cut or any(at <= place < end for place in hit)
            # A line loses its neighbour when the newline between them is hit.
            if not touched and not (previous_touched and content[at - 1 : at] != b"\n"):
                expected.append(record)
            previous_touched = touched
            at = end
        heir = Spool(Path(folder))
        heir.claim()
        found = drain(heir)
        heir.close()
        remaining = iter(found)
        assert all(any(each == record for each in remaining) for record in expected), (found, expected)
        assert set(found) <= set(given_records)


def _append_until_killed(folder: str, said: str, number: int) -> None:
    spool = Spool(Path(folder), segment_bytes=20_000)
    out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for count in range(1_000_000):
        spool.append(b"%d-%d " % (number, count) + b"x" * (count % 700))
        os.write(out, b"%d\n" % count)


@pytest.mark.parametrize("round_", range(3))
def test_kill_9_in_the_middle_of_appending(tmp_path: Path, round_: int) -> None:
    """Three writers killed at any moment: every record whose append returned is there once, in order; at most one each besides."""
    context = multiprocessing.get_context("spawn")
    writers = [
        context.Process(target=_append_until_killed, args=(str(tmp_path / "spool"), str(tmp_path / str(n)), n))
        for n in range(3)
    ]
    for writer in writers:
        writer.start()
    while not all((tmp_path / str(n)).exists() and (tmp_path / str(n)).stat().st_size > 2000 for n in range(3)):
        time.sleep(0.003)
    time.sleep(0.01 * round_)
    for writer in writers:
        writer.kill()
        writer.join()
    heir = Spool(tmp_path / "spool")
    found = []
    while heir.claim():
        found += drain(heir, 50)
    assert segments(tmp_path / "spool") == []
    for number in range(3):
        told = [int(line) for line in (tmp_path / str(number)).read_bytes().splitlines()]
        kept = [int(each.split(b" ")[0].split(b"-")[1]) for each in found if each.startswith(b"%d-" % number)]
        assert kept[: len(told)] == told
        assert len(kept) - len(told) in {0, 1}


def test_new_events_are_refused_at_the_cap_if_that_is_the_policy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spools, "_FULL_SECONDS", 0.0)
    spool = Spool(tmp_path, segment_bytes=2000, cap_bytes=8000, full="drop-newest")
    kept = 0
    for number in range(400):
        try:
            spool.append(b"%06d" % number * 8)
            kept += 1
        except Full:
            assert number >= kept
    assert 50 < kept < 400
    assert spool.dropped == 400 - kept
    assert len(caplog.records) == 1
    batch = spool.take(40, backlog=False)
    assert batch is not None
    spool.done(batch)
    assert drain(spool, 50) == [b"%06d" % number * 8 for number in range(len(batch.records), kept)]
    spool.append(b"there is room again")
    assert drain(spool) == [b"there is room again"]


def test_processes_that_each_leave_little_respect_the_cap_too(tmp_path: Path) -> None:
    for number in range(40):
        spool = Spool(tmp_path, segment_bytes=2000, cap_bytes=8000)
        spool.append(b"%04d" % number * 250)
        spool.close()
    assert sum(path.stat().st_size for path in segments(tmp_path)) <= 8000
    heir = Spool(tmp_path)
    assert heir.claim()
    assert drain(heir)[-1] == b"0039" * 250


@pytest.mark.parametrize("policy", ["interval", "always"])
def test_fsync_reaches_the_disk_as_the_policy_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(spools, "to_disk", lambda fd: synced.append(os.fstat(fd).st_size))
    monkeypatch.setattr("headwater.client.durability._SECONDS", 0.02)
    spool = Spool(tmp_path, fsync=policy)
    for number in range(5):
        spool.append(b"%d" % number)
    deadline = time.monotonic() + 5
    while (not synced or synced[-1] != 21 + 5 * 11) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert synced[-1] == 21 + 5 * 11
    assert len(synced) == 5 if policy == "always" else len(synced) <= 5
    spool.append(b"last")
    spool.close()
    assert synced[-1] == 21 + 5 * 11 + 14


def test_an_emptied_segment_does_not_keep_an_old_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name says how long its events have waited."""
    spool = Spool(tmp_path)
    spool.append(b"one")
    drain(spool)
    (first,) = segments(tmp_path)
    monkeypatch.setattr(spools, "_STALE_SECONDS", 0.0)
    spool.append(b"two")
    drain(spool)
    assert segments(tmp_path) == []
    spool.append(b"three")
    assert segments(tmp_path) != [first]
    spool.close()


def test_what_waits_is_counted_while_it_is_held(tmp_path: Path) -> None:
    living, dead = Spool(tmp_path), Spool(tmp_path)
    for number in range(5):
        living.append(b"%d" % number)
    dead.append(b"left behind")
    dead.close()
    found = waiting(tmp_path)
    assert (found.events, found.left, found.bytes) == (6, 1, 5 * 11 + 21)
    assert 0 <= found.oldest_seconds < 30
    assert found.holders in {(os.getpid(),), ()}, "without /proc/locks, no holder is named"
    assert drain(living) == [b"%d" % number for number in range(5)]
    living.close()
    assert (waiting(tmp_path).events, waiting(tmp_path / "none").events) == (1, 0)


def test_what_many_processes_left_goes_together(tmp_path: Path) -> None:
    """Ten thousand short processes during an outage must not cost ten thousand requests."""
    for number in range(50):
        spool = Spool(tmp_path)
        spool.append(b"a%d" % number)
        spool.append(b"b%d" % number)
        spool.close()
    heir = Spool(tmp_path)
    assert heir.claim()
    first = heir.take(30, backlog=True)
    assert first is not None
    assert first.records == [b"%c%d" % (letter, number) for number in range(15) for letter in b"ab"]
    heir.done(first)
    assert len(segments(tmp_path)) == 35
    heir.close()
    heir = Spool(tmp_path)
    assert heir.claim()
    rest = heir.take(500, backlog=True)
    assert rest is not None
    assert len(rest.records) == 70
    heir.done(rest)
    assert segments(tmp_path) == []
    assert not heir.pending(backlog=True)


def test_a_full_disk_that_gives_names_but_no_room_costs_neither_descriptors_nor_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file can be made on a disk that is full; that was a descriptor and an empty file for every event, and a look at all of them."""
    writes = 0

    def refusing(fd: int, data: bytes, at: int) -> int:
        nonlocal writes
        writes += 1
        raise OSError(28, "No space left on device")

    spool = Spool(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as full:
        full.setattr(spools.os, "pwrite", refusing)
        for _ in range(50):
            with pytest.raises(OSError, match="No space left"):
                spool.append(b"{}")
    assert writes < 10
    assert segments(tmp_path) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    monkeypatch.setattr(spools, "_FULL_SECONDS", 0.0)
    deadline = time.monotonic() + 5
    while not segments(tmp_path) and time.monotonic() < deadline:  # there is room again
        with contextlib.suppress(OSError):
            spool.append(b"{}")
        time.sleep(0.01)
    assert spool.count() == 1
    spool.close()
