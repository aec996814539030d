"""A program and its settings on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from headrace.cli.exits import UsageError

Program = Annotated[str, typer.Argument(metavar="FILE.py", help="The program; FILE.py:NAME where it has several.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help="A setting, before the program's own.")
]


def settings_of(given: Iterable[str], example: str = "--set num.stream.threads=2") -> dict[str, str]:
    """``["a=1", "b=2"]`` as a dict; ``example`` is what the error shows.

    >>> settings_of(["cleanup.policy=compact", "retention.ms=-1"])
    {'cleanup.policy': 'compact', 'retention.ms': '-1'}
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            message = f"{text!r} is no setting"
            raise UsageError(message, hint=f"Write it as NAME=VALUE, for instance {example}.")
        found[name.strip()] = value.strip()
    return found
