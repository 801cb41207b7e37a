"""The inputs and outputs of a step: the dataset, the item and the content of a place."""

import copy
import gzip
import json
import os
import pickle
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
import xxhash

import headwater
from headwater.client.item import item_at
from headwater.model.names import DatasetName
from stepping import Told, item_of, said


def fingerprint(content: bytes) -> str:
    return f"xxh3-128:{xxhash.xxh3_128_hexdigest(content)}"


def version(entry: dict[str, Any]) -> str | None:
    found = entry["facets"].get("version")
    return found and found["datasetVersion"]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/data/x.csv", ("file", "/data/x.csv")),
        (Path("/data/x.csv"), ("file", "/data/x.csv")),
        (b"/data/x.csv", ("file", "/data/x.csv")),
        ("/data/./a/../x.csv", ("file", "/data/x.csv")),
        ("file:///data/x%20y.csv", ("file", "/data/x y.csv")),
        ("file:/data/x", ("file", "/data/x")),
        ("s3a://bucket/k/x.csv", ("s3://bucket", "k/x.csv")),
        ("s3://bucket/t/day=2021-01-01/p.parquet", ("s3://bucket", "t/day=2021-01-01/p.parquet")),
        ("https://me:secret@h:8443/a/b.csv?token=abc#x", ("https://h:8443", "/a/b.csv")),
        ("sftp://me@h/in/x.gz", ("sftp://h", "/in/x.gz")),
        ("abfss://box@account.dfs.core.windows.net/x", ("abfss://box@account.dfs.core.windows.net", "/x")),
        ("hdfs://me:secret@n:8020/x", ("hdfs://n:8020", "/x")),
        (("postgres://db:5432", "a.public.t"), ("postgres://db:5432", "a.public.t")),
        (DatasetName("bigquery", "a.b.c"), ("bigquery", "a.b.c")),
    ],
)
def test_a_place_is_a_dataset(place: Any, expected: tuple[str, str]) -> None:
    assert item_at(place).dataset == expected


def test_a_relative_path_refers_to_the_working_directory_of_the_call(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with headwater.step("write") as step:
        item = step.output("sub/../report:final.csv", fingerprint=True)
        (tmp_path / "report:final.csv").write_bytes(b"x")
        monkeypatch.chdir("/")
    assert item.dataset == ("file", str(tmp_path / "report:final.csv"))
    assert item.fingerprint == fingerprint(b"x")


def test_an_output_has_an_id_that_other_steps_give_as_their_input(told: Told, tmp_path: Path) -> None:
    with headwater.step("split") as split:
        item = split.output(tmp_path / "x", fingerprint=True)
        (tmp_path / "x").write_bytes(b"content")
    with headwater.step("sum", inputs=[item]):
        pass
    known = {"id": item.id, "fingerprint": fingerprint(b"content"), "bytes": 7}
    assert uuid.UUID(item.id).version == 7
    assert item_of(told.last("split")["outputs"][0]) == known
    for told_event in told.of("sum"):
        assert item_of(told_event["inputs"][0]) == known
        assert version(told_event["inputs"][0]) == fingerprint(b"content")
        assert (told_event["inputs"][0]["namespace"], told_event["inputs"][0]["name"]) == item.dataset


def test_an_item_goes_through_text_and_pickles(told: Told, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"content")
    with headwater.step("split") as split:
        item = split.output(tmp_path / "x", fingerprint=True)
    assert str(item) == item.id
    for again in (
        headwater.Item.from_json(item.to_json()),
        headwater.Item.from_json(json.loads(item.to_json())),
        pickle.loads(pickle.dumps(item)),
        copy.deepcopy(item),
    ):
        assert again == item
        assert (again.fingerprint, again.bytes, again.place) == (item.fingerprint, 7, str(tmp_path / "x"))
    with headwater.step("sum", inputs=[json.loads(item.to_json()), str(uuid.uuid4())]) as later:
        later.input(tmp_path / "y", item=str(item))
        later.input(uuid.UUID(item.id))  # type: ignore[arg-type]
    assert [item_of(each).get("id") for each in told.last("sum")["inputs"]] == [item.id, item.id]
    assert [list(each) for each in said(told.last("sum"))["parents"]] == [["item"], ["item"]]
    assert said(told.last("sum"))["parents"][1] == {"item": item.id}


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "x"}', '{"namespace": "a", "name": "x", "id": "7"}', "7"])
def test_what_is_no_item_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        headwater.Item.from_json(text)


