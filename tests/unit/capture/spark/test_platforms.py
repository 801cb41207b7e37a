"""The settings of each platform hold the same variables, whatever they hold, in the platform's own syntax."""

import ast
import json
import shlex

import pytest

from headwater.capture.spark import platforms
from headwater.capture.spark.platforms import Target

HOSTILE = Target("https://h.example.com:5000/a b?c='d'&e=\"f\"", 'sales\'s "own" $(touch x) `id` #1,2')
CAPTURED = [name for name in platforms.NAMES if name != "connect"]


@pytest.mark.parametrize("name", CAPTURED)
@pytest.mark.parametrize("target", [Target(), HOSTILE], ids=["plain", "hostile"])
def test_every_platform_sets_the_address(name: str, target: Target) -> None:
    assert any(target.url in words(step) for step in platforms.platform(name, target).steps)


@pytest.mark.parametrize("name", platforms.NAMES)
@pytest.mark.parametrize("target", [Target(), HOSTILE], ids=["plain", "hostile"])
def test_what_is_to_be_copied_is_in_its_syntax(name: str, target: Target) -> None:
    found = platforms.platform(name, target)
    assert found.tried
    for step in found.steps:
        assert step.what.endswith((".", ")."))
        words(step)


@pytest.mark.parametrize("name", CAPTURED)
def test_a_namespace_is_set_only_when_it_is_given(name: str) -> None:
    def told(target: Target) -> bool:
        return any("HEADWATER_NAMESPACE" in step.text for step in platforms.platform(name, target).steps)

    assert not told(Target())
    assert told(Target(namespace="etl"))


def test_a_volume_of_kubernetes_is_mounted_where_the_home_is() -> None:
    given = shlex.split(words(platforms.platform("kubernetes", Target()).steps[-1]))
    settings = dict(word.split("=", 1) for word in given if word != "--conf")
    assert settings["spark.kubernetes.driverEnv.HEADWATER_HOME"] == "/headwater"
    (place,) = (
        value for name, value in settings.items() if name.endswith("persistentVolumeClaim.headwater.mount.path")
    )
    assert place == "/headwater"


@pytest.mark.parametrize("target", [("ftp://h", ""), ("", ""), ("http://h", "a\nb"), ("http://h\n--conf", "")])
def test_what_is_no_address_is_refused(target: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r"not a server's address|cannot be printed"):
        Target(*target)


def test_a_name_that_is_none() -> None:
    with pytest.raises(KeyError):
        platforms.platform("mainframe", Target())


def words(step: platforms.Step) -> str:
    """The step's text with its quoting undone; fails where the text is not in its syntax."""
    if step.syntax == "sh":
        lines = step.text.replace("\\\n", " ").splitlines()
        found = [shlex.split(line, comments=False) for line in lines]
        assert not any(word in {"$(touch", "`id`"} for line in found for word in line)
        return "\n".join(" ".join(line) for line in found)
    if step.syntax == "json":
        return "\n".join(texts(json.loads(step.text)))
    if step.syntax == "python":
        tree = ast.parse(step.text)
        return "\n".join(
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
    return step.text


def texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts(one)]
    return [text for one in value for text in texts(one)] if isinstance(value, list) else [str(value)]
