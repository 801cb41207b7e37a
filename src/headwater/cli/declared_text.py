"""Texts that people declare something in: entities, policies."""

from pathlib import Path

from headwater.errors import UnreadableContent


def read_bytes(path: Path) -> bytes:
    """Return the content, cut one byte past what the server takes, which then refuses it by its name. UnreadableContent if it cannot be read."""
    from headwater.entities.declaration.document import LARGEST

    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as wrong:
        raise UnreadableContent(f"{path} cannot be read: {wrong.strerror}", path=str(path)) from wrong


def read_text(path: Path) -> str:
    """Return the text. UnreadableContent if it cannot be read or is not UTF-8."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise UnreadableContent(f"{path} is not UTF-8: byte {wrong.start + 1}", path=str(path)) from wrong