def test_a_step_as_an_input_is_a_parent_and_its_outputs_are_read(told: Told) -> None:
    with headwater.step("split", namespace="meter") as split:
        split.output("/out/a")
        split.output("/out/b")
    with headwater.step("sum", inputs=[split]):
        pass
    with headwater.step("alone", inputs=split):
        pass
    assert said(told.of("sum")[0])["parents"] == [{"runId": split.id, "job": {"namespace": "meter", "name": "split"}}]
    assert [item_of(each)["id"] for each in told.of("sum")[0]["inputs"]] == [each.id for each in split.outputs]
    assert len(told.last("alone")["inputs"]) == 2


@pytest.mark.parametrize("when", ["before", "after", "both", "rewritten"])
def test_an_outputs_content_is_that_at_the_end_of_the_step(told: Told, tmp_path: Path, when: str) -> None:
    path = tmp_path / "x.csv.gz"
    with headwater.step("write") as step:
        items = []
        if when in {"before", "both"}:
            items.append(step.output(path, fingerprint=True))
        path.write_bytes(gzip.compress(b"first"))
        if when != "before":
            items.append(step.output(path, fingerprint=True))
            assert items[-1].fingerprint == fingerprint(b"first")
        if when == "rewritten":
            path.write_bytes(gzip.compress(b"second content"))
    content = b"second content" if when == "rewritten" else b"first"
    assert len({item.id for item in items}) == len(told.last()["outputs"]) == 1
    assert {item.fingerprint for item in items} == {fingerprint(content)}
    assert item_of(told.last()["outputs"][0])["bytes"] == len(content)


