"""The spool: nothing whole is lost, nothing torn is fatal, and the dead are inherited from."""

import multiprocessing
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.client.spool import Spool

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
@settings(deadline=None, max_examples=40)
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
@settings(deadline=None, max_examples=80)
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


def test_a_disk_that_refuses_leaves_nothing_half_kept(tmp_path: Path) -> None:
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
