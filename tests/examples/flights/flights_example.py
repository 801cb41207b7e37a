"""The flights example seen from the tests: its order, its packages with every `${…}` resolved, its scripts as modules."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

EXAMPLE = Path(__file__).parents[3] / "examples" / "flights"

Package = dict[str, Any]


def order() -> list[str]:
    """The packages' folders in the order of `order.txt`."""
    lines = (EXAMPLE / "order.txt").read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def load(folder: str, script: str) -> ModuleType:
    """A script of the example as a module; two packages may have scripts of the same name."""
    spec = spec_from_file_location(f"flights_example_{folder}_{script}", EXAMPLE / folder / f"{script}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def package(folder: str, data: Path | str) -> Package:
    """A package's `dk.yaml` with every `${…}` resolved against the data folder."""
    raw = yaml.safe_load((EXAMPLE / folder / "dk.yaml").read_text(encoding="utf-8"))
    values = {**raw["parameters"], "data": str(data)}

    def value(match: re.Match[str]) -> str:
        return str(values[match[1]] if match[2] is None else values.get(match[1], match[2]))

    def resolve(text: str) -> str:
        return re.sub(r"\$\{([\w.]+)(?::-(\w*))?\}", value, text)

    for side in ("inputs", "outputs"):
        for dataset in raw.get(side, []):
            dataset["location"] = resolve(dataset["location"])
            values[f"{side}.{dataset['name']}"] = dataset["location"]
    raw["run"]["args"] = [resolve(argument) for argument in raw["run"].get("args", [])]
    if raw["run"]["kind"] == "sql":
        raw["run"]["sql"] = resolve((EXAMPLE / folder / raw["run"]["file"]).read_text(encoding="utf-8"))
    return raw
