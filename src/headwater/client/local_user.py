"""The user of this machine, by the name that the operating system has: the author of a change on a server without sign-in."""

import getpass


def local_user() -> str | None:
    """Return the user's name; None if there is none, as of a container's user, which often has only a number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None
