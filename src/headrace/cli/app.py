"""The program ``headrace``: its groups of commands, and the options before them."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.broker import BROKER_VARIABLE, DEFAULT_BROKER
from headrace.cli import (
    consume,
    demo,
    describe,
    doctor,
    exits,
    groups,
    kafka,
    produce,
    reset,
    sql,
    state,
    topics,
    version,
)
from headrace.cli import run as run_program
from headrace.cli.session import Common, DebugOption, JsonOption, QuietOption

_CODES = "\n".join(f"  {code:<4} {meaning}" for code, meaning in exits.MEANINGS.items())
_HELP = f"""Streams, tables and topics from the command line.

\b
Exit codes:
{_CODES}

\b
Examples:
  headrace topics create lines --partitions 3
  echo 'all streams lead to kafka' | headrace produce lines
  headrace consume lines
  headrace describe app.py
"""

app = typer.Typer(
    name="headrace",
    help=_HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

BrokerWithVariable = Annotated[
    str,
    typer.Option("--broker", "-b", metavar="ADDRESS", envvar=BROKER_VARIABLE, help="The broker that commands talk to."),
]
VersionOption = Annotated[bool, typer.Option("--version", help="Print the version.")]


@app.callback(invoke_without_command=True)
def headrace(
    context: typer.Context,
    broker: BrokerWithVariable = DEFAULT_BROKER,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    debug: DebugOption = False,
    show_version: VersionOption = False,
) -> None:
    context.obj = Common(broker, as_json, quiet, debug)
    if show_version:
        typer.echo(f"headrace {version.of_headrace()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(exits.USAGE)


app.add_typer(run_program.group)
app.add_typer(describe.group)
app.add_typer(sql.group)
app.add_typer(topics.group, name="topics")
app.add_typer(produce.group)
app.add_typer(consume.group)
app.add_typer(groups.group, name="groups")
app.add_typer(state.group, name="state")
app.add_typer(reset.group)
app.add_typer(kafka.group, name="kafka")
app.add_typer(demo.group)
app.add_typer(doctor.group)
app.add_typer(version.group)


def run() -> None:
    app(prog_name="headrace")
