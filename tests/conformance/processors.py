"""The processors and transformers that cases name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import FixedKeyProcessor, Processor, PunctuationType, Record, ValueAndTimestamp, VersionedRecord, serdes
from headrace.records import NO_HEADERS, Headers
from headrace.windows import SessionWindow, Windowed
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


def show(x: Any) -> str:
    """``show(x)`` of the case format."""
    if isinstance(x, ValueAndTimestamp):
        return f"{text(x.value)}@{x.timestamp}"
    if isinstance(x, VersionedRecord):
        end = "" if x.valid_to is None else f"<{x.valid_to}"
        return f"{text(x.value)}@{x.timestamp}{end}"
    return text(x)


def where(context: Any) -> str:
    """The metadata of the current record as text."""
    metadata = context.record_metadata
    if metadata is None:
        return "none"
    return f"{text(metadata.topic)}-{metadata.partition}@{metadata.offset}"


class CaseProcessor(Processor):
    """What all have in common."""

    def __init__(self, spec: Function, log: SideLog) -> None:
        self.spec, self.log, self.arg = spec, log, spec.get("arg")

    def init(self, context: Any) -> None:
        """Keep the context and the store."""
        super().init(context)
        self.store = context.store(self.spec["store"]) if "store" in self.spec else None

    def forward(self, record: Any, value: Any) -> None:
        """The same record with this value."""
        self.context.forward(record.with_value(value))

    def process(self, record: Any) -> None:
        """Forward it as it is."""
        self.context.forward(record)


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


class StoreCommands(CaseProcessor):
    """Commands in the value; results as values."""

    def process(self, record: Any) -> None:
        for command in text(record.value).split("&"):
            self.forward(record, f"{command} -> {self._result(command, record)}")

    def _result(self, command: str, record: Any) -> str:
        name, *fields = command.split(":")
        try:
            return str(self.run(name, [None if f == "" else f for f in fields], record))
        except Exception as error:
            if not self.spec.get("catch"):
                raise
            return "!" + java_class(error)

    def run(self, name: str, f: list[str | None], record: Any) -> Any:
        """Do one command."""
        raise AssertionError(name)

    def key(self, x: str | None) -> Any:
        return None if x is None else x if self.spec.get("key_type", "string") == "string" else int(x)

    def value(self, x: str | None) -> Any:
        return None if x is None else x if self.spec.get("value_type", "string") == "string" else int(x)

    @staticmethod
    def listing(iterator: Any) -> str:
        with iterator as entries:
            return ";".join(f"{text(k)}={show(v)}" for k, v in entries)


class KvOp(StoreCommands):
    def stamped(self, x: str | None, record: Any) -> Any:
        value = self.value(x)
        assert self.store is not None
        timestamped = self.store.store_type.startswith("timestamped_kv")
        return ValueAndTimestamp.make(value, record.timestamp) if timestamped else value

    def run(self, name: str, f: list[str | None], record: Any) -> Any:
        s = self.store
        assert s is not None
        if name == "put":
            s.put(self.key(f[0]), self.stamped(f[1], record))
            return "ok"
        if name == "pia":
            return show(s.put_if_absent(self.key(f[0]), self.stamped(f[1], record)))
        if name == "putall":
            s.put_all([(self.key(k), self.stamped(v, record)) for k, v in zip(f[::2], f[1::2], strict=False)])
            return "ok"
        if name in ("del", "get"):
            return show((s.delete if name == "del" else s.get)(self.key(f[0])))
        if name in ("range", "rrange"):
            return self.listing((s.range if name == "range" else s.reverse_range)(self.key(f[0]), self.key(f[1])))
        if name in ("all", "rall"):
            return self.listing(s.all() if name == "all" else s.reverse_all())
        if name == "prefix":
            return self.listing(s.prefix_scan(f[0], serdes.string()))
        if name == "count":
            return s.approximate_num_entries()
        if name == "peek":
            with s.all() as entries:
                return f"{text(entries.peek_next_key())},{text(next(entries)[0])}" if entries.has_next else "empty"
        return self._iterate(name, f, record)

    def _iterate(self, name: str, f: list[str | None], record: Any) -> str:
        assert self.store is not None
        result = ""
        with self.store.all() as entries:
            for k, v in entries:
                result += f"{text(k)}={show(v)};"
                if name == "iter_while_put":
                    self.store.put(self.key(f[0]), self.stamped(f[1], record))
                else:
                    self.store.delete(self.key(f[0]))
        return result


class WindowOp(StoreCommands):
    def run(self, name: str, f: list[str | None], record: Any) -> Any:
        s = self.store
        assert s is not None
        times = [None if x is None else x for x in f]
        if name == "put":
            value = self.value(f[1])
            if s.store_type.startswith("timestamped"):
                value = ValueAndTimestamp.make(value, record.timestamp)
            s.put(self.key(f[0]), value, int(times[2] or 0))
            return "ok"
        if name == "get":
            return show(s.fetch(self.key(f[0]), int(times[1] or 0)))
        if name in ("fetch", "bfetch"):
            method = s.fetch_range if name == "fetch" else s.backward_fetch_range
            return self.listing(method(self.key(f[0]), int(times[1] or 0), int(times[2] or 0)))
        if name in ("fetchkeys", "bfetchkeys"):
            method = s.fetch_keys if name == "fetchkeys" else s.backward_fetch_keys
            return self.listing(method(self.key(f[0]), self.key(f[1]), int(times[2] or 0), int(times[3] or 0)))
        if name in ("fetchall", "bfetchall"):
            method = s.fetch_all if name == "fetchall" else s.backward_fetch_all
            return self.listing(method(int(times[0] or 0), int(times[1] or 0)))
        return self.listing(s.all() if name == "all" else s.backward_all())


class SessionOp(StoreCommands):
    def run(self, name: str, f: list[str | None], record: Any) -> Any:
        s = self.store
        assert s is not None
        n = [int(x) if x is not None and x.lstrip("-").isdigit() else 0 for x in f]
        if name == "put":
            s.put(Windowed(self.key(f[0]), SessionWindow(n[1], n[2])), self.value(f[3]))
            return "ok"
        if name == "remove":
            s.remove(Windowed(self.key(f[0]), SessionWindow(n[1], n[2])))
            return "ok"
        if name == "get":
            return show(s.fetch_session(self.key(f[0]), n[1], n[2]))
        if name in ("fetch", "bfetch"):
            return self.listing((s.fetch if name == "fetch" else s.backward_fetch)(self.key(f[0])))
        if name in ("fetchkeys", "bfetchkeys"):
            method = s.fetch_keys if name == "fetchkeys" else s.backward_fetch_keys
            return self.listing(method(self.key(f[0]), self.key(f[1])))
        if name in ("find", "bfind"):
            method = s.find_sessions if name == "find" else s.backward_find_sessions
            return self.listing(method(self.key(f[0]), n[1], n[2]))
        if name in ("findkeys", "bfindkeys"):
            method = s.find_sessions_keys if name == "findkeys" else s.backward_find_sessions_keys
            return self.listing(method(self.key(f[0]), self.key(f[1]), n[2], n[3]))
        return self.listing(s.find_sessions_by_end(n[0], n[1]))


class VersionedOp(StoreCommands):
    def run(self, name: str, f: list[str | None], record: Any) -> Any:
        s = self.store
        assert s is not None
        if name == "put":
            return s.put(self.key(f[0]), self.value(f[1]), int(f[2] or 0))
        if name == "del":
            return show(s.delete(self.key(f[0]), int(f[1] or 0)))
        if name == "get":
            return show(s.get(self.key(f[0])))
        return show(s.get(self.key(f[0]), int(f[1] or 0)))


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
        if self.store.store_type.startswith("timestamped_kv"):
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
