"""deploy/monitoring asks only for metrics that Headwater exports, and its dashboard is the one that is drawn."""

import json
import re
import runpy
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy/monitoring"
METRIC = re.compile(r"\bheadwater_[a-z_]+")


def exported() -> set[str]:
    """Every metric that docs/reference/metrics.md names; other tests hold that page equal to the code."""
    text = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    found = set(re.findall(r"^\| `(headwater_[a-z_]+)`", text, re.MULTILINE))
    return found | {f"{name}_{part}" for name in found for part in ("bucket", "sum", "count")}


def test_the_dashboard_is_the_one_that_is_drawn() -> None:
    drawn = runpy.run_path(str(FOLDER / "draw.py"))
    assert (FOLDER / "dashboard.json").read_text(encoding="utf-8") == drawn["text"](), (
        "python deploy/monitoring/draw.py"
    )


def test_panels_and_alerts_ask_for_metrics_that_are_exported() -> None:
    panels = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    expressions += [rule["expr"] for rule in rules]
    asked = {name for expression in expressions for name in METRIC.findall(expression)}
    assert len(asked) > 15
    assert asked <= exported()


def test_every_alert_is_tried_out() -> None:
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    cases = yaml.safe_load((FOLDER / "alerts_test.yaml").read_text(encoding="utf-8"))["tests"]
    fired = {one["alertname"] for case in cases for one in case["alert_rule_test"] if one.get("exp_alerts")}
    assert {rule["alert"] for rule in rules} == fired
