"""``headrace reset``: an application starts over, as with kafka-streams-application-reset."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headrace.cli.assignments import Program, Set
from headrace.cli.groups import refuse_while_running
from headrace.cli.positions import GRAMMAR, position_of
from headrace.cli.session import Session, command

group = typer.Typer()

To = Annotated[str, typer.Option("--to", metavar="POSITION", help=f"Where its input starts: {GRAMMAR}.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@command(
    group,
    "reset",
    "headrace reset app.py --dry-run",
    "headrace reset app.py --yes",
    "headrace reset app.py --to @2026-07-01T12:00:00Z",
    "headrace reset app.py --to end --yes --json",
)
def reset(
    session: Session,
    program: Program,
    to: To = "beginning",
    dry_run: DryRun = False,
    yes: Yes = False,
    settings: Set = None,
) -> None:
    """Let an application start over: its input from the beginning, its state empty.

    Its changelogs, its commits and its state directory are deleted; its input topics are read from --to on. What it
    wrote to other topics stays. It must not run meanwhile. Shows what it will do and asks before it does so; without a
    terminal it needs --yes.
    """
    from headrace.cli.program_config import load_application  # noqa: PLC0415
    from headrace.cli.reset_plan import plan_reset  # noqa: PLC0415

    position = position_of(to)
    application = load_application(session, program, settings or ())
    with application.broker() as broker:
        plan = plan_reset(application, broker, position)
        if not dry_run:
            refuse_while_running(broker, plan.application)
        data = plan.data()
        if not session.out.json and not session.out.quiet:
            _show(session, data)
        if not dry_run:
            session.confirm(f"reset {plan.application}?", yes=yes)
            plan.carry_out(broker)
    if session.out.json:
        session.out.data({**data, "executed": not dry_run})
    else:
        session.out.note("nothing is changed: leave out --dry-run to do it" if dry_run else f"reset {plan.application}")


def _show(session: Session, data: dict[str, Any]) -> None:
    out = session.out
    if data["inputs"]:
        rows = [tuple(one.values()) for one in data["inputs"]]
        out.table(("INPUT", ">PARTITION", ">FROM", ">TO"), rows)
    for topic in data["deleted_topics"]:
        out.line(f"delete topic {topic}")
    if data["deleted_commits"]:
        out.line(f"delete the commits of {data['application']}")
    if data["deleted_directory"]:
        out.line(f"delete directory {data['deleted_directory']}")
