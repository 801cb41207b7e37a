"""The libraries of the extra `fingerprint`, imported when the first file needs them; a missing one is reported with its install command."""

from importlib import import_module
from typing import Any

from headwater.errors import NotInstalled


def part(module: str) -> Any:
    """Import the module. Raises NotInstalled with the command that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise NotInstalled(
            f"fingerprints need {error.name}: pip install 'headwater[fingerprint]'",
            extra="fingerprint",
            missing=[error.name],
        ) from None
