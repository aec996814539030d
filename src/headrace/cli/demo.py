"""``headrace demo``: word count live on Spark; it is stopped in the middle, started again, and goes on where it was."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import typer

from headrace.broker import open_broker
from headrace.cli.session import Session, command

group = typer.Typer()


@command(group, "demo", "headrace demo", "headrace demo --json")
def demo(session: Session) -> None:
    """Count words live on Spark, stop, start again, and show that every word was counted once.

    Needs nothing but Java, and takes half a minute. Everything happens in a temporary directory that is removed at the
    end.
    """
    from headrace.cli.demo_play import Demo  # noqa: PLC0415

    directory = Path(tempfile.mkdtemp(prefix="headrace-demo-"))
    try:
        with closing(open_broker(f"embedded:{directory / 'data'}")) as broker:
            result = Demo(session, broker, directory).play()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if session.out.json:
        session.out.data(result)
