"""``headrace run``: a program on Spark, or in this process, until it is told to stop."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.assignments import Program, Set, settings_of
from headrace.cli.session import Session, command

group = typer.Typer()

Threads = Annotated[
    int | None, typer.Option("--threads", "-t", metavar="N", min=1, help="How many tasks run at the same time.")
]
Local = Annotated[bool, typer.Option("--local", help="In this process, without Spark or Java.")]
UntilIdle = Annotated[bool, typer.Option("--until-idle", help="End when everything there is has been processed.")]

Finish = Annotated[
    bool,
    typer.Option(
        "--finish", help="Process nothing: publish what a crash left unpublished, commit its offsets, and end."
    ),
]


@command(
    group,
    "run",
    "headrace run app.py",
    "headrace run --local app.py",
    "headrace run app.py:orders --threads 4",
    "headrace run app.py --set max.records.per.batch=10000 --set state.dir=/var/lib/app",
    "headrace run app.py --until-idle --json",
    json_help="An object per line for each batch, each change of the state and each restore.",
)
def run(
    session: Session,
    program: Program,
    settings: Set = None,
    threads: Threads = None,
    local: Local = False,
    until_idle: UntilIdle = False,
    finish: Finish = False,
) -> None:
    """Run a program on Spark until Ctrl-C or SIGTERM, which end it after the batch at hand; a second Ctrl-C at once.

    The topology is the variable topology or builder of the file, or what its function build() returns; the settings are
    its variable config, a dict. Without an application.id there the name of the file is taken.
    """
    from headrace.cli.running import finish_program, run_program  # noqa: PLC0415

    given = {**settings_of(settings or ()), **({} if threads is None else {"num.stream.threads": threads})}
    if finish:
        finish_program(session, program, given)
        return
    run_program(session, program, given, engine="local" if local else "spark", until_idle=until_idle)
