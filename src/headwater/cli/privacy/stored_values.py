"""One value in files of any usual form: text, compressed text, Parquet, ORC, Arrow, Avro, archives and dumps of PostgreSQL.

A search of the bytes finds nothing in a compressed file, and finding nothing must not be called a proof then. So a file has the value, or was read
whole and has it not, or was not read, with the reason. Nothing is guessed to be clean. Refuses to write, to follow links, and to read what is not a
file here.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import stat
import subprocess
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Literal, NamedTuple

_CHUNK: Final = 1 << 20
_DEEPEST: Final = 4
_IN_MEMORY: Final = 64 << 20
_TEXT_HEAD: Final = 8192
State = Literal["found", "clean", "unread"]


class ScannedFile(NamedTuple):
    """`why`: the reason that it was not read, or the part of it in which the value is; empty of most."""

    path: str
    state: State
    why: str = ""


class _Unread(Exception):
    """The file is of a form that cannot be read here; the text says what would."""


class _Value(NamedTuple):
    """`forms`: the bytes that text may have it as."""

    text: str
    forms: tuple[bytes, ...]

    @property
    def is_number(self) -> bool:
        return self.text.lstrip("-").replace(".", "", 1).isdigit()


def scan(subject: str, paths: Iterable[Path]) -> Iterator[ScannedFile]:
    """Yield each file of these files and folders, in order of its path. Raises nothing for a file: what goes wrong is its reason."""
    value = _Value(subject, _forms(subject))
    for path in paths:
        for file, trouble in _files(path):
            yield ScannedFile(str(file), "unread", trouble) if trouble else _scan_file(value, file)


def _forms(subject: str) -> tuple[bytes, ...]:
    escaped = json.dumps(subject)[1:-1]
    texts = {
        subject,
        escaped,
        escaped.replace("/", "\\/"),
        json.dumps(subject, ensure_ascii=False)[1:-1],
        subject.replace('"', '""'),
        subject.replace("'", "''"),
    }
    found = {text.encode(code, "ignore") for text in texts for code in ("utf-8", "utf-16-le", "utf-16-be")}
    if not subject.isascii():
        found |= {
            subject.encode(code)
            for code in ("latin-1", "cp1252")
            if subject.encode(code, "ignore").decode(code) == subject
        }
    return tuple(sorted(form for form in found if form))


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    if path.is_symlink() and path.is_dir():
        yield path, "it is a link to a folder: name the folder itself"
    elif path.is_dir():
        try:
            inner = sorted(path.iterdir())
        except OSError as error:
            yield path, str(error)
            return
        for one in inner:
            yield from _files(one)
    elif not path.exists():
        yield path, "there is no such file"
    elif not stat.S_ISREG(path.stat().st_mode):
        yield path, "it is no file"
    else:
        yield path, ""


def _scan_file(value: _Value, path: Path) -> ScannedFile:
    try:
        with path.open("rb") as file:
            where = _look(value, file, str(path), 0)
    except _Unread as reason:
        return ScannedFile(str(path), "unread", str(reason))
    except Exception as error:  # noqa: BLE001 - a broken file of any form, in each library's own words
        return ScannedFile(str(path), "unread", f"it cannot be read: {type(error).__name__}: {str(error)[:200]}")
    return ScannedFile(str(path), "clean") if where is None else ScannedFile(str(path), "found", where)


def _look(value: _Value, file: IO[bytes], name: str, depth: int) -> str | None:
    """Return where in a file the value is, "" for the file itself; None: nowhere. Raises _Unread."""
    if depth > _DEEPEST:
        raise _Unread(f"{name}: archives in archives, {_DEEPEST} deep")
    head = file.read(16)
    file.seek(0)
    for starts, look in _LOOKS.items():
        if head.startswith(starts):
            return look(value, file, name, depth)
    return _look_bytes(value, file)


def _look_bytes(value: _Value, file: IO[bytes]) -> str | None:
    longest = max(map(len, value.forms))
    tail, first = b"", True
    is_text = True
    while chunk := file.read(_CHUNK):
        if first:
            is_text, first = _is_text(chunk[:_TEXT_HEAD]), False
        here = tail + chunk
        if any(form in here for form in value.forms):
            return ""
        tail = here[-longest:]
    if not is_text:
        raise _Unread("it is of a binary form that is not known here; the value is not in it as text")
    return None


def _is_text(head: bytes) -> bool:
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" not in head


@contextmanager
def _unpacked(stream: Any) -> Iterator[IO[bytes]]:
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as copy:
        shutil.copyfileobj(stream, copy, _CHUNK)
        copy.seek(0)
        yield copy


def _look_within(value: _Value, stream: Any, name: str, depth: int) -> str | None:
    with stream, _unpacked(stream) as inner:
        return _look(value, inner, name, depth + 1)


def _look_checksums(value: _Value, file: IO[bytes], name: str) -> str | None:
    """Look into Hadoop's sums of the file beside them: `crc`, a zero, the size of a block, and 4 bytes for each of its blocks."""
    sums = Path(name)
    beside = sums.with_name(sums.name.removeprefix(".").removesuffix(".crc"))
    block = int.from_bytes(file.read(8)[4:], "big")
    file.seek(0)
    if beside != sums and block and beside.is_file():
        blocks = -(-beside.stat().st_size // block)
        if file.seek(0, os.SEEK_END) == 8 + 4 * blocks:
            return None
        file.seek(0)
    return _look_bytes(value, file)


def _look_zip(value: _Value, file: IO[bytes], depth: int) -> str | None:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            if member.flag_bits & 1:
                raise _Unread(f"{member.filename} in it is encrypted")
            with archive.open(member) as stream, _unpacked(stream) as inner:
                if _look(value, inner, member.filename, depth + 1) is not None:
                    return member.filename
    return None


def _zstd(file: IO[bytes]) -> Any:
    try:
        import zstandard
    except ImportError:
        raise _Unread("it is compressed by zstd: pip install 'headwater[fingerprint]'") from None
    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=False)


