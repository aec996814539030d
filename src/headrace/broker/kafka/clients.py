"""What talks to the cluster: made from a ``BrokerConfig`` by the process that uses it, and ended by it.

librdkafka's clients are threads and sockets: they do not survive a fork. Whoever finds itself in another process than
the one that made a ``Clients`` is told so instead of waiting for ever.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka import certificates
from headrace.broker.kafka.client_settings import (
    admin_settings,
    consumer_settings,
    given,
    hidden,
    identity,
    producer_settings,
)
from headrace.broker.kafka.failures import CREDENTIALS, NOT_NOW, UNREACHABLE, denied, failure, refused, unreachable
from headrace.broker.kafka.silence import SilenceWatch
from headrace.errors import ConfigError, HeadraceError, InternalError

_logger = logging.getLogger("headrace.broker.kafka.librdkafka")
_API_TIMEOUT_MS = 60_000
_PAUSE = 0.1
_SPREAD_SECONDS = 5.0
_LOOK_SECONDS = 1.0
"""How long to wait for an answer before looking whether one can come at all."""
_DRAW_SECONDS = 0.05
_NO_GROUP = "headrace-reads-without-a-group"
"""librdkafka wants a group of every consumer. Nothing is ever asked of this one, so that nobody has to allow it."""
_T = TypeVar("_T")


class _Quiet:
    """librdkafka's own lines, as details: it writes one for every try of a connection, and we say what comes of it."""

    def log(self, level: int, message: str, *values: object) -> None:
        """Called by librdkafka's binding."""
        _logger.debug(message, *values)


