"""Delta tables by their logs: written by hand as the protocol has it, with checkpoints, deletion vectors and mapped columns."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.capture.storage.delta import commits, delta, times
from headwater.errors import InvalidQuestion, NotFound, UnreadableContent


def add(path: str, **values: str | None) -> dict[str, Any]:
    return {"add": {"path": path, "partitionValues": values, "size": 1, "modificationTime": 0, "dataChange": True}}


def remove(path: str) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 0, "dataChange": True}}


def vector(action: dict[str, Any], id_: str) -> dict[str, Any]:
    (body,) = action.values()
    body["deletionVector"] = {
        "storageType": "u",
        "pathOrInlineDv": id_,
        "offset": 1,
        "sizeInBytes": 1,
        "cardinality": 1,
    }
    return action


def metadata(*columns: str, physical: dict[str, str] | None = None) -> dict[str, Any]:
    fields = [
        {"name": each, "type": "string", "nullable": True, "metadata": {"delta.columnMapping.physicalName": physical[each]} if physical else {}}
        for each in columns
    ]  # fmt: skip
    schema = json.dumps({"type": "struct", "fields": fields})
    return {"metaData": {"id": "x", "schemaString": schema, "partitionColumns": list(columns), "configuration": {}}}


PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}


def commit(table: Path, version: int, *actions: dict[str, Any]) -> None:
    log = table / "_delta_log"
    log.mkdir(exist_ok=True)
    said = [{"commitInfo": {"timestamp": 0}}, *actions]
    (log / f"{version:020}.json").write_text("\n".join(json.dumps(each) for each in said) + "\n")


def checkpoint(table: Path, version: int, actions: list[dict[str, Any]], part: str = "") -> None:
    partition = pa.map_(pa.string(), pa.string())
    dv = pa.struct([("storageType", pa.string()), ("pathOrInlineDv", pa.string()), ("offset", pa.int32())])
    schema = pa.schema(
        [
            ("add", pa.struct([("path", pa.string()), ("partitionValues", partition), ("stats", pa.string()), ("deletionVector", dv)])),
            ("metaData", pa.struct([("schemaString", pa.string()), ("partitionColumns", pa.list_(pa.string()))])),
            ("protocol", pa.struct([("minReaderVersion", pa.int32())])),
        ]
    )  # fmt: skip
    pq.write_table(
        pa.Table.from_pylist(actions, schema), table / "_delta_log" / f"{version:020}.checkpoint{part}.parquet"
    )


def test_live_files_only(tmp_path: Path) -> None:
    commit(tmp_path, 0, PROTOCOL, metadata("dt"), add("a", dt="2024-03-10"), add("b", dt="2024-03-11"))
    commit(tmp_path, 1, remove("a"), add("c", dt="2024-03-12"), add("d", dt=None))
    listing = delta(str(tmp_path))
    assert set(listing.texts) == {"2024-03-11", "2024-03-12"}
    assert (listing.ignored, listing.storage) == (1, {"delta_version": 1, "table": str(tmp_path)})


def test_a_deletion_vector_leaves_the_file(tmp_path: Path) -> None:
    commit(tmp_path, 0, PROTOCOL, metadata("dt"), add("a", dt="2024-03-10"))
    commit(tmp_path, 1, vector(add("a", dt="2024-03-10"), "v1"), remove("a"))
    assert set(delta(str(tmp_path)).texts) == {"2024-03-10"}
    commit(tmp_path, 2, vector(remove("a"), "v1"))
    assert set(delta(str(tmp_path)).texts) == set()


def test_mapped_columns_and_hours(tmp_path: Path) -> None:
    names = {"dt": "col-1", "hour": "col-2", "country": "col-3"}
    commit(tmp_path, 0, PROTOCOL, metadata("dt", "hour", "country", physical=names), add("a", **{"col-1": "2024-03-10", "col-2": "5", "col-3": "fr"}))  # fmt: skip
    assert set(delta(str(tmp_path)).texts) == {"2024-03-10T05"}
    assert set(delta(str(tmp_path), "dt").texts) == {"2024-03-10"}


def test_random_tables_with_partly_deleted_logs(tmp_path: Path) -> None:
    """The same answer from all commits and from a checkpoint, of one part or several, with the commits before it gone."""
    draw = random.Random(42)
    for trial in range(25):
        table = tmp_path / str(trial)
        table.mkdir()
        live: dict[str, str] = {}
        versions = draw.randrange(1, 8)
        checkpoints = {version for version in range(versions) if draw.random() < 0.4}
        for version in range(versions):
            actions: list[dict[str, Any]] = [PROTOCOL, metadata("dt")] if version == 0 else []
            for path in draw.sample(sorted(live), draw.randrange(len(live) + 1)):
                actions.append(remove(path))
                del live[path]
            for number in range(draw.randrange(4)):
                path = f"{version}-{number}"
                live[path] = f"2024-03-{draw.randrange(1, 29):02}"
                actions.append(add(path, dt=live[path]))
            commit(table, version, *actions)
            if version in checkpoints:
                rows = [PROTOCOL, metadata("dt"), *(add(path, dt=day) for path, day in live.items())]
                if draw.random() < 0.5:
                    checkpoint(table, version, rows)
                else:
                    half = draw.randrange(len(rows) + 1)
                    checkpoint(table, version, rows[:half], ".0000000001.0000000002")
                    checkpoint(table, version, rows[half:], ".0000000002.0000000002")
        if checkpoints and draw.random() < 0.7:
            for version in range(max(checkpoints) + 1):
                (table / f"_delta_log/{version:020}.json").unlink()
        assert set(delta(str(table)).texts) == set(live.values())


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing was compared"):
        delta(str(tmp_path))
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(NotFound, match="no commit"):
        delta(str(tmp_path))
    commit(tmp_path, 0, PROTOCOL, metadata())
    with pytest.raises(InvalidQuestion, match="none of the partition columns"):
        delta(str(tmp_path))
    commit(tmp_path, 2, add("a"))
    with pytest.raises(UnreadableContent, match="lacks the commit of version 1"):
        delta(str(tmp_path))
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text('{"add":{"path":')
    with pytest.raises(UnreadableContent, match="line 1"):
        delta(str(tmp_path))
    (tmp_path / "_delta_log" / f"{3:020}.checkpoint.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UnreadableContent, match="not a supported checkpoint"):
        delta(str(tmp_path))


def test_a_checkpoint_of_the_second_form_is_not_half_read(tmp_path: Path) -> None:
    commit(tmp_path, 0, PROTOCOL, metadata("dt"), add("a", dt="2024-03-10"))
    checkpoint(tmp_path, 0, [PROTOCOL])
    path = tmp_path / f"_delta_log/{0:020}.checkpoint.parquet"
    rows = pq.read_table(path)
    version = pa.array([{"version": 0}], pa.struct([("version", pa.int64())]))
    pq.write_table(rows.append_column("checkpointMetadata", version), path)
    with pytest.raises(UnreadableContent, match="V2 checkpoint"):
        delta(str(tmp_path))


def test_half_a_checkpoint_is_none(tmp_path: Path) -> None:
    commit(tmp_path, 0, PROTOCOL, metadata("dt"), add("a", dt="2024-03-10"))
    commit(tmp_path, 1, add("b", dt="2024-03-11"))
    checkpoint(tmp_path, 1, [PROTOCOL], ".0000000001.0000000002")
    assert set(delta(str(tmp_path)).texts) == {"2024-03-10", "2024-03-11"}


def test_a_catalog_that_keeps_the_commits(tmp_path: Path) -> None:
    commit(tmp_path, 0, {"protocol": {"minReaderVersion": 3, "readerFeatures": ["catalogManaged"]}}, metadata("dt"))
    with pytest.raises(InvalidQuestion, match="kept by a catalog"):
        delta(str(tmp_path))


def test_what_a_version_had(tmp_path: Path) -> None:
    commit(tmp_path, 0, PROTOCOL, metadata("year", "month"), add("a", year="2024", month="3"))
    commit(tmp_path, 1, add("b", year="2024", month="03"), add("c", year="2024", month=None))
    commit(tmp_path, 2, remove("a"), remove("b"), add("d", year="2024", month="4"))
    assert times(str(tmp_path)).partitions == {"2024-04": [{"year": "2024", "month": "4"}]}
    then = times(str(tmp_path), version=1)
    assert then.partitions == {"2024-03": [{"year": "2024", "month": "3"}, {"year": "2024", "month": "03"}]}
    assert (then.version, then.columns, then.types) == (
        1,
        {"year": "year", "month": "month"},
        {"year": "string", "month": "string"},
    )
    with pytest.raises(NotFound, match="has no version 3; the newest is 2"):
        times(str(tmp_path), version=3)


def test_what_changed_rows_since(tmp_path: Path) -> None:
    commit(tmp_path, 0, PROTOCOL, metadata("dt"), add("a", dt="2024-03-10"))
    commit(tmp_path, 1, add("b", dt="2024-03-11"), {"commitInfo": {"userMetadata": "ours"}})
    moved = add("c", dt="2024-03-10")
    moved["add"]["dataChange"] = False
    commit(tmp_path, 2, moved, add("d", dt=None))
    commit(tmp_path, 3, remove("b"))
    assert list(commits(str(tmp_path), 0)) == [(1, {"2024-03-11"}, "ours"), (2, set(), ""), (3, {None}, "")]
    (tmp_path / "_delta_log" / f"{2:020}.json").unlink()
    checkpoint(tmp_path, 3, [PROTOCOL, metadata("dt")])
    with pytest.raises(UnreadableContent, match="lacks the commit of version 2"):
        list(commits(str(tmp_path), 0))
