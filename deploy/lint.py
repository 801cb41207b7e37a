"""Lint and render the chart with Helm's library, hold what comes out against Kubernetes' schemas, and read the Compose file.

Run by `make lint-deploy`, in the environment of requirements/lint-deploy.txt. Exit code 1 when anything is wrong.
"""

import re
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml
from compose_spec import PyCompose
from helm_python import chart

HERE = Path(__file__).parent
CHART = HERE / "helm/headwater"
# What the chart says it runs on, and what is current.
VERSIONS = ("1.25.0", "1.31.0", kubernetes_validate.latest_version())
REFUSED: tuple[dict[str, Any], ...] = (
    {},
    {"database": {"url": "postgresql://h/d"}},
    {"database": {"url": "mysql://h/d"}, "access": {"adminKey": "0123456789abcdef", "secretKey": "k" * 32}},
    {"database": {"url": "postgresql://h/d"}, "access": {"adminKey": "short", "secretKey": "k" * 32}},
    {"database": {"url": "postgresql://h/d"}, "access": {"adminKey": "0123456789abcdef"}},
    {"database": {"url": "postgresql://h/d"}, "access": {"adminKey": "0123456789abcdef", "secretKey": "short"}},
    {"replicas": 3},
)


def main() -> int:
    problems = [*helm(), *compose()]
    for problem in problems:
        sys.stdout.write(f"  {problem}\n")
    sys.stdout.write(f"deploy: {len(problems)} problems\n" if problems else "deploy: no problem\n")
    return bool(problems)


def helm() -> list[str]:
    """Problems of the chart, over each of `ci/*-values.yaml`, and over values that must be refused."""
    found = []
    for values_file in sorted((CHART / "ci").glob("*-values.yaml")):
        values = yaml.safe_load(values_file.read_text(encoding="utf-8"))
        report = chart.lint(CHART, values, strict=True)
        found += [
            f"helm lint {values_file.name}: {item['path']}: {item['error']}"
            for item in report["messages"]
            if item["severity"] > 1
        ]
        found += [f"helm lint {values_file.name}: {error}" for error in report["errors"]]
        count = 0
        for resource in rendered(values):
            count += 1
            found += [f"{values_file.name}: {problem}" for problem in refused_by_kubernetes(resource)]
        sys.stdout.write(f"helm: {values_file.name}: linted, {count} resources rendered\n")
    for values in REFUSED:
        try:
            rendered(values)
        except Exception as error:  # noqa: BLE001 - the library has a class for each way to refuse
            said = str(error).strip().splitlines()[-1]
            sys.stdout.write(f"helm: refused as it should be: {said}\n")
        else:
            found.append(f"values {values} were rendered; they should have been refused")
    return found


def rendered(values: dict[str, Any]) -> list[Any]:
    with chart.Chart.load(CHART) as loaded:
        files = loaded.render(values, name="lint", namespace="data")
    return [
        resource
        for name, text in sorted(files.items())
        if name.endswith(".yaml")
        for resource in yaml.safe_load_all(text)
        if resource
    ]


def refused_by_kubernetes(resource: Any) -> list[str]:
    found, name = [], f"{resource['kind']} {resource['metadata']['name']}"
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(resource, version, strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            sys.stdout.write(
                f"kubernetes {version}: NOT CHECKED, no schema of {resource['apiVersion']} {resource['kind']}\n"
            )
            return found
        except kubernetes_validate.ValidationError as error:
            place = ".".join(str(part) for part in error.path)
            found.append(f"kubernetes {version}: {name}: {place}: {error.message}")
    sys.stdout.write(f"kubernetes {', '.join(VERSIONS)}: {name}\n")
    return found


def compose() -> list[str]:
    """Problems of the Compose files, with their variables filled in; one that adds to another is read with it."""
    found = []
    whole: dict[str, Any] = {}
    for name in ("compose.yaml", "compose.rabbitmq.yaml"):
        text = (HERE / name).read_text(encoding="utf-8")
        filled = re.sub(
            r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}", lambda match: match[2] if match[2] is not None else "filled", text
        )
        for part, told in yaml.safe_load(filled).items():
            whole[part] = {**whole.get(part, {}), **told} if isinstance(told, dict) else told
        try:
            PyCompose.from_yaml(yaml.safe_dump(whole)).validate()
        except ValueError as error:
            found.append(f"{name}: {error}")
        else:
            sys.stdout.write(f"compose specification: {name}\n")
    return found


if __name__ == "__main__":
    sys.exit(main())
