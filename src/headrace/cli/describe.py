"""``headrace describe``: what a program became, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.assignments import Program
from headrace.cli.session import Session, choose, command

if TYPE_CHECKING:
    from headrace.topology import Topology

group = typer.Typer()

_FORMATS: dict[str, Callable[[Topology], str]] = {
    "text": lambda topology: str(topology.describe()),
    "mermaid": lambda topology: topology.to_mermaid(),
    "dot": lambda topology: topology.to_dot(),
    "json": lambda topology: topology.to_json(),
}

Format = Annotated[str, typer.Option("--format", metavar="text|mermaid|dot|json", help="How to show it.")]


@command(
    group,
    "describe",
    "headrace describe app.py",
    "headrace describe app.py:build_orders --format mermaid",
    "headrace describe app.py --format dot | dot -Tsvg > app.svg",
    json_help="The same as --format json.",
)
def describe(session: Session, program: Program, format: Format = "text") -> None:
    """Show the topology of a program: its nodes, sub-topologies, stores and topics.

    The program is run up to the point where its topology is there: a variable named topology or builder, or a function
    build() without arguments. Nothing is read from or written to a broker. The text is Kafka Streams' own.
    """
    from headrace.cli.program import load_topology  # noqa: PLC0415

    write = _FORMATS[choose("json" if session.out.json else format, tuple(_FORMATS), "format")]
    session.out.text(write(load_topology(program)).rstrip("\n") + "\n")
