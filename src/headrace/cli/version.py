"""``headrace version``."""

from __future__ import annotations

import platform
from importlib import metadata

import typer

from headrace.cli.session import Session, command

group = typer.Typer()


def of_headrace() -> str:
    try:
        return metadata.version("headrace")
    except metadata.PackageNotFoundError:
        return "unknown"


@command(group, "version", "headrace version", "headrace version --json")
def version(session: Session) -> None:
    """Print the version of Headrace and of Python."""
    python = platform.python_version()
    if session.out.json:
        session.out.data({"headrace": of_headrace(), "python": python, "platform": platform.platform()})
    elif session.out.quiet:
        session.out.line(of_headrace())
    else:
        session.out.line(f"headrace {of_headrace()} (Python {python}, {platform.system()} {platform.machine()})")
