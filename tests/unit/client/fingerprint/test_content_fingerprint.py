"""Fingerprints of files: equal to what the system's own programs say, whole or not at all."""

import bz2
import gzip
import io
import lzma
import os
import random
import subprocess
import sys
import threading
import zipfile
from functools import cache
from pathlib import Path

import pytest
import xxhash
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scale import full

from headwater.client.fingerprint import fingerprint
from headwater.client.fingerprint.ahead import ahead
from headwater.client.fingerprint.manifest import Entry, digest_of
from headwater.errors import ContentChanged, NotFound, UnreadableContent

ROWS = b"".join(
    b"DE%011d,2026-11-21T%02d:00:00Z,%d.%03d\n" % (n, n % 24, n % 7, n % 997) for n in range(30_000)
)  # more than is read, and handed on, at once


def zstd(content: bytes, **options: object) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(content)


def zstd_stream(content: bytes) -> bytes:
    """A frame that does not say its size, with a checksum."""
    packed = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return packed.compress(content) + packed.flush()


# The rows are packed once: xz takes half a second for them.
PACK = {"gzip": gzip.compress, "bz2": bz2.compress, "xz": cache(lzma.compress), "zstd": zstd}


def text(content: bytes) -> str:
    return f"xxh3-128:{xxhash.xxh3_128_hexdigest(content)}"


def kept(folder: Path, data: bytes, name: str = "data") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


# -- content


def test_it_is_what_xxhsum_says(tmp_path):
    path = kept(tmp_path, ROWS)
    said = subprocess.run(["xxhsum", "-H2", path], capture_output=True, check=True, text=True).stdout.split()[0]
    found = fingerprint(path)
    assert (found.text, found.bytes, found.stored_bytes, found.kind) == (
        f"xxh3-128:{said}",
        len(ROWS),
        len(ROWS),
        "plain",
    )
    assert fingerprint(str(path)) == fingerprint(os.fsencode(path)) == fingerprint(f"file://{path}") == found


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("content", [b"", b"a", ROWS], ids=["empty", "one byte", "rows"])
def test_packed_content_is_content(tmp_path, kind, content):
    packed = PACK[kind](content)
    found = fingerprint(kept(tmp_path, packed))
    assert found.text == text(content)
    assert (found.bytes, found.stored_bytes, found.kind, found.members) == (len(content), len(packed), kind, 1)
    assert fingerprint(tmp_path / "data", raw=True).text == text(packed)


@pytest.mark.parametrize("kind", PACK)
def test_members_one_after_the_other(tmp_path, kind):
    found = fingerprint(kept(tmp_path, PACK[kind](ROWS) + PACK[kind](b"") + PACK[kind](b"the end\n")))
    assert (found.text, found.members) == (text(ROWS + b"the end\n"), 3)


def test_very_many_small_members(tmp_path):
    found = fingerprint(kept(tmp_path, gzip.compress(b"x", mtime=0) * 20_000))
    assert (found.text, found.members) == (text(b"x" * 20_000), 20_000)


@settings(deadline=None, max_examples=full(60, 20))
@given(st.sampled_from(sorted(PACK)), st.lists(st.binary(max_size=3000), min_size=1, max_size=4), st.randoms())
def test_any_members(tmp_path_factory, kind, contents, rng):
    folder = tmp_path_factory.mktemp("any")
    grown = [content * rng.choice([1, 1, 500]) for content in contents]
    assert fingerprint(kept(folder, b"".join(map(PACK[kind], grown)))).text == text(b"".join(grown))


def test_zstd_frames_of_all_forms(tmp_path):
    skippable = b"\x53\x2a\x4d\x18" + (300).to_bytes(4, "little") + b"s" * 300
    data = skippable + zstd_stream(ROWS) + skippable + zstd(b"\0" * 400_000) + zstd(os.urandom(300_000)[:0])
    found = fingerprint(kept(tmp_path, data))
    assert (found.text, found.kind, found.members) == (text(ROWS + b"\0" * 400_000), "zstd", 3)


def test_gzip_with_every_header_field(tmp_path):
    body = gzip.compress(b"named")[10:]
    header = b"\x1f\x8b\x08\x1e\0\0\0\0\0\x03" + b"\x04\0ab\x00\x00" + b"name.csv\0" + b"a comment\0"
    crc = (__import__("zlib").crc32(header) & 0xFFFF).to_bytes(2, "little")
    assert fingerprint(kept(tmp_path, header + crc + body)).text == text(b"named")


