"""``headrace kafka``: a real Kafka on this machine, to develop against; start, stop, status."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli import exits
from headrace.cli.exits import RefusedError
from headrace.cli.session import Session, command
from headrace.kafka_server import KAFKA_VERSION, KafkaServer, Node, free_port
from headrace.kafka_server.server import HOST, running_port

group = typer.Typer(help="A Kafka of your own on this machine: start, stop, status.", no_args_is_help=True)

DEFAULT_DIRECTORY = Path("headrace-kafka")
DEFAULT_PORT = 9092

Directory = Annotated[Path, typer.Option("--directory", "-d", metavar="DIR", help="Where it keeps its data and log.")]
Port = Annotated[int, typer.Option("--port", "-p", min=1, max=65535, help="The port of 127.0.0.1 that it listens on.")]


@command(group, "start", "headrace kafka start", "headrace kafka start --directory /tmp/kafka --port 19092")
def start_kafka(session: Session, directory: Directory = DEFAULT_DIRECTORY, port: Port = DEFAULT_PORT) -> None:
    """Start a Kafka broker in the background, and wait until it answers.

    The first time its jars are fetched from Maven Central, which takes a minute; they are kept in ~/.cache/headrace.
    It listens on 127.0.0.1 only, without a password. Topics stay in the directory from one start to the next.
    """
    place = directory.absolute()
    found = running_port(place)
    server = _server(place, port if found is None else found)
    if found is None:
        _check_port(port)
        server.start(session.out.note)
        server.leave_running()
    state = "runs already" if found is not None else "runs"
    session.out.done(f"Kafka {KAFKA_VERSION} {state}: bootstrap.servers={server.address}", _described(server))


@command(group, "stop", "headrace kafka stop", "headrace kafka stop --directory /tmp/kafka")
def stop_kafka(session: Session, directory: Directory = DEFAULT_DIRECTORY) -> None:
    """Stop the broker of a directory; its topics stay. Nothing happens where none runs."""
    place = directory.absolute()
    server = _server(place, running_port(place) or DEFAULT_PORT)
    stopped = server.stop()
    said = f"stopped Kafka at {server.address}" if stopped else f"no Kafka runs in {place}"
    session.out.done(said, {"directory": str(place), "stopped": stopped})


@command(group, "status", "headrace kafka status", "headrace kafka status --json")
def kafka_status(session: Session, directory: Directory = DEFAULT_DIRECTORY) -> None:
    """Say whether a broker runs in a directory, and where it listens. Without one it ends with code 3."""
    place = directory.absolute()
    port = running_port(place)
    if port is None:
        session.out.done(f"no Kafka runs in {place}", {"directory": str(place), "running": False})
        raise typer.Exit(exits.NOT_FOUND)
    server = _server(place, port)
    state = "runs" if server.answers() else "does not answer"
    said = f"Kafka {KAFKA_VERSION} {state}: bootstrap.servers={server.address}, process {server.pid}, {place}"
    session.out.done(said, _described(server))


def _server(directory: Path, port: int) -> KafkaServer:
    return KafkaServer(directory, Node(1, port, free_port()), heap="1g")


def _described(server: KafkaServer) -> dict[str, Any]:
    return {
        "directory": str(server.directory),
        "running": True,
        "answers": server.answers(),
        "bootstrap.servers": server.address,
        "pid": server.pid,
        "log": str(server.log),
    }


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        # A server that ended a moment ago is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            message = f"port {port} of {HOST} cannot be used: {error.strerror}"
            raise RefusedError(message, hint="End what listens there, or choose another: --port N.") from error
