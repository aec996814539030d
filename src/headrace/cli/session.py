"""What all commands have in common: the options about broker and output, and how a command ends.

A command is a function whose first argument is a ``Session``. ``command`` adds the common options to those of the
function, so that they may stand before or after the command's name, and turns errors into messages and exit codes.
"""

from __future__ import annotations

import functools
import inspect
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Annotated, Any, Concatenate, NoReturn, ParamSpec

import typer
from rich.markup import escape

from headrace import commands
from headrace.broker import BROKER_VARIABLE, DEFAULT_BROKER, embedded_directory, open_broker
from headrace.broker.port import Broker
from headrace.cli import exits
from headrace.cli.broker_config import broker_config
from headrace.cli.exits import NotFoundError, RefusedError
from headrace.cli.output import Output, flush_what_is_read, is_unread, warnings_as_notes
from headrace.errors import HeadraceError, InternalError, debugging, is_debugging

P = ParamSpec("P")

EXAMPLES: dict[str, tuple[str, ...]] = {}
"""The examples in the help of each command, by the name of its function."""

_COMMON = "Common options"
_JSON_HELP = "Print JSON, errors too."

BrokerOption = Annotated[
    str | None,
    typer.Option(
        "--broker",
        "-b",
        metavar="ADDRESS",
        help="The broker: embedded:DIRECTORY, or Kafka's HOST:PORT.",
        rich_help_panel=_COMMON,
    ),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print results only, lists as names.", rich_help_panel=_COMMON)
]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.", rich_help_panel=_COMMON)]
JsonOption = Annotated[bool, typer.Option("--json", help=_JSON_HELP, rich_help_panel=_COMMON)]


@dataclass(frozen=True, slots=True)
class Common:
    """The common options as they were given before the name of a command."""

    broker: str | None = None
    json: bool = False
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """One run of one command: where the broker is, and where to print."""

    address: str
    out: Output
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Of the broker's clients."""

    @contextmanager
    def broker(self, *, create: bool = False) -> Iterator[Broker]:
        """The broker, open until the end of the block. A directory is only made where ``create`` is set."""
        directory = embedded_directory(self.address)
        if directory is not None and not create and not directory.exists():
            message = f"there is no broker at {self.address}"
            detail = f"The directory {directory.absolute()} does not exist."
            hint = (
                f"Create a topic first ({commands.command('topics create NAME', self.address)}), or say where the "
                f"broker is: --broker ADDRESS, or the variable {BROKER_VARIABLE}."
            )
            raise NotFoundError(message, detail=detail, hint=hint)
        with closing(open_broker(broker_config(self.address, self.settings))) as broker:
            yield broker

    def confirm(self, question: str, *, yes: bool) -> None:
        """Go on only where the user agrees: by ``--yes``, or on a terminal when asked."""
        if yes:
            return
        if self.out.json or not sys.stdin.isatty():
            message = f"not done: {question}"
            raise RefusedError(message, hint="Say --yes to do it without being asked.")
        if not typer.confirm(question, err=True):
            raise RefusedError("not done")


def command(
    group: typer.Typer, name: str, *examples: str, json_help: str = _JSON_HELP
) -> Callable[[Callable[Concatenate[Session, P], None]], Callable[Concatenate[Session, P], None]]:
    """Make a function a command of ``group``; ``examples`` stand at the end of its help."""

    def register(function: Callable[Concatenate[Session, P], None]) -> Callable[Concatenate[Session, P], None]:
        EXAMPLES[function.__name__] = examples
        paragraphs = [" ".join(text.split()) for text in (inspect.getdoc(function) or "").split("\n\n")]
        shown = "".join(f"  {example}\n" for example in examples)
        about = "\n\n".join([*paragraphs, f"\b\nExamples:\n{shown}"])
        group.command(name, help=escape(about))(_with_common_options(function, json_help))
        return function

    return register


def _with_common_options(function: Callable[..., None], json_help: str) -> Callable[..., None]:
    json_option = Annotated[bool, typer.Option("--json", help=json_help, rich_help_panel=_COMMON)]
    common: dict[str, tuple[Any, Any]] = {
        "context": (typer.Context, inspect.Parameter.empty),
        "broker": (BrokerOption, None),
        "as_json": (json_option, False),
        "quiet": (QuietOption, False),
        "debug": (DebugOption, False),
    }

    @functools.wraps(function)
    def run(
        *, context: typer.Context, broker: str | None, as_json: bool, quiet: bool, debug: bool, **own: object
    ) -> None:
        before = context.obj if isinstance(context.obj, Common) else Common()
        out = Output(json=as_json or before.json, quiet=quiet or before.quiet)
        session = Session(broker or before.broker or DEFAULT_BROKER, out)
        with debugging(debug or before.debug), warnings_as_notes(out.note), _ending_well(out):
            function(session, **own)

    # Not get_type_hints: in Python 3.10 it hides an Annotated whose default is None in an Optional.
    _, *own_parameters = inspect.signature(function, eval_str=True).parameters.values()
    annotated = {parameter.name: parameter.annotation for parameter in own_parameters}
    run.__annotations__ = {**annotated, **{name: hint for name, (hint, _) in common.items()}}
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [one.replace(kind=keyword) for one in own_parameters]
    parameters += [inspect.Parameter(name, keyword, annotation=h, default=d) for name, (h, d) in common.items()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


@contextmanager
def _ending_well(out: Output) -> Iterator[None]:
    """Turn errors into messages and exit codes; an interrupt or a closed pipe ends without a message."""
    try:
        with _terminable():
            yield
            sys.stdout.flush()
    except HeadraceError as error:
        if _met_closed_pipe(error):
            raise typer.Exit(exits.OK) from error
        if is_debugging():
            raise
        raise _told(out, error, exits.code_of(error)) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(exits.INTERRUPTED) from error
    except exits.Terminated as error:
        raise typer.Exit(exits.TERMINATED) from error
    except BrokenPipeError as error:
        raise typer.Exit(exits.OK) from error
    except (typer.Exit, typer.Abort):
        raise
    except OSError as error:
        if is_debugging():
            raise
        raise _told(out, _system_error(error), exits.FAILED) from error
    except Exception as error:
        if is_debugging():
            raise
        raise _told(out, _our_bug(error), exits.FAILED) from error
    finally:
        flush_what_is_read()


def _met_closed_pipe(error: BaseException) -> bool:
    """Whether a function of the user wrote to the standard output, which nobody reads any more."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, BrokenPipeError):
        cause = cause.__cause__
    return cause is not None and is_unread(sys.stdout)


def _told(out: Output, error: HeadraceError, code: int) -> typer.Exit:
    """The end of a command that failed: the exit code says so even where nobody reads why."""
    with suppress(OSError):
        out.error(error, code)
    return typer.Exit(code)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does: between two statements, with all files closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise exits.Terminated


def _system_error(error: OSError) -> HeadraceError:
    what = f"{error.filename}: " if error.filename else ""
    return HeadraceError(f"{what}{error.strerror or error}")


def _our_bug(error: Exception) -> InternalError:
    hint = "This is our bug: please report it, with what --debug shows."
    return InternalError(f"{type(error).__name__}: {error}", hint=hint)


def choose(given: str, allowed: Sequence[str], what: str) -> str:
    if given in allowed:
        return given
    message = f"unknown {what} {given!r}"
    raise exits.UsageError(message, hint=f"Choose one of {', '.join(allowed)}.")
