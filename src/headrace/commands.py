"""Commands that errors recommend. They name the broker: the one that the command takes by itself may be another."""

from __future__ import annotations

import shlex


def command(text: str, address: str) -> str:
    """A command to be pasted.

    >>> command("topics list", "embedded:my data")
    "headrace topics list --broker 'embedded:my data'"
    """
    return f"headrace {text} --broker {shlex.quote(address)}"


def reset(address: str) -> str:
    """Starts an application over. Which program it is of is for the user to say."""
    return command("reset app.py", address)
