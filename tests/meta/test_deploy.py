"""The content of deploy/ is whole and agrees with the code. `make lint-deploy` renders the chart and asks the real linters; this needs
nothing."""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml

from headwater.environment import is_part

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm/headwater"
TEMPLATES = sorted((CHART / "templates").iterdir())
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
# Variables for Compose and for clients, not for the server.
NOT_THE_SERVERS = {"HEADWATER_API_KEY", "HEADWATER_CAPTURE", "HEADWATER_URL"}


def settings(model: Any, prefix: str = "HEADWATER_") -> set[str]:
    found = set()
    for name, kind in get_type_hints(model).items():
        if name != "checks":
            found |= settings(kind, f"{prefix}{name}__".upper()) if is_part(kind) else {f"{prefix}{name}".upper()}
    return found


def test_every_setting_that_is_set_exists() -> None:
    from headwater.settings import Settings

    used = set()
    for path in [*DEPLOY.rglob("*")]:
        if path.is_file():
            text = re.sub(r"\$\{[^}]*\}", "", path.read_text(encoding="utf-8"))
            text = re.sub(r"(?m)^\s*#.*$", "", text)
            used |= set(re.findall(r"\bHEADWATER_[A-Z_]*[A-Z]\b", text))
    assert {"HEADWATER_DATABASE__URL", "HEADWATER_SERVER__HOST", "HEADWATER_ACCESS__ADMIN_KEY"} <= used
    assert used - NOT_THE_SERVERS <= settings(Settings)


# -- the image --


def instructions(name: str) -> list[str]:
    joined = re.sub(r"(?m)^#.*\n", "", DOCKERFILE).replace("\\\n", " ")
    return [line.split(None, 1)[1] for line in joined.splitlines() if line.startswith(f"{name} ")]


def bases() -> list[str]:
    """The images that the stages begin with, by the defaults of the arguments that name them."""
    defaults = dict(line.split("=", 1) for line in instructions("ARG"))
    return [defaults[line.split()[0].strip("${}")] for line in instructions("FROM")]


def test_packages_are_pinned_by_hash_in_the_tests_versions() -> None:
    def pins(name: str) -> dict[str, str]:
        text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
        assert text.count("--hash=sha256:") >= text.count("==")
        return dict(re.findall(r"(?m)^([a-z0-9._-]+)==(\S+)", text))

    image, tested = pins("server.txt"), pins("dev.txt")
    assert image.items() <= tested.items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["server"], *extras["amqp"]]
    assert {re.match(r"[a-z0-9-]+", each)[0] for each in wanted} <= image.keys()  # type: ignore[index]
    assert "--require-hashes" in DOCKERFILE
    for line in re.findall(r"pip install (.*)", DOCKERFILE):
        assert "--require-hashes" in line or "--no-deps" in line, line


def test_a_package_without_a_licence_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import licences
    finally:
        sys.path.pop(0)
    file = tmp_path / "list.json"
    components = [
        {"name": "b", "version": "1", "licenses": [{"license": {"id": "MIT"}}, {"expression": "Apache-2.0 OR MIT"}]},
        {"name": "rich-click", "version": "2"},
    ]
    file.write_text(json.dumps({"components": components}), encoding="utf-8")
    assert licences.main(str(file)) == 0
    assert "| b | 1 | Apache-2.0 OR MIT; MIT |\n| rich-click | 2 | MIT |" in capsys.readouterr().out
    file.write_text(json.dumps({"components": [*components, {"name": "c", "version": "3"}]}), encoding="utf-8")
    assert licences.main(str(file)) == 1
    assert "no licence is named by c" in capsys.readouterr().err


def test_the_image_is_small_and_not_root() -> None:
    stages = instructions("FROM")
    assert len(stages) == 3
    assert " AS " not in stages[-1]
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"(?m)^USER 10001:10001$", last)
    assert re.search(r"(?m)^HEALTHCHECK ", last)
    assert "/healthz" in last
    assert "pip install" not in last
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["headwater"]
    assert json.loads(instructions("CMD")[0]) == ["serve"]
    assert json.loads(re.search(r"CMD (\[\"python.*\])", last)[1])[0] == "python"  # type: ignore[index]


def test_what_is_copied_exists_and_is_let_through() -> None:
    ignore = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignore
    for line in instructions("COPY"):
        if not line.startswith("--from"):
            for source in line.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert any(source.startswith(allowed[1:]) for allowed in ignore if allowed.startswith("!")), source


