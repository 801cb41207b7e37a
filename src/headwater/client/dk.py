"""The `lineage:` section of DataKit's `~/.dk/config.yaml`: `backend`, `endpoint`, `api_key`, or a list of them.

Never stops the program: an unusable file is one log line.
"""

import logging
from pathlib import Path

log = logging.getLogger("headwater")


def lineage(path: Path) -> list[dict[str, str]]:
    """Return the entries with an endpoint; empty without the file, or if it cannot be read (one log line)."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        log.warning("%s cannot be read and is ignored: %s", path, error)
        return []
    import yaml  # 30 ms: only if the file exists

    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        log.warning("%s is not YAML and is ignored: %s", path, " ".join(str(error).split()))
        return []
    told = found.get("lineage", {}) if isinstance(found, dict) else None
    entries = [entry for entry in (told if isinstance(told, list) else [told]) if isinstance(entry, dict)]
    if len(entries) != (len(told) if isinstance(told, list) else 1):
        log.warning("%s is ignored: expected `lineage:` with `backend`, `endpoint`, `api_key`, or a list of such", path)
        return []
    plain = [{str(k): str(v) for k, v in entry.items() if isinstance(v, str | int)} for entry in entries]
    return [entry for entry in plain if entry.get("endpoint")]
