"""The entities of a dk.yaml, and the program's variables for its period."""

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import InvalidManifest
from headwater.runner import load
from headwater.runner.content import of_instance
from headwater.runner.entities import PackageEntities, package_entities
from headwater.runner.making import Instance, Making, Stretch, merged
from headwater.runner.reading import FILE

HEAD = """
metadata: {name: words, namespace: words, owner: ann, description: Words}
run: {kind: python, script: main.py}
"""
OUT = "outputs: [{name: out, type: csv, location: out, description: Words, instance: 'day={instance}'}]\n"


def fields(folder: Path, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(InvalidManifest) as caught:
        load(folder, {}, environ or {})
    return [each["field"] for each in caught.value.detail["problems"]]  # type: ignore[index, union-attr]


def test_one_entity_and_several(package: Any) -> None:
    manifest = load(package(HEAD + "entity: words_count\nmax_periods: 31\n" + OUT), {}, {})
    assert manifest.made == PackageEntities(("words_count",), 31)
    assert (manifest.outputs[0].entity, manifest.outputs[0].instance) == ("words_count", "day={instance}")
    assert manifest.warnings == ()
    two = (
        HEAD
        + "entities: [a, b]\noutputs: [{name: o, type: csv, location: o, instance: 'x/{instance}.csv', entity: b}]\n"
    )
    manifest = load(package(two), {}, {})
    assert manifest.made == PackageEntities(("a", "b"), 1)
    assert manifest.outputs[0].entity == "b"
    assert load(package(HEAD), {}, {}).made == PackageEntities()


def test_an_entity_without_a_place_is_a_warning(package: Any) -> None:
    manifest = load(package(HEAD + "entity: a\noutputs: [{name: o, type: csv, location: o, description: O}]\n"), {}, {})
    assert [each.field for each in manifest.warnings] == ["outputs.instance"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("entity: a\nentities: [b]\n", ["entities"]),
        ("entity: ''\n", ["entity"]),
        ("entity: [a]\n", ["entity"]),
        ("entities: a\n", ["entities"]),
        ("entities: [a, a]\n", ["entities[1]"]),
        ("max_periods: 3\n", ["max_periods"]),
        ("entity: a\nmax_periods: 0\n", ["max_periods"]),
        ("entity: a\nmax_periods: many\n", ["max_periods"]),
        ("entity: a\nmax_periods: 10001\n", ["max_periods"]),
        ("entity: a\noutputs: [{name: o, type: csv, location: o, instance: day}]\n", ["outputs[0].instance"]),
        (
            "entity: a\noutputs: [{name: o, type: csv, location: o, instance: '../{instance}'}]\n",
            ["outputs[0].instance"],
        ),
        ("entity: a\noutputs: [{name: o, type: csv, location: o, entity: b}]\n", ["outputs[0].entity"]),
        (
            "entities: [a, b]\noutputs: [{name: o, type: csv, location: o, instance: '{instance}'}]\n",
            ["outputs[0].instance"],
        ),
        (
            "entity: a\noutputs: [{name: o, type: t, servers: k, topic: t, instance: '{instance}'}]\n",
            ["outputs[0].instance"],
        ),
        ("entity: a\ninputs: [{name: i, type: csv, location: i, instance: '{instance}'}]\n", ["inputs[0].instance"]),
    ],
)
def test_what_makes_no_sense(package: Any, text: str, wrong: list[str]) -> None:
    assert fields(package(HEAD + text)) == wrong


def test_entities_are_read_before_the_rest_of_the_manifest(package: Any) -> None:
    text = HEAD + "entity: a\nparameters: {day: '${HEADWATER_PERIOD}'}\n" + OUT
    folder = package(text)
    assert fields(folder) == ["parameters.day"]
    default = package(text.replace("PERIOD}", "PERIOD:-2013}"))
    assert load(default, {}, {}).parameters == {"day": "2013"}
    assert load(default, {}, {"HEADWATER_PERIOD": ""}).parameters == {"day": ""}
    assert package_entities(folder / FILE) == PackageEntities(("a",), 1)
    assert load(folder, {}, {"HEADWATER_PERIOD": "2013-02-10"}).parameters == {"day": "2013-02-10"}
    with pytest.raises(InvalidManifest, match="entity: is required with --period"):
        package_entities(package(HEAD) / FILE)
    with pytest.raises(InvalidManifest, match="is listed twice"):
        package_entities(package("entities: [a, a]\n") / FILE)


def stretch(text: str, first: int, end: int) -> Stretch:
    return Stretch(text, f"2024-10-{first}T00:00:00+02:00", f"2024-10-{end}T00:00:00+02:00")


