"""docs/reference/api-v1.md names every address that is served below /api/v1 and /api/v2beta for reading, and none that is not."""

import re
from pathlib import Path

from headwater.api.routes import v1, v2beta

PAGE = Path(__file__).parents[2] / "docs/reference/api-v1.md"


def served() -> set[str]:
    found = set()
    for router in (v1.router, v2beta.router):
        for route in router.routes:
            if "GET" in route.methods and not route.path.endswith("{path:path}"):  # type: ignore[union-attr]
                found.add(re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path))
    return found


def test_every_address_is_told() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for path in served():
        # The page lists long addresses by their ends.
        end = path.removeprefix("/api/v1").replace("{run_id}", "{id}")
        shorter = re.sub(r"^/namespaces/\{namespace\}(/(?:datasets|jobs)/\{\w+\}/)", r"…\1", end)
        last = "…" + shorter[shorter.rindex("/versions") :] if "/versions/" in shorter else shorter
        assert {f"`{end}`", f"`{shorter}`", f"`{last}`"} & set(re.findall(r"`[^`]+`", text)), path