class Clients:
    """Makes consumers and producers, and keeps one admin client. Safe in threads."""

    def __init__(self, config: BrokerConfig) -> None:
        self.config, self.address = config, config.address
        timeout = given(config, "default.api.timeout.ms", "consumer.", "admin.")
        self.timeout = (_API_TIMEOUT_MS if timeout is None else int(str(timeout))) / 1000
        """How many seconds a question may take."""
        self._silence = SilenceWatch(config.address, self.timeout, self._reason_of_silence)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._admin: AdminClient | None = None
        self._complaint: KafkaError | None = None
        self.outages = 0
        """How often nobody answered."""
        self._made_until: dict[str, float] = {}

    def note_made(self, topic: str) -> None:
        """A topic was made. For a while some brokers of a cluster may not know it yet."""
        self._made_until[topic] = time.monotonic() + _SPREAD_SECONDS

    def note_deleted(self, topic: str) -> None:
        self._made_until.pop(topic, None)

    @property
    def spreading(self) -> set[str]:
        """Topics that were made a moment ago: who says that they are not there does not know yet."""
        now = time.monotonic()
        return {topic for topic, until in list(self._made_until.items()) if now < until}

    def consumer(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        kind: str = "main",
        defaults: Mapping[str, Any] | None = None,
    ) -> Consumer:
        """A new consumer, for whoever closes it. It never commits by itself and never chooses where to begin.

        ``settings`` go before the user's, ``defaults`` behind them.
        """
        chosen = {**(defaults or {}), **consumer_settings(self.config, kind)}
        fixed = {"group.id": _NO_GROUP, "enable.auto.commit": False, "enable.auto.offset.store": False}
        fixed["auto.offset.reset"] = "error"
        return self._made(Consumer, {**chosen, **fixed, **(settings or {})})

    def producer(self, settings: Mapping[str, Any] | None = None) -> Producer:
        """A new producer, for whoever flushes it; idempotent, as Kafka's own is."""
        fixed = {"enable.idempotence": True}
        return self._made(Producer, {**fixed, **producer_settings(self.config), **(settings or {})})

    def admin(self) -> AdminClient:
        """The one admin client of this process."""
        self._check_process()
        with self._lock:
            if self._admin is None:
                self._admin = self._made(AdminClient, admin_settings(self.config))
            return self._admin

    def look(self, what: str, once: Callable[[float], _T]) -> _T:
        """What the cluster answers to a question that may be asked again; ``once`` is given how long it may take."""
        return self.until_it_can(what, lambda: self.patiently(once, self.learn_leaders))

    def change(self, what: str, once: Callable[[float], object], done: Collection[int] = ()) -> None:
        """Have the cluster change something, asked again as in ``look``: who was to do it may have died.

        An earlier try may have been heard, and only its answer lost. The codes ``done`` say so of a later one.
        """
        is_open = False

        def once_more(seconds: float) -> None:
            nonlocal is_open
            try:
                once(seconds)
            except KafkaException as error:
                code = error.args[0].code()
                if not is_open or code not in done:
                    is_open = is_open or code in UNREACHABLE
                    raise

        self.look(what, once_more)

    def learn_leaders(self, seconds: float) -> None:
        """Let the admin client hear who leads now.

        It keeps what it once heard, and waits for a leader or a controller that is gone until that is back, though the
        others have chosen another one long ago.
        """
        self.admin().list_topics(timeout=seconds)

    def answer(self, future: Future[_T], seconds: float) -> _T:
        """What a question of the admin client comes to, which ends it after so many seconds.

        What goes to the controller waits for the broker that the cluster named as such: any one, drawn anew for each
        who asks for metadata. One that we cannot reach would keep it waiting to the end, so that we let it draw again.
        """
        deadline, pause = time.monotonic() + seconds + _LOOK_SECONDS, _DRAW_SECONDS
        while wait([future], pause).not_done:
            if time.monotonic() > deadline:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            with suppress(KafkaException):
                self.learn_leaders(pause)
            pause = min(2 * pause, _LOOK_SECONDS)
        return future.result()

    def until_it_can(self, what: str, once: Callable[[], _T]) -> _T:
        """What a question comes to that is asked again while the cluster is about to be able to answer it.

        It fails with KafkaException, or with our error made of it.
        """
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return once()
            except KafkaException as inside:
                failed, cause = self.failure(inside, what), inside
            except HeadraceError as told:
                if not isinstance(told.__cause__, KafkaException):
                    raise
                failed, cause = told, told.__cause__
            if not self._may_pass(cause.args[0].code()) or time.monotonic() > deadline:
                raise failed from cause
            time.sleep(_PAUSE)

    def _may_pass(self, code: int) -> bool:
        return code in NOT_NOW or (code == KafkaError.UNKNOWN_TOPIC_OR_PART and bool(self.spreading))

    def patiently(self, ask: Callable[[float], _T], learn: Callable[[float], object] = lambda seconds: None) -> _T:
        """What ``ask`` answers, which is given a number of seconds: few at first, then ever more, up to the timeout.

        For questions that cannot be interrupted: between two tries it is seen whether we are refused. ``learn`` comes
        before another try, and is given as many seconds.
        """
        with self.waiting():
            return self._patiently(ask, learn)

    def waiting(self) -> AbstractContextManager[None]:
        """An answer is waited for until the end of the block: where the cluster says nothing, the log says so."""
        return self._silence.waiting()

    def _patiently(self, ask: Callable[[float], _T], learn: Callable[[float], object]) -> _T:
        deadline, seconds = time.monotonic() + self.timeout, _LOOK_SECONDS
        while True:
            at_most = max(min(seconds, deadline - time.monotonic()), 0.001)
            try:
                if seconds > _LOOK_SECONDS:
                    learn(at_most)
                found = ask(at_most)
                break
            except KafkaException as error:
                is_over = time.monotonic() >= deadline
                if is_over or error.args[0].code() not in UNREACHABLE or self._is_refused():
                    raise
            seconds *= 2
            time.sleep(_PAUSE)
        self._complaint = None
        return found

    def failure(self, error: KafkaException | KafkaError, what: str) -> HeadraceError:
        """Our error for librdkafka's, with what the client last complained of where nobody answers."""
        kafka_error = error.args[0] if isinstance(error, KafkaException) else error
        if kafka_error.code() in UNREACHABLE:
            return self.silent(what, kafka_error)
        return failure(kafka_error, what, self.address, identity(self.config))

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Turn an error of librdkafka inside the block into ours; ``what`` says what was tried."""
        try:
            yield
        except KafkaException as error:
            raise self.failure(error, what) from error

    def denied(self, what: str, detail: str) -> HeadraceError:
        """Our error for what we may not do."""
        return denied(what, identity(self.config), detail)

    def silent(self, what: str, error: KafkaError | None = None) -> HeadraceError:
        """Our error where nobody answers: the reason is what the clients complained of last."""
        self.outages += 1
        is_refused = self._is_refused()
        detail = self._complained(error)
        if is_refused:
            if certificates.UNSAID in (detail or ""):
                detail = certificates.complaint(self.address, admin_settings(self.config)) or detail
            return refused(what, self.address, identity(self.config), detail or "")
        return unreachable(what, self.address, detail)

    def _complained(self, error: KafkaError | None) -> str | None:
        """What a client complained of last; ``error`` where none did."""
        seen = self._complaint or error
        return None if seen is None else hidden(f"{seen.str()} ({seen.name()})", self.config.settings)

    def _reason_of_silence(self) -> str | None:
        try:
            self.learn_leaders(_LOOK_SECONDS)
        except KafkaException as error:
            self.outages += 1
            self.admin().poll(0)
            return self._complained(error.args[0])
        return None

    def _is_refused(self) -> bool:
        """Whether the last that was heard is that no session can be opened. An admin client tells when it is asked."""
        with self._lock:
            admin = self._admin
        if admin is not None:
            admin.poll(0)
        return self._complaint is not None and self._complaint.code() in CREDENTIALS

    def close(self) -> None:
        """End the admin client; who asked for others closes those."""
        with self._lock:
            self._admin = None

    def _made(self, kind: Any, settings: dict[str, Any]) -> Any:
        self._check_process()
        settings = {"error_cb": self.on_error, "logger": _Quiet(), **settings}
        try:
            return kind(settings)
        except (KafkaException, TypeError, ValueError) as error:
            seen = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            message = f"Kafka's client does not take its settings: {hidden(seen, settings)}"
            hint = "Correct or leave out the setting that begins with consumer., producer., admin., ssl. or sasl."
            raise ConfigError(message, hint=hint) from None

    def on_error(self, error: KafkaError) -> None:
        """Remember what a client complains of, for when nobody answers."""
        # That all brokers are down, or this one has gone, says less than the reason, which came before it.
        known = self._complaint
        is_vague = error.code() == KafkaError._ALL_BROKERS_DOWN or (known is not None and known.code() in CREDENTIALS)
        if known is None or not is_vague or error.code() in CREDENTIALS:
            self._complaint = error
        _logger.debug("%s", hidden(str(error), self.config.settings))

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            message = "a Kafka broker was used in another process than the one that opened it"
            raise InternalError(message, hint="Open it there, from its config.")