def test_images_are_named_without_a_registry() -> None:
    stages = {line.split()[2] for line in instructions("FROM") if " AS " in line}
    named = [*bases(), VALUES["image"]["repository"]]
    named += [service["image"] for service in COMPOSE["services"].values() if not service["image"].startswith("${")]
    assert stages == {"page", "wheel"}
    for name in named:
        assert re.fullmatch(r"[a-z0-9-]+(:[a-z0-9.-]+)?", name), name
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            assert not re.search(r"index-url|trusted-host|registry=|mirror", path.read_text(encoding="utf-8")), path


# -- Compose --


def test_compose_waits_for_the_database_and_asks_for_secrets() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"headwater", "postgres"}
    assert services["headwater"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert all("healthcheck" in service for service in services.values())
    told = services["headwater"]["environment"]
    assert re.match(r"\$\{HEADWATER_ADMIN_KEY:\?", told["HEADWATER_ACCESS__ADMIN_KEY"])
    assert re.search(r"\$\{POSTGRES_PASSWORD:\?[^}]*\}@postgres:5432/headwater$", told["HEADWATER_DATABASE__URL"])
    assert set(COMPOSE["volumes"]) == {volume.split(":")[0] for volume in services["postgres"]["volumes"]}
    build = services["headwater"]["build"]
    assert (DEPLOY / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()
    assert services["headwater"]["healthcheck"]["test"][0] == "CMD"


# -- the chart --


def leaves(tree: Any, path: str = "") -> dict[str, Any]:
    if isinstance(tree, dict) and tree:
        return {key: value for name, below in tree.items() for key, value in leaves(below, f"{path}.{name}").items()}
    return {path: tree}


def schema_leaves(schema: Any, path: str = "") -> set[str]:
    if "properties" not in schema:
        return {path}
    return {leaf for name, below in schema["properties"].items() for leaf in schema_leaves(below, f"{path}.{name}")}


def test_values_schema_and_templates_speak_of_the_same() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    described = schema_leaves(schema) - {".global"}
    given = set(leaves(VALUES))
    assert {leaf for leaf in given if not any(leaf == d or leaf.startswith(f"{d}.") for d in described)} == set()
    assert {d for d in described if not any(leaf == d or leaf.startswith(f"{d}.") for leaf in given)} == set()
    used = {
        match for path in TEMPLATES for match in re.findall(r"\.Values((?:\.\w+)+)", path.read_text(encoding="utf-8"))
    }
    assert used <= described | {".podSecurityContext", ".securityContext", ".resources"}
    assert described <= used
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("values", sorted((CHART / "ci").glob("*-values.yaml")), ids=lambda path: path.stem)
def test_example_values_are_values(values: Path) -> None:
    described = schema_leaves(json.loads((CHART / "values.schema.json").read_text(encoding="utf-8")))
    for leaf in leaves(yaml.safe_load(values.read_text(encoding="utf-8"))):
        assert any(leaf == d or leaf.startswith(f"{d}.") for d in described), leaf


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates_open_what_they_close(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    assert text.count("{{") == text.count("}}")
    actions = re.findall(r"\{\{-?\s*(if|with|range|define|end)\b", text)
    assert actions.count("end") == len(actions) - actions.count("end")
    names = "".join(path.read_text(encoding="utf-8") for path in TEMPLATES)
    for name in re.findall(r'include "([^"]+)"', text):
        assert f'define "{name}"' in names, name


def test_the_chart_has_every_part_and_probes_the_right_paths() -> None:
    kinds = {kind for path in TEMPLATES for kind in re.findall(r"(?m)^kind: (\w+)$", path.read_text(encoding="utf-8"))}
    assert kinds == {
        "ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Ingress", "NetworkPolicy", "PodDisruptionBudget",
        "Secret", "Service", "ServiceAccount", "ServiceMonitor",
    }  # fmt: skip
    deployment = (CHART / "templates/deployment.yaml").read_text(encoding="utf-8")
    probes = dict(re.findall(r"(\w+)Probe:\s+httpGet:\s+path: (\S+)", deployment))
    assert probes == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    from headwater import __version__

    assert (chart["apiVersion"], chart["appVersion"]) == ("v2", __version__)
    assert VALUES["podSecurityContext"]["runAsUser"] == 10001
    assert VALUES["networkPolicy"]["enabled"]