def _look_dump(value: _Value, file: IO[bytes]) -> str | None:
    """A dump of `pg_dump --format=custom` is compressed block by block; pg_restore writes it as text."""
    program = shutil.which("pg_restore")
    if program is None:
        raise _Unread("it is a dump of PostgreSQL: install pg_restore of the same version or a later one")
    with tempfile.TemporaryFile() as text, tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(file, copy, _CHUNK)
        copy.flush()
        done = subprocess.run([program, "--file=-", copy.name], stdout=text, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise _Unread(f"pg_restore cannot read it: {done.stderr.decode('utf-8', 'replace').strip()[:200]}")
        text.seek(0)
        return _look_bytes(value, text)


def _look_table(value: _Value, file: IO[bytes], form: str) -> str | None:
    try:
        import pyarrow
    except ImportError:
        raise _Unread(f"it is of the form {form}: pip install 'headwater[export]'") from None
    source = pyarrow.PythonFile(file, mode="r")
    for batch in _batches(source, form):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if _has(value, column):
                return str(name)
    return None


def _batches(source: Any, form: str) -> Iterator[Any]:
    if form == "parquet":
        from pyarrow import parquet

        yield from parquet.ParquetFile(source).iter_batches(10_000)
    elif form == "orc":
        from pyarrow import orc

        reader = orc.ORCFile(source)
        for number in range(reader.nstripes):
            yield reader.read_stripe(number)
    else:
        from pyarrow import ipc

        opened = ipc.open_file(source)
        for number in range(opened.num_record_batches):
            yield opened.get_batch(number)


def _has(value: _Value, column: Any) -> bool:
    """Return whether a column, or a column in it, has the value: text that contains it, or anything else that is it when written."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    if pa.types.is_dictionary(kind) or pa.types.is_nested(kind):
        return any(_has(value, each) for each in _inner(column))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return any(
            compute.any(compute.match_substring(column, text)).as_py()
            for text in {value.text, json.dumps(value.text)[1:-1]}
        )
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return any(form in one for one in column.to_pylist() if one is not None for form in value.forms)
    return any(one is not None and str(one) == value.text for one in column.to_pylist())


def _inner(column: Any) -> list[Any]:
    """Return the columns in a column: the values of a dictionary, the fields of a struct, keys and items of a map, the elements of a list."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return [column.dictionary]
    if pa.types.is_struct(column.type):
        return list(column.flatten())
    return [column.keys, column.items] if pa.types.is_map(column.type) else [column.flatten()]


def _look_avro(value: _Value, file: IO[bytes]) -> str | None:
    if value.is_number:
        raise _Unread("Avro writes numbers in a form of its own")
    whole = io.BytesIO(file.read())
    whole.seek(4)
    codec = "null"
    while count := _long(whole):
        if count < 0:
            count = -count
            _long(whole)
        for _ in range(count):
            name, body = _avro_bytes(whole), _avro_bytes(whole)
            if name == b"avro.codec":
                codec = body.decode()
            if any(form in body for form in value.forms):
                return "its header"
    if codec not in {"null", "deflate"}:
        raise _Unread(f"it is Avro compressed by {codec}")
    whole.seek(16, os.SEEK_CUR)
    while whole.read(1):
        whole.seek(-1, os.SEEK_CUR)
        _long(whole)
        block = _avro_bytes(whole)
        if codec == "deflate":
            block = zlib.decompress(block, -15)
        if any(form in block for form in value.forms):
            return ""
        whole.seek(16, os.SEEK_CUR)
    return None


def _avro_bytes(file: IO[bytes]) -> bytes:
    return file.read(_long(file))


def _long(file: IO[bytes]) -> int:
    """Read a zigzag number of variable length."""
    shift = found = 0
    while True:
        (byte,) = file.read(1)
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1)
        shift += 7


_LOOKS: Final[dict[tuple[bytes, ...], Callable[[_Value, IO[bytes], str, int], str | None]]] = {
    (b"\x1f\x8b",): lambda value, file, name, depth: _look_within(
        value, gzip.GzipFile(fileobj=file, mode="rb"), name, depth
    ),
    (b"BZh",): lambda value, file, name, depth: _look_within(value, bz2.BZ2File(file), name, depth),
    (b"\xfd7zXZ\x00",): lambda value, file, name, depth: _look_within(value, lzma.LZMAFile(file), name, depth),  # noqa: SIM115
    (b"\x28\xb5\x2f\xfd",): lambda value, file, name, depth: _look_within(value, _zstd(file), name, depth),
    (b"PK\x03\x04", b"PK\x05\x06"): lambda value, file, _name, depth: _look_zip(value, file, depth),
    (b"PGDMP",): lambda value, file, _name, _depth: _look_dump(value, file),
    (b"PAR1", b"PARE"): lambda value, file, _name, _depth: _look_table(value, file, "parquet"),
    (b"ORC",): lambda value, file, _name, _depth: _look_table(value, file, "orc"),
    (b"ARROW1",): lambda value, file, _name, _depth: _look_table(value, file, "arrow"),
    (b"crc\x00",): lambda value, file, name, _depth: _look_checksums(value, file, name),
    (b"Obj\x01",): lambda value, file, _name, _depth: _look_avro(value, file),
}