def test_what_follows_is_ignored_where_its_own_program_ignores_it(tmp_path):
    packed = gzip.compress(ROWS)
    padded = fingerprint(kept(tmp_path, packed + b"\0" * 5000))
    assert (padded.text, padded.ignored) == (text(ROWS), 0)
    between = fingerprint(kept(tmp_path, packed + b"\0" * 5000 + packed))
    assert (between.text, between.members) == (text(ROWS + ROWS), 2)
    for data in (packed, bz2.compress(ROWS)):
        trailing = fingerprint(kept(tmp_path, data + b"not a member"))
        assert (trailing.text, trailing.ignored) == (text(ROWS), 12)
    assert fingerprint(kept(tmp_path, lzma.compress(b"x") + b"\0" * 8 + lzma.compress(b"y"))).text == text(b"xy")


@pytest.mark.parametrize("kind", PACK)
def test_truncated_content_is_an_error_with_its_place(tmp_path, kind):
    packed = PACK[kind](ROWS)
    for length in (len(packed) - 1, len(packed) - 5, len(packed) // 2, 13):
        with pytest.raises(UnreadableContent) as raised:
            fingerprint(kept(tmp_path, packed[:length]))
        assert raised.value.detail["offset"] == length, raised.value.message
        assert "cut off" in raised.value.message
    with pytest.raises(UnreadableContent, match="cut off") as raised:
        fingerprint(kept(tmp_path, packed + packed[: len(packed) // 2]))
    assert f"began at byte {len(packed):,}" in raised.value.message


@pytest.mark.parametrize("kind", ["gzip", "bz2", "xz", "zstd"])
def test_damage_is_never_a_fingerprint(tmp_path, kind):
    packed = zstd_stream(ROWS) if kind == "zstd" else PACK[kind](ROWS)
    rng, places = random.Random(5), []
    rounds = full(40, 12)
    for _ in range(rounds):
        at, bit = rng.randrange(12, len(packed)), 1 << rng.randrange(8)
        damaged = packed[:at] + bytes([packed[at] ^ bit]) + packed[at + 1 :]
        kept(tmp_path, damaged)
        try:
            found = fingerprint(tmp_path / "data")
        except UnreadableContent as error:
            places.append(error.detail["offset"])
        else:  # a field of a header that says nothing of the content
            assert found.text == text(ROWS), f"bit {bit} of byte {at}"
    assert len(places) > rounds * 3 // 4
    assert all(0 <= place <= len(packed) for place in places)


@pytest.mark.parametrize("kind", ["xz", "zstd"])
def test_garbage_is_refused_where_its_own_program_refuses_it(tmp_path, kind):
    with pytest.raises(UnreadableContent):
        fingerprint(kept(tmp_path, PACK[kind](ROWS) + b"not a stream"))


@pytest.mark.parametrize("data", [b"BZh, said the fly", b"PK", b"\x28\xb5", b"\x50\x2a\x4d\x18", b"\x1f", b"BZh91"])
def test_what_only_begins_alike_is_content(tmp_path, data):
    found = fingerprint(kept(tmp_path, data))
    assert (found.text, found.kind) == (text(data), "plain")


def test_a_bomb_takes_little_memory(tmp_path):
    bomb = kept(tmp_path, zstd(b"\0" * (1 << 28)))
    gzip_bomb = kept(tmp_path, gzip.compress(b"\0" * (1 << 28), 1), "gz")
    script = (
        "import sys\nfrom headwater.client.fingerprint import fingerprint\n"
        "for path in sys.argv[1:]: print(fingerprint(path).bytes)\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", script, bomb, gzip_bomb], capture_output=True, check=True, text=True)
    first, second, peak = map(int, done.stdout.split())
    assert first == second == 1 << 28
    assert peak < 100_000, "kilobytes"


@pytest.mark.parametrize("length", [(32 << 20) - 1, 32 << 20, (33 << 20) + 17, (34 << 20), (35 << 20) + 1])
def test_large_files_read_by_two(tmp_path, length):
    content = random.Random(length).randbytes(1 << 20) * 36
    content = b"".join(bytes([n]) + content[n << 20 : (n + 1) << 20] for n in range(36))[:length]
    seen: list[tuple[int, int | None]] = []
    found = fingerprint(kept(tmp_path, content), progress=lambda done, total: seen.append((done, total)))
    assert (found.text, found.bytes, found.stored_bytes) == (text(content), length, length)
    assert seen[-1] == (length, length)


# -- zip


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_of_one_file_is_its_content(tmp_path, method):
    found = fingerprint(kept(tmp_path, zipped({"a/": b"", "a/rows.csv": ROWS, "__MACOSX/a/._rows.csv": b"x"}, method)))
    assert (found.text, found.bytes, found.kind, found.members) == (text(ROWS), len(ROWS), "zip", 1)


def test_a_zip_of_several_is_the_folder_it_holds(tmp_path):
    members = {"b.csv": b"b", "a/1.csv": ROWS, "ä.csv": b""}
    found = fingerprint(kept(tmp_path, zipped(members), "one.zip"))
    other = fingerprint(kept(tmp_path, zipped(dict(reversed(members.items())), zipfile.ZIP_STORED), "two.zip"))
    assert found.text == other.text
    assert found.members == 3
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        archive.extractall(tmp_path / "folder")
    assert fingerprint(tmp_path / "folder").text == found.text
    assert fingerprint(kept(tmp_path, zipped(members | {"b.csv": b"c"}), "three.zip")).text != found.text
    assert fingerprint(kept(tmp_path, zipped({}), "none.zip")).members == 0


def test_damaged_zips_are_errors(tmp_path):
    packed = zipped({"rows.csv": ROWS})
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 4
    with pytest.raises(UnreadableContent, match=r"'rows\.csv' in the zip is damaged") as raised:
        fingerprint(kept(tmp_path, bytes(flipped)))
    assert raised.value.detail["offset"] == 0
    with pytest.raises(UnreadableContent, match="without a readable list"):
        fingerprint(kept(tmp_path, packed[:-30]))
    locked = bytearray(packed)
    locked[packed.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(UnreadableContent, match="encrypted"):
        fingerprint(kept(tmp_path, bytes(locked)))


# -- what is not there, or not still


def test_unreadable_files_are_errors(tmp_path):
    with pytest.raises(NotFound, match="no such file"):
        fingerprint(tmp_path / "missing.csv")
    for name in (b"missing", b"missing/below", b"", b"a\0b"):
        with pytest.raises(NotFound):
            fingerprint(os.fsencode(tmp_path) + b"/" + name if name else name)
    kept(tmp_path, b"x")
    with pytest.raises(NotFound):
        fingerprint(tmp_path / "data" / "below")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "broken").symlink_to("nowhere")
    with pytest.raises(UnreadableContent, match="broken cannot be read"):
        fingerprint(tmp_path / "folder")
    (tmp_path / "folder" / "broken").unlink()
    os.mkfifo(tmp_path / "folder" / "pipe")
    with pytest.raises(UnreadableContent, match="neither a file nor a folder"):
        fingerprint(tmp_path / "folder")


@pytest.mark.parametrize("name", ["plain", "gzip", "folder"])
def test_a_file_that_changes_meanwhile_is_an_error(tmp_path, name):
    data = gzip.compress(ROWS * 20, 1) if name == "gzip" else ROWS * 20
    path = kept(tmp_path, data)

    def change(done: int, total: int | None) -> None:
        with path.open("ab") as file:
            file.write(b"\0")

    with pytest.raises(ContentChanged, match="while it was read") as raised:
        fingerprint(tmp_path if name == "folder" else path, progress=change)
    assert not raised.value.permanent


def test_a_pipe_is_read_once_and_in_order(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(ROWS)))
    writer.start()
    found = fingerprint(pipe)
    writer.join()
    assert (found.text, found.kind) == (text(ROWS), "gzip")


# -- folders


def test_a_folder_is_its_names_and_contents(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for root, order in ((one, ("b.csv", "a/c.csv", "empty")), (two, ("empty", "a/c.csv", "b.csv"))):
        for name in order:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(b"" if name == "empty" else name.encode())
    found = fingerprint(one)
    assert found.text.startswith("xxh3-128-dir:")
    assert (found.members, found.bytes, found.kind) == (3, 12, "folder")
    assert fingerprint(two).text == fingerprint(f"{one}/").text == found.text
    script = "cd $1 && find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 xxhsum -H2 | xxhsum -H2"
    said = subprocess.run(["sh", "-c", script, "-", one], capture_output=True, check=True, text=True).stdout.split()[0]
    assert found.text == f"xxh3-128-dir:{said}"
    (two / "b.csv").rename(two / "d.csv")
    assert fingerprint(two).text != found.text
    (two / "d.csv").rename(two / "b.csv")
    (two / "empty").unlink()
    assert fingerprint(two).text != found.text


def test_traces_of_writing_are_left_out_and_nothing_else(tmp_path):
    kept(tmp_path, ROWS, "part-0.csv")
    found = fingerprint(tmp_path).text
    (tmp_path / "_temporary" / "0").mkdir(parents=True)
    for name in (
        "_SUCCESS",
        ".part-0.csv.crc",
        "_temporary/0/part-1",
        "_committed_12",
        "_started_12",
        ".DS_Store",
        "._part-0.csv",
    ):
        kept(tmp_path, b"trace", name)
    (tmp_path / ".spark-staging-1").mkdir()
    kept(tmp_path, b"trace", ".spark-staging-1/part-2")
    assert fingerprint(tmp_path).text == found
    for name in (".hidden", "_data.csv", "x.crc", "_SUCCESS.csv"):
        path = kept(tmp_path, b"content", name)
        assert fingerprint(tmp_path).text != found, name
        path.unlink()


def test_links_are_followed_and_loops_end(tmp_path):
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    kept(root / "a", b"x", "file")
    plain = fingerprint(root).text
    (root / "a" / "up").symlink_to(root)
    (root / "self").symlink_to(".")
    assert fingerprint(root).text == plain
    (root / "b").symlink_to("a")
    assert fingerprint(root).members == 2


def test_names_are_bytes_and_none_can_pretend(tmp_path):
    odd = [b"\xff\xfe", b"a\nb", b"a\\nb", b"\x1b[31m", "ä".encode()]
    for name in odd:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(name)
    assert fingerprint(tmp_path).members == len(odd)
    forged = b"a\n" + b"0" * 32 + b"  b"
    content = text(b"")
    assert digest_of([Entry(forged, content)]) != digest_of([Entry(b"a", content), Entry(b"b", "xxh3-128:" + "0" * 32)])
    assert digest_of([Entry(b"a\nb", content)]) != digest_of([Entry(b"a\\nb", content)])


# -- URLs


@pytest.fixture
def memory():
    import fsspec

    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def test_objects_are_as_files(memory, tmp_path):
    for name, data in {"a.csv": b"a", "b/c.csv.gz": gzip.compress(ROWS), "_SUCCESS": b""}.items():
        memory.pipe(f"/lake/{name}", data)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        kept(tmp_path, data, name)
    assert fingerprint("memory://lake/b/c.csv.gz").text == text(ROWS)
    found, here = fingerprint("memory://lake"), fingerprint(tmp_path)
    assert (found.text, found.members, found.bytes, found.stored_bytes) == (here.text, 2, here.bytes, here.stored_bytes)
    memory.pipe("/lake/z.zip", zipped({"z": b"z"}))
    assert fingerprint("memory://lake/z.zip").text == text(b"z")
    with pytest.raises(NotFound):
        fingerprint("memory://lake/missing")
    with pytest.raises(NotFound):
        fingerprint("nosuchscheme://lake/missing")


def test_an_object_that_changes_meanwhile_is_an_error(memory):
    memory.pipe("/lake/a.csv", ROWS)
    with pytest.raises(ContentChanged):
        fingerprint("memory://lake/a.csv", progress=lambda done, total: memory.pipe("/lake/a.csv", ROWS + b"more"))


def test_errors_of_a_store_are_reported(memory, monkeypatch):
    from fsspec.implementations.memory import MemoryFile

    memory.pipe("/lake/a.csv", ROWS)
    for error in (OSError("connection reset"), RuntimeError("no credentials")):
        monkeypatch.setattr(MemoryFile, "read", lambda *_, error=error: (_ for _ in ()).throw(error))
        with pytest.raises(UnreadableContent, match=str(error)):
            fingerprint("memory://lake/a.csv")


# -- the thread


def test_the_thread_ends_however_it_is_left():
    def endless():
        while True:
            yield b"x"

    before = threading.active_count()
    with ahead(endless()) as pieces:
        assert next(pieces) == b"x"
    assert threading.active_count() == before

    def breaks():
        yield 1
        raise ValueError("in the thread")

    with ahead(breaks()) as numbers:
        assert next(numbers) == 1
        with pytest.raises(ValueError, match="in the thread"):
            next(numbers)
    assert threading.active_count() == before
