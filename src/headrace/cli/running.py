"""What ``headrace run`` does: loads the program, runs it, and shows how it goes."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from headrace.broker import open_broker
from headrace.cli import exits
from headrace.cli.broker_config import file_settings
from headrace.cli.output import CommandConsole, flush_what_is_read, warnings_as_notes
from headrace.cli.program_config import ProgramApplication, load_application
from headrace.cli.run_panel import Panel
from headrace.cli.run_screen import JsonLines, Lines, RunScreen, Silence
from headrace.cli.session import Session
from headrace.commands import PROGRAM_MODULE
from headrace.lifecycle import preflight
from headrace.lifecycle.signals import stop_signals
from headrace.streams import Streams

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.topology import Topology


def run_program(
    session: Session, program: str, given: dict[str, Any], *, engine: Literal["spark", "local"], until_idle: bool
) -> None:
    """Run the program with the settings ``given`` before its own, until it ends."""
    on_spark = engine == "spark" and find_spec("pyspark") is not None  # Where Spark is missing, the start says so.
    try:
        with _shown(session, program) as screen, warnings_as_notes(screen.note):
            topology, config = _load(session, program, given)
            if on_spark:
                _ship()
            app = Streams(topology, config, engine=engine)
            with (
                _told(screen, app),
                _quicker_next_time(app) if on_spark and not until_idle else nullcontext(),
            ):
                _run(app, screen, until_idle=until_idle)
    except KeyboardInterrupt:
        _end_at_once()


def finish_program(session: Session, program: str, given: dict[str, Any]) -> None:
    """Bring an application that crashed to a clean stop: what it decided is published, its offsets are committed."""
    _, config = _load(session, program, given)
    name = config.application_id
    with closing(open_broker(preflight.broker_config(config))) as broker:
        with broker.acquire_lease(name, note="headrace run --finish") as lease:
            broker.publish(name, lease.epoch)
        last = broker.last_decided(name)
    batch_id = None if last is None else last.batch_id
    what = "it has decided nothing yet" if last is None else f"everything up to batch {batch_id} is published"
    session.out.done(f"{name} is at a clean stop: {what}", {"application": name, "batch": batch_id})


def _load(session: Session, program: str, given: dict[str, Any]) -> tuple[Topology, StreamsConfig]:
    application = load_application(session, program)
    _check_broker(application)
    with application.broker() as broker:
        own = {**file_settings(), **application.config.originals, "bootstrap.servers": broker.address}
        config = application.config.with_settings({**own, **given})
    return application.topology, config


def _check_broker(application: ProgramApplication) -> None:
    """Better here than when the broker is opened: these errors know the setting, and where else the topics are."""
    start = preflight.Start(application.config, application.address, application.topology)
    error = preflight.data_directory(start) or preflight.place_of_topics(start) or preflight.new_directory(start)
    if error is not None:
        raise error


def _run(app: Streams, screen: RunScreen, *, until_idle: bool) -> None:
    """Start it and wait for its end; signals that come while it starts count too."""
    with stop_signals() as wish:
        screen.is_stopping = lambda: wish.is_there
        app.start()
    if wish.is_there:
        app.close()
    elif until_idle:
        threading.Thread(target=_finish, args=(app,), daemon=True).start()
    app.wait()


def _finish(app: Streams) -> None:
    try:
        app.run_until_idle()
    except Exception as error:
        # What failed the application hears from the engine; whoever waits for it gets that.
        logging.getLogger(__name__).debug("not idle: %s", error)
    else:
        app.close()


@contextmanager
def _quicker_next_time(app: Streams) -> Iterator[None]:
    """While an application runs for long, make what lets Spark start in half the time."""
    from headrace.spark.class_data import made_meanwhile  # noqa: PLC0415

    with made_meanwhile() as make:
        app.on_batch(lambda report: make())
        yield


def _ship() -> None:
    """Workers cannot import the program: it is loaded under a name of ours."""
    from headrace.spark.shipping import ship_by_value  # noqa: PLC0415

    ship_by_value(sys.modules[PROGRAM_MODULE])


@contextmanager
def _shown(session: Session, program: str) -> Iterator[RunScreen]:
    console = CommandConsole()
    if session.out.json:
        yield JsonLines(session.out)
    elif session.out.quiet:
        yield Silence(session.out)
    elif not console.is_terminal or console.is_dumb_terminal:
        yield Lines(session.out)
    else:
        panel = Panel(program, console)
        with panel.shown():
            yield panel


@contextmanager
def _told(screen: RunScreen, app: Streams) -> Iterator[None]:
    """Let the screen know what the application does.

    Listeners are called in threads of the application. What cannot be written there ends it after the batch at hand,
    and is raised when it has ended: here, as in a command that writes by itself.
    """
    unwritten: list[OSError] = []

    def unless_unwritten(tell: Callable[..., None]) -> Callable[..., None]:
        def told(*event: Any) -> None:
            try:
                if not unwritten:
                    tell(*event)
            except OSError as error:
                unwritten.append(error)
                app.close()

        return told

    screen.watch(app)
    app.on_state_change(unless_unwritten(screen.state))
    app.on_batch(unless_unwritten(screen.batch))
    app.on_restore(unless_unwritten(screen.restore))
    yield
    if unwritten:
        raise unwritten[0]


def _end_at_once() -> None:
    """Without waiting for anything: what was not committed runs again at the next start."""
    flush_what_is_read()
    os._exit(exits.INTERRUPTED)
