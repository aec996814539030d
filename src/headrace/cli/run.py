"""``headrace run``: a program on Spark, until it is told to stop."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from headrace.cli import exits
from headrace.cli.assignments import settings_of
from headrace.cli.session import Session, command

if TYPE_CHECKING:
    from headrace.cli.run_screen import RunScreen

group = typer.Typer()

Program = Annotated[str, typer.Argument(metavar="FILE.py", help="The program; FILE.py:NAME where it has several.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help="A setting, before the program's own.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", "-t", metavar="N", min=1, help="How many tasks run at the same time.")
]
UntilIdle = Annotated[bool, typer.Option("--until-idle", help="End when everything there is has been processed.")]


@command(
    group,
    "run",
    "headrace run app.py",
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
    until_idle: UntilIdle = False,
) -> None:
    """Run a program on Spark until Ctrl-C or SIGTERM, which end it after the batch at hand; a second Ctrl-C at once.

    The topology is the variable topology or builder of the file, or what its function build() returns; the settings are
    its variable config, a dict. Without an application.id there the name of the file is taken.
    """
    given = {**settings_of(settings or ()), **({} if threads is None else {"num.stream.threads": threads})}
    try:
        with _shown(session, program) as screen, _logging(screen):
            app = _load(session, program, given)
            _tell(screen, app)
            with _quicker_next_time(app, until_idle=until_idle):
                _run(app, screen, until_idle=until_idle)
    except KeyboardInterrupt:
        _end_at_once()


def _load(session: Session, program: str, given: dict[str, Any]) -> Any:
    program_config = importlib.import_module("headrace.cli.program_config")
    application = program_config.load_application(session, program)
    _check_broker(application)
    with application.broker() as broker:
        config = application.config.with_settings({"bootstrap.servers": broker.address, **given})
    _ship()
    return importlib.import_module("headrace.streams").Streams(application.topology, config)


def _check_broker(application: Any) -> None:
    """Better here than when the broker is opened: these errors know the setting, and where else the topics are."""
    preflight = importlib.import_module("headrace.lifecycle.preflight")
    start = preflight.Start(application.config, application.address, application.topology)
    error = preflight.data_directory(start) or preflight.place_of_topics(start)
    if error is not None:
        raise error


def _run(app: Any, screen: RunScreen, *, until_idle: bool) -> None:
    """Start it and wait for its end; signals that come while it starts count too."""
    with importlib.import_module("headrace.lifecycle.signals").stop_signals() as wish:
        screen.is_stopping = lambda: wish.is_there
        app.start()
    if wish.is_there:
        app.close()
    elif until_idle:
        threading.Thread(target=_finish, args=(app,), daemon=True).start()
    app.wait()


def _finish(app: Any) -> None:
    try:
        app.run_until_idle()
    except Exception as error:
        # What failed the application hears from the engine; whoever waits for it gets that.
        logging.getLogger(__name__).debug("not idle: %s", error)
    else:
        app.close()


@contextmanager
def _quicker_next_time(app: Any, *, until_idle: bool) -> Iterator[None]:
    """While an application runs for long, make what lets Spark start in half the time."""
    try:
        made_meanwhile = importlib.import_module("headrace.spark.class_data").made_meanwhile
    except ModuleNotFoundError:
        made_meanwhile = None  # Spark is missing, which the start says better.
    if until_idle or made_meanwhile is None:
        yield
        return
    with made_meanwhile() as make:
        app.on_batch(lambda report: make())
        yield


def _ship() -> None:
    """Workers cannot import the program: it is loaded under a name of ours."""
    module = importlib.import_module("headrace.cli.program").MODULE
    try:
        shipping = importlib.import_module("headrace.spark.shipping")
    except ModuleNotFoundError:
        return  # Spark is missing, which the start says better.
    shipping.ship_by_value(sys.modules[module])


@contextmanager
def _shown(session: Session, program: str) -> Iterator[RunScreen]:
    screens = importlib.import_module("headrace.cli.run_screen")
    console = Console(highlight=False, markup=False, emoji=False)
    if session.out.json:
        yield screens.JsonLines(session.out)
    elif session.out.quiet:
        yield screens.Silence(session.out)
    elif not console.is_terminal or console.is_dumb_terminal:
        yield screens.Lines(session.out)
    else:
        panel = importlib.import_module("headrace.cli.run_panel").Panel(program, console)
        with panel.shown():
            yield panel


def _tell(screen: RunScreen, app: Any) -> None:
    """Let the screen know what the application does."""
    screen.watch(app)
    app.on_state_change(screen.state)
    app.on_batch(screen.batch)
    app.on_restore(screen.restore)


@contextmanager
def _logging(screen: RunScreen) -> Iterator[None]:
    """Warnings of ours as notes."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            screen.note(f"{record.levelname.lower()}: {record.getMessage()}")

    notes = Notes(logging.WARNING)
    logger = logging.getLogger("headrace")
    # Spark's client gives Python's root logger a handler when a connection is lost: nothing is to be told twice.
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
        logger.propagate = propagate


def _end_at_once() -> None:
    """Without waiting for anything: what was not committed runs again at the next start."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exits.INTERRUPTED)