def test_a_file_of_before_that_is_replaced_has_its_new_content(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    read: list[bytes] = []
    import headwater.client.fingerprint as module

    real = module.fingerprint
    monkeypatch.setattr(module, "fingerprint", lambda place: (read.append(path.read_bytes()), real(place))[1])
    with headwater.step("write") as step:
        step.output(path, fingerprint=True)
        path.write_bytes(b"new")
    assert version(told.last()["outputs"][0]) == fingerprint(b"new")
    assert read == [b"new"], "the old content is not read for nothing"


def test_a_file_that_is_rewritten_at_once_has_its_last_content(told: Told, tmp_path: Path) -> None:
    """The file is as long as before, and written within one tick of the clock: nothing that `stat` shows has changed."""
    path = tmp_path / "x"
    with headwater.step("write") as step:
        now = time.time_ns()
        for content in (b"first", b"other"):
            path.write_bytes(content)
            os.utime(path, ns=(now, now))
            step.output(path, fingerprint=content == b"first")
    assert version(told.last()["outputs"][0]) == fingerprint(b"other")


def test_a_large_file_is_not_read_twice(told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import headwater.client.fingerprint as module

    real, read = module.fingerprint, []
    monkeypatch.setattr(module, "fingerprint", lambda place: (time.sleep(0.1), read.append(place), real(place))[2])
    with headwater.step("write") as step:
        (tmp_path / "x").write_bytes(b"content")
        step.output(tmp_path / "x", fingerprint=True)
    assert len(read) == 1


def test_a_moved_file_keeps_its_fingerprint(told: Told, tmp_path: Path) -> None:
    with headwater.step("write") as step:
        (tmp_path / "x").write_bytes(b"content")
        item = step.output(tmp_path / "x", fingerprint=True)
        (tmp_path / "x").unlink()
    assert item.fingerprint == version(told.last()["outputs"][0]) == fingerprint(b"content")


def test_a_folder_is_read_at_the_end(told: Told, tmp_path: Path) -> None:
    with headwater.step("write") as step:
        (tmp_path / "out").mkdir()
        item = step.output(tmp_path / "out", fingerprint=True)
        (tmp_path / "out" / "part-0").write_bytes(b"content")
    from headwater.client.fingerprint import fingerprint as of

    assert item.fingerprint == of(tmp_path / "out").text
    assert item.fingerprint.startswith("xxh3-128-dir:")


def test_a_step_that_fails_reads_nothing_more(told: Told, tmp_path: Path) -> None:
    step = headwater.start_step("write")
    item = step.output(tmp_path / "x", fingerprint=True)
    (tmp_path / "x").write_bytes(b"half")
    step.fail("half written")
    assert item.fingerprint is None
    assert version(told.last()["outputs"][0]) is None
    assert item_of(told.last()["outputs"][0]) == {"id": item.id}


def test_an_input_is_read_at_the_call_and_has_no_id(told: Told, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"content")
    with headwater.step("read", inputs=[tmp_path / "x"]) as step:
        found = step.input(tmp_path / "x", fingerprint=True)
        (tmp_path / "x").write_bytes(b"later")
    assert found is not None
    assert (found.id, found.fingerprint, found.bytes) == (None, fingerprint(b"content"), 7)
    assert len(told.last()["inputs"]) == 1
    assert item_of(told.last()["inputs"][0]) == {"fingerprint": fingerprint(b"content"), "bytes": 7}


def test_a_place_and_its_item_are_one_input(told: Told, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"content")
    with headwater.step("write") as write:
        item = write.output(tmp_path / "x")
    with headwater.step("read", inputs=[tmp_path / "x"]) as read:
        read.input(item)
        read.input(tmp_path / "x", fingerprint=True, facets={"owner": {"who": "me"}})
    assert len(told.last()["inputs"]) == 1
    assert item_of(told.last()["inputs"][0]) == {"id": item.id, "fingerprint": fingerprint(b"content"), "bytes": 7}
    assert told.last()["inputs"][0]["facets"]["owner"]["who"] == "me"
    assert item.fingerprint is None, "the handle of the other step is not changed"


def test_two_contents_of_one_dataset_are_two_inputs(told: Told, tmp_path: Path) -> None:
    with headwater.step("read") as step:
        for content in (b"one", b"two"):
            (tmp_path / "x").write_bytes(content)
            step.input(tmp_path / "x", fingerprint=True)
    assert sorted(version(each) or "" for each in told.last()["inputs"]) == sorted(
        fingerprint(content) for content in (b"one", b"two")
    )


def test_a_dataset_has_facets_of_its_own_and_of_the_run(told: Told) -> None:
    with headwater.step("write") as step:
        step.output("/x", facets={"schema": {"fields": []}}, output_facets={"mine": {"a": 1}}, rows=3)
        step.output("/x", facets={"more": {}})
    entry = told.last()["outputs"][0]
    assert set(entry["facets"]) == {"schema", "more"}
    assert set(entry["outputFacets"]) == {"outputStatistics", "mine", "headwater_item"}
    assert all("_schemaURL" in facet for facet in (*entry["facets"].values(), *entry["outputFacets"].values()))


def test_one_dataset_by_its_name_is_one_input(told: Told) -> None:
    name = ("postgres://db:5432", "meter.public.readings")
    with headwater.step("load", inputs=name) as step:
        assert [item.dataset for item in step.inputs] == [name]
    with headwater.step("load", inputs=("s3://raw/a", "s3://raw/b")) as step:
        assert [item.dataset for item in step.inputs] == [("s3://raw", "a"), ("s3://raw", "b")]


def test_a_datasets_name_is_not_a_file_that_is_called_so(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong fingerprint would be a wrong link."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "readings").write_text("not the table")
    with headwater.step("load") as step:
        item = step.input(("warehouse", "readings"), fingerprint=True)
        assert item is not None
        assert item.fingerprint is None
    assert "only a path or URL can be read" in caplog.text