def instance(key: str, start: str, end: str, *stretches: Stretch) -> Instance:
    return Instance("a", key, start, end, {"b": stretches})


def test_the_environment_of_several_instances(tmp_path: Path) -> None:
    # By the clock the second begins before the first: they are compared as instants.
    first = instance("k1", "2024-10-27T02:30:00+02:00", "2024-10-27T02:00:00+01:00", stretch("x", 20, 21))
    second = instance(
        "k2", "2024-10-27T02:00:00+01:00", "2024-10-27T03:00:00+01:00", stretch("x", 20, 21), Stretch("y")
    )
    making = Making(period="k1..k2", entities=("a",), states={"a": "completed"}, instances=(first, second), seq=7)
    env = making.environment(tmp_path)
    assert env["HEADWATER_PERIOD_START"] == "2024-10-27T02:30:00+02:00"
    assert env["HEADWATER_PERIOD_END"] == "2024-10-27T03:00:00+01:00"
    assert (env["HEADWATER_PERIOD"], env["HEADWATER_STATE"]) == ("k1..k2", "completed")
    assert json.loads(env["HEADWATER_INPUTS"]) == {
        "b": [
            {"instances": "x", "start": "2024-10-20T00:00:00+02:00", "end": "2024-10-21T00:00:00+02:00"},
            {"instances": "y"},
        ]
    }
    assert [each["instance"] for each in json.loads(env["HEADWATER_INSTANCES"])] == ["k1", "k2"]
    assert set(json.loads(env["HEADWATER_INSTANCES"])[0]) == {"entity", "instance", "start", "end", "inputs"}
    alone = Making(
        period="static", entities=("a",), states={"a": "x"}, instances=(Instance("a", "static", None, None, {}),)
    )
    assert "HEADWATER_PERIOD_START" not in alone.environment(tmp_path)
    assert merged([]) == {}
    assert not list(tmp_path.iterdir())


def test_inputs_that_overlap_or_touch_are_one_stretch() -> None:
    each = [stretch("10..12", 10, 13), stretch("11..13", 11, 14), stretch("14", 14, 15), stretch("15", 15, 16)]
    assert merged({"b": (one,)} for one in each) == {"b": (stretch("10..15", 10, 16),)}
    apart = (stretch("10", 10, 11), stretch("12", 12, 13))
    assert merged([{"b": apart}]) == {"b": apart}
    inside = (stretch("10..20", 10, 21), stretch("12", 12, 13))
    assert merged([{"b": inside}]) == {"b": (stretch("10..20", 10, 21),)}


def test_too_much_for_an_environment_is_in_a_file(tmp_path: Path) -> None:
    many = tuple(instance(f"k{i}", "2024-10-27T02:30:00+02:00", "2024-10-27T02:00:00+01:00") for i in range(1000))
    env = Making(period="p", entities=("a",), states={"a": "x"}, instances=many).environment(tmp_path)
    assert "HEADWATER_INSTANCES" not in env
    told = json.loads(Path(env["HEADWATER_INSTANCES_FILE"]).read_text())
    assert [each["instance"] for each in told] == [f"k{i}" for i in range(1000)]
    assert max(map(len, env.values())) < 100_000


def test_content_is_the_same_under_any_file_names(package: Any) -> None:
    folder = package(HEAD + "entity: a\n" + OUT)
    (output,) = load(folder, {}, {}).outputs
    day = folder / "out/day=1"
    assert of_instance(output, "1") is None
    day.mkdir(parents=True)
    (day / "_SUCCESS").write_text("")
    assert of_instance(output, "1") is None
    (day / "part-7.csv").write_text("a")
    one = of_instance(output, "1")
    assert one is not None
    assert one.size == 1
    (day / "part-7.csv").rename(day / "part-9.csv")
    (day / ".part-9.csv.crc").write_text("x")
    assert of_instance(output, "1") == one
    (day / "part-8.csv").write_text("b")
    two = of_instance(output, "1")
    assert two is not None
    assert two != one
    (day / "part-8.csv").write_text("a")
    (day / "part-9.csv").write_text("b")
    assert of_instance(output, "1") == two
    (day / "part-9.csv").write_text("c")
    assert of_instance(output, "1") != two
    assert of_instance(output, "2") is None
    (dated,) = load(package(HEAD + "entity: a\n" + OUT.replace("{instance}", "{start}")), {}, {}).outputs
    (folder / "out/day=2013-02-11").mkdir()
    (folder / "out/day=2013-02-11/part.csv").write_text("c")
    assert of_instance(dated, "2013-W07", "2013-02-11T00:00:00+01:00") is not None
    assert of_instance(dated, "2013-W08", "2013-02-18T00:00:00+01:00") is None
