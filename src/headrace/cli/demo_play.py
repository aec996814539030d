"""How ``headrace demo`` goes: sentences flow in, words are counted, and after a stop every word was counted once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.broker.port import Broker
from headrace.cli import demo_program, demo_show
from headrace.cli.output import CommandConsole
from headrace.cli.session import Session
from headrace.errors import HeadraceError
from headrace.query.replicas import Replicas
from headrace.streams import Streams

_FIRST_SECONDS, _SECOND_SECONDS = 12.0, 6.0
_MISSED = 200
_PATIENCE_SECONDS = 120.0


class Demo:
    """One performance, in three acts: it runs, it stands still, it runs again."""

    def __init__(self, session: Session, broker: Broker, directory: Path) -> None:
        self._broker = broker
        self._config = {
            "application.id": "demo",
            "bootstrap.servers": broker.address,
            "state.dir": directory / "state",
            "num.stream.threads": 2,
        }
        self._sentences = demo_program.Sentences(broker)
        self._show = self._new_show(session)
        self._last: Any = None
        self._batch_done = threading.Event()

    def play(self) -> dict[str, Any]:
        self._broker.create_topic(demo_program.INPUT, demo_program.PARTITIONS)
        self._show.say("Spark starts ...")
        self._sentences.append(1)
        with self._running() as app:
            self._flow(app, _FIRST_SECONDS)
        before = self._committed()
        self._sentences.append(_MISSED)
        self._show.say(
            f"Stopped after batch {self._last.batch_id}: {sum(before.values()):,} words counted. "
            f"{_MISSED} sentences come while it stands still. It starts again ..."
        )
        with self._running() as app:
            self._flow(app, _SECOND_SECONDS)
            app.run_until_idle()
            after = dict(app.store(demo_program.STORE).all())
        return self._verdict(sum(before.values()), after)

    def _flow(self, app: Any, seconds: float) -> None:
        """Sentences flow in and words are counted, for some seconds from the first batch on."""
        self._batch_done.wait(_PATIENCE_SECONDS)
        self._sentences.start()
        try:
            self._show.run(lambda: self._frame(app), seconds)
        finally:
            self._sentences.stop()

    def _verdict(self, before: int, after: dict[str, int]) -> dict[str, Any]:
        said, counted = sum(self._sentences.words.values()), sum(after.values())
        if after != dict(self._sentences.words):
            message = f"{said:,} words were said and {counted:,} counted"
            raise HeadraceError(message, hint="This is our bug: please report it.")
        self._show.say(
            f"{self._sentences.appended:,} sentences, {said:,} words. Counted before the stop: {before:,}, after it: "
            f"{counted - before:,}; together {counted:,}: every word once."
        )
        return {"sentences": self._sentences.appended, "words": said, "before_stop": before, "counted": counted}

    @contextmanager
    def _running(self) -> Iterator[Any]:
        app = Streams(demo_program.build(), self._config)
        self._batch_done.clear()
        app.on_batch(self._take)
        try:
            app.start()
            yield app
        finally:
            app.close()

    def _take(self, report: Any) -> None:
        self._last = report
        self._batch_done.set()

    def _frame(self, app: Any) -> Any:
        """What the application has committed by now, read from its store while it runs."""
        counts, last = dict(app.store(demo_program.STORE).all()), self._last
        said = "no batch yet" if last is None else self._said(last, sum(counts.values()))
        return demo_show.Frame(counts, self._sentences.latest, said)

    def _said(self, last: Any, words: int) -> str:
        rate = 1000 * last.records / max(last.duration_ms, 1)
        return (
            f"batch {last.batch_id}: {last.records:,} sentences in {last.duration_ms / 1000:.2f} s, "
            f"{rate:,.0f} sentences/s; {words:,} words"
        )

    def _committed(self) -> dict[str, int]:
        """What is counted for good, whether the application runs or not."""
        with Replicas.of(demo_program.build(), self._config, self._broker) as found:
            return dict(found.store(demo_program.STORE).all())

    def _new_show(self, session: Session) -> demo_show.Show:
        console = CommandConsole()
        if console.is_terminal and not session.out.json and not session.out.quiet:
            return demo_show.TerminalShow(console)
        return demo_show.LinesShow(session.out.note if session.out.json else session.out.line)
