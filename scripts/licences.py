"""Print the licences of a CycloneDX list as a Markdown table. Exit code 1 names the packages without one."""

import json
import sys
from pathlib import Path
from typing import Any

# The licences of packages that name none in their metadata, from the licence file that they come with.
_READ = {"rich-click": ["MIT"]}


def licences(component: dict[str, Any]) -> list[str]:
    """Return a package's own licences: an SPDX expression or id, or the name that it gives."""
    found = []
    for each in component.get("licenses", []):
        one = each.get("license", each)
        found.append(str(one.get("expression") or one.get("id") or one.get("name", "").splitlines()[0]))
    return sorted(set(filter(None, found))) or _READ.get(component["name"], [])


def main(file: str) -> int:
    components = json.loads(Path(file).read_text(encoding="utf-8"))["components"]
    without, lines = [], ["| package | version | licence |", "|---|---|---|"]
    for each in sorted(components, key=lambda one: one["name"].lower()):
        named = licences(each)
        if not named:
            without.append(each["name"])
        lines.append(f"| {each['name']} | {each.get('version', '')} | {'; '.join(named)[:120] or 'unknown'} |")
    sys.stdout.write("\n".join(lines) + "\n")
    if without:
        sys.stderr.write(f"no licence is named by {', '.join(without)}\n")
    return bool(without)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
