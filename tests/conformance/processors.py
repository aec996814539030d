"""The processors and transformers that cases name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import FixedKeyProcessor, Processor, PunctuationType, Record, ValueAndTimestamp
from headrace.records import NO_HEADERS, Headers
from tests.conformance.case_processor import CaseProcessor, show, where
from tests.conformance.errors import java_class
from tests.conformance.functions import (
    Function,
    SideLog,
    TestError,
    field,
    key_function,
    raise_if,
    text,
    value_function,
)
from tests.conformance.store_commands import KvOp, SessionOp, VersionedOp, WindowOp


class Supplier:
    """Makes processors; carries the stores the case wants it to bring along."""

    def __init__(self, make: Callable[[], Processor], stores: list[Any] | None, *, same_instance: bool = False) -> None:
        self._make = make
        self._one = make() if same_instance else None
        if stores is not None:
            self.stores = stores

    def __call__(self) -> Processor:
        return self._make() if self._one is None else self._one


def supplier(spec: Function, log: SideLog, stores: list[Any] | None = None, *, fixed_key: bool = False) -> Supplier:
    """The supplier for a processor spec."""
    kind = PROCESSORS[spec["fn"]]
    cls = type(kind.__name__, (kind, FixedKeyProcessor), {}) if fixed_key else kind
    return Supplier(lambda: cls(spec, log), stores, same_instance=bool(spec.get("same_instance")))


class Drop(CaseProcessor):
    def process(self, record: Any) -> None:
        """Nothing."""


class MapValue(CaseProcessor):
    def process(self, record: Any) -> None:
        self.forward(record, value_function(self.spec["of"], self.log)(record.key, record.value))


class Rekey(CaseProcessor):
    def process(self, record: Any) -> None:
        self.context.forward(record.with_key(key_function(self.spec["of"], self.log)(record.key, record.value)))


class Twice(CaseProcessor):
    def process(self, record: Any) -> None:
        self.forward(record, record.value)
        self.forward(record, text(record.value) + "'")


class Route(CaseProcessor):
    def process(self, record: Any) -> None:
        self.context.forward(record, field(record.value, 0, ":"))


class Retime(CaseProcessor):
    def process(self, record: Any) -> None:
        self.context.forward(record.with_timestamp(record.timestamp + self.arg))


class AddHeader(CaseProcessor):
    def process(self, record: Any) -> None:
        value = self.spec["value"]
        header = (self.spec["name"], None if value is None else value.encode())
        self.context.forward(record.with_headers(Headers((*record.headers, header))))


class DropHeaders(CaseProcessor):
    def process(self, record: Any) -> None:
        self.context.forward(record.with_headers(NO_HEADERS))


class HeadersToValue(CaseProcessor):
    def process(self, record: Any) -> None:
        pairs = (f"{name}={'null' if value is None else value.decode()}" for name, value in record.headers)
        self.forward(record, ",".join(pairs))


class ContextInfo(CaseProcessor):
    def process(self, record: Any) -> None:
        c = self.context
        self.forward(
            record,
            f"{text(record.value)}|{where(c)}|ts={record.timestamp}|task={c.task_id}|app={c.application_id}"
            f"|st={c.current_stream_time_ms}|wall={c.current_system_time_ms}",
        )


class RaiseIf(CaseProcessor):
    def process(self, record: Any) -> None:
        raise_if(record.value, self.arg)
        self.context.forward(record)


class RaiseAfter(CaseProcessor):
    def process(self, record: Any) -> None:
        self.context.forward(record)
        raise_if(record.value, self.arg)


class RaiseInInit(CaseProcessor):
    def init(self, context: Any) -> None:
        raise TestError("init failed")


class CommitIf(CaseProcessor):
    def process(self, record: Any) -> None:
        if text(record.value) == self.arg:
            self.context.commit()
        self.context.forward(record)


class Lifecycle(CaseProcessor):
    def init(self, context: Any) -> None:
        super().init(context)
        self.log.append(["init", where(context), str(context.current_stream_time_ms)])

    def close(self) -> None:
        self.log.append(["close"])


class KvCounter(CaseProcessor):
    def process(self, record: Any) -> None:
        if record.key is None:
            self.forward(record, -1)
            return
        assert self.store is not None
        held = self.store.get(record.key)
        timestamped = self.spec.get("type") == "timestamped_kv"
        n = (0 if held is None else held.value if timestamped else held) + 1
        self.store.put(record.key, ValueAndTimestamp(n, record.timestamp) if timestamped else n)
        self.forward(record, n)


class Dedup(CaseProcessor):
    def process(self, record: Any) -> None:
        assert self.store is not None
        size = self.spec["size"]
        with self.store.fetch_range(record.key, max(0, record.timestamp - size), record.timestamp + size) as found:
            seen = found.has_next
        self.store.put(record.key, record.value, record.timestamp)
        if not seen:
            self.context.forward(record)


_CLOCKS = {"stream_time": PunctuationType.STREAM_TIME, "wall_clock_time": PunctuationType.WALL_CLOCK_TIME}


class Punctuate(CaseProcessor):
    def init(self, context: Any) -> None:
        super().init(context)
        for schedule in self.spec["schedules"]:
            self._schedule(schedule)

    def _schedule(self, schedule: dict[str, Any]) -> None:
        state: dict[str, Any] = {"fired": 0}

        def fire(timestamp: int) -> None:
            c, label = self.context, schedule["label"]
            value = f"fired {timestamp} st={c.current_stream_time_ms} wall={c.current_system_time_ms} {where(c)}"
            c.forward(Record(label, value, timestamp))
            state["fired"] += 1
            if state["fired"] == schedule.get("raise_at"):
                raise TestError("punctuator " + label)
            if state["fired"] == schedule.get("cancel_after"):
                state["handle"].cancel()

        state["handle"] = self.context.schedule(
            schedule["interval"], _CLOCKS[schedule["type"]], fire, start=schedule.get("start")
        )


class Batcher(CaseProcessor):
    def init(self, context: Any) -> None:
        super().init(context)
        context.schedule(self.spec["interval"], _CLOCKS[self.spec["type"]], self.fire)

    def process(self, record: Any) -> None:
        assert self.store is not None
        self.store.put(record.key, record.value)

    def fire(self, timestamp: int) -> None:
        assert self.store is not None
        with self.store.all() as entries:
            batch = list(entries)
        for key, value in batch:
            self.context.forward(Record(key, value, timestamp))
            self.store.delete(key)


class ScheduleOnValue(CaseProcessor):
    def init(self, context: Any) -> None:
        super().init(context)
        self.handles: dict[str, Any] = {}

    def process(self, record: Any) -> None:
        command, *rest = text(record.value).split(":")
        if command == "start":
            label, interval = rest
            self.handles[label] = self.context.schedule(
                int(interval),
                _CLOCKS[self.spec["type"]],
                lambda t: self.context.forward(Record(label, f"fired {t}", t)),
            )
        elif command == "stop":
            self.handles[rest[0]].cancel()
        else:
            self.context.forward(record)


class Lookup(CaseProcessor):
    def process(self, record: Any) -> None:
        assert self.store is not None
        found = None if record.key is None else self.store.get(record.key)
        self.forward(record, f"{text(record.value)}|{show(found)}")


class StoreWriter(CaseProcessor):
    def process(self, record: Any) -> None:
        assert self.store is not None
        value = record.value
        if str(self.store.kind).startswith("timestamped_kv"):
            value = ValueAndTimestamp.make(value, record.timestamp)
        self.store.put(record.key, value)


class TryWrite(CaseProcessor):
    def process(self, record: Any) -> None:
        assert self.store is not None
        try:
            self.store.put(record.key, record.value)
        except Exception as error:
            self.forward(record, java_class(error))
        else:
            self.forward(record, "ok")


class HasStore(CaseProcessor):
    def init(self, context: Any) -> None:
        Processor.init(self, context)
        try:
            self.answer = "null" if context.store(self.spec["store"]) is None else "present"
        except Exception as error:
            if not self.spec.get("lenient"):
                raise
            self.answer = java_class(error)

    def process(self, record: Any) -> None:
        self.forward(record, self.answer)


PROCESSORS: dict[str, type[CaseProcessor]] = {
    "forward": CaseProcessor,
    "drop": Drop,
    "map_value": MapValue,
    "rekey": Rekey,
    "twice": Twice,
    "route": Route,
    "retime": Retime,
    "add_header": AddHeader,
    "drop_headers": DropHeaders,
    "headers_to_value": HeadersToValue,
    "context_info": ContextInfo,
    "raise_if": RaiseIf,
    "raise_after": RaiseAfter,
    "raise_in_init": RaiseInInit,
    "commit_if": CommitIf,
    "lifecycle": Lifecycle,
    "kv_counter": KvCounter,
    "kv_op": KvOp,
    "window_op": WindowOp,
    "session_op": SessionOp,
    "versioned_op": VersionedOp,
    "dedup": Dedup,
    "punctuate": Punctuate,
    "batcher": Batcher,
    "schedule_on_value": ScheduleOnValue,
    "lookup": Lookup,
    "store_writer": StoreWriter,
    "try_write": TryWrite,
    "has_store": HasStore,
}


class Transformer:
    """The transformers of ``transform_values``."""

    def __init__(self, spec: Function, log: SideLog) -> None:
        self.spec, self.log = spec, log

    def init(self, context: Any) -> None:
        """Keep the context and the store."""
        self.context = context
        self.store = context.store(self.spec["store"]) if "store" in self.spec else None

    def transform(self, key: Any, value: Any) -> Any:
        """The new value."""
        if self.spec["fn"] == "map_value":
            return value_function(self.spec["of"], self.log)(key, value)
        if self.spec["fn"] == "calls":
            assert self.store is not None
            held = self.store.get(key)
            n = (0 if held is None else int(held)) + 1
            self.store.put(key, n)
            return f"{text(value)}#{n}"
        context = self.context.record_context
        return f"{text(value)}|{text(context.topic)}@{context.offset}|{context.timestamp}"

    def close(self) -> None:
        """Nothing to close."""


def transformer_supplier(spec: Function, log: SideLog, stores: list[Any] | None) -> Any:
    """The supplier for a transformer spec."""
    return Supplier(lambda: Transformer(spec, log), stores)  # type: ignore[arg-type, return-value]
