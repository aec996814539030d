"""Runs one case on the test driver and writes down what happened in the form of the answers."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import uuid
from typing import Any

from headrace import FailureReason, Topology, TopologyTestDriver, Windowed, serdes
from headrace import query as iq
from headrace.config import StreamsConfig
from headrace.errors import ArgumentError, HeadraceError, SerializationError, TopologyError
from headrace.records import ValueAndTimestamp, VersionedRecord
from headrace.windows import SessionWindow, TimeWindow
from tests.conformance.adapter import Program
from tests.conformance.errors import java_class_named
from tests.conformance.functions import TestError
from tests.conformance.printed import printed
from tests.conformance.specs import Json, raw, serde

MAX_TIME = 2**63 - 1


@dataclasses.dataclass
class Failure:
    """What a case raised, and where."""

    error: BaseException
    at: str


def run_case(case: Json, *, in_batches: bool = False) -> tuple[dict[str, Any], Failure | None]:
    """What Headrace answers, in the form of ``expected``, and the error that ended it, if one did."""
    program = Program(case)
    run = CaseRun(case, program, in_batches=in_batches)
    try:
        with printed([]):
            run.everything()
    except (HeadraceError, TestError) as error:
        return run.found, Failure(error, run.place)
    return run.found, None


class CaseRun:
    """One run: the answers so far, and the place it has got to."""

    def __init__(self, case: Json, program: Program, *, in_batches: bool = False) -> None:
        self.case, self.program = case, program
        self._in_batches = in_batches
        self.found: dict[str, Any] = {}
        self._place: str | None = None
        self.inputs: dict[Any, Any] = {}

    @property
    def place(self) -> str:
        """Where the run is, as the answers name it."""
        return self._place if self._place is not None else self.program.place

    def everything(self) -> None:
        """Build, start, pipe, look at the stores, close."""
        topology = self.program.build()
        self.found["describe"] = str(topology.describe())
        if self.program.branches:
            self.found["branches"] = self.program.branches
        queryable = self.program.queryable()
        if queryable:
            self.found["queryable"] = queryable
        config = self.program.config
        self._place = "start"
        self._describe_internal_topics(topology, config)
        wall_clock_ms = self.case.get("wall_clock", 1700000000000)
        driver = TopologyTestDriver(topology, config, wall_clock_ms, in_batches=self._in_batches)
        try:
            self._drive(driver)
        finally:
            self.found["metrics"] = {"dropped-records-total": driver.dropped_records}
            if not any(self.found["side"]):
                del self.found["side"]
            noted = len(self.program.log)
            driver.close()
        self._side("side_at_close", self.program.log[noted:])

    def _describe_internal_topics(self, topology: Topology, config: dict[str, Any]) -> None:
        planned = topology.configured(StreamsConfig(config))
        try:
            topics = planned.internal_topics()
        except TopologyError:
            self.found["internal_topics_error"] = True
            return
        found: dict[str, dict[str, Any]] = {}
        self.found["internal_topics"] = found
        for topic in topics:
            found[topic.name] = {"kind": topic.kind, "configs": dict(topic.config)}
            if topic.partitions is not None:
                found[topic.name]["partitions"] = topic.partitions

    def _side(self, aspect: str, lines: list[list[str]]) -> None:
        if lines:
            self.found[aspect] = [list(line) for line in lines]

    def _drive(self, driver: TopologyTestDriver) -> None:
        log = self.program.log
        self._side("side_at_start", log)
        for aspect in ("steps", "internal", "side", "dropped"):
            self.found[aspect] = []
        for number, step in enumerate(self.case["inputs"]):
            self._place = f"input {number}"
            noted, written = len(log), len(driver.produced)
            with printed(log):
                answer = self._step(driver, step)
            self._note(driver, driver.produced[written:], answer, log[noted:])
        self.found["stores"] = self._stores(driver)

    def _note(self, driver: TopologyTestDriver, produced: list[Any], answer: Any, side: list[list[str]]) -> None:
        outputs, internal = [], []
        for record in produced:
            if record.topic.startswith("app-"):
                internal.append(self._internal(record))
            else:
                outputs.append(self._output(record))
        self.found["steps"].append(outputs if answer is None else answer)
        self.found["internal"].append(internal)
        self.found["side"].append([list(line) for line in side])
        self.found["dropped"].append(driver.dropped_records)

    # -- inputs -------------------------------------------------------------------------------------------------

    def _step(self, driver: TopologyTestDriver, step: Json) -> Any:
        if "advance_wall_clock_ms" in step:
            driver.advance_wall_clock_time(step["advance_wall_clock_ms"])
        elif "advance_topic_clock_ms" in step:
            self._input(driver, step["topic"]).advance_time(step["advance_topic_clock_ms"])
        elif "put" in step:
            put = step["put"]
            store: Any = driver.key_value_store(put["store"])
            store.put(put["key"], put["value"])
        elif "query" in step:
            return {"result": _read(driver.store(step["query"]["store"]), step["query"])}
        elif "iq" in step:
            return _ask(driver.store(step["iq"]["store"]), step["iq"])
        else:
            self._pipe(driver, step)
        return None

    def _pipe(self, driver: TopologyTestDriver, step: Json) -> None:
        key, value = step.get("key"), step.get("value")
        raw_key, raw_value = raw(key), raw(value)
        topic = self._input(driver, step["topic"], raw_key is not None, raw_value is not None)
        spec = self.case.get("topics", {}).get(step["topic"], {})
        headers = [(name, None if text is None else text.encode()) for name, text in step.get("headers", [])]
        topic.pipe_input(
            _value(key, spec.get("key")) if raw_key is None else raw_key,
            _value(value, spec.get("value")) if raw_value is None else raw_value,
            timestamp=step.get("ts"),
            headers=headers,
        )

    def _input(self, driver: TopologyTestDriver, name: str, raw_key: bool = False, raw_value: bool = False) -> Any:
        if (name, raw_key, raw_value) not in self.inputs:
            spec = self.case.get("topics", {}).get(name, {})
            clock = self.case.get("input_clock", {}).get(name)
            timing = {} if clock is None else {"start": clock["start"], "auto_advance": clock["advance"]}
            self.inputs[name, raw_key, raw_value] = driver.create_input_topic(
                name,
                key_serde=serdes.bytes() if raw_key else serde(spec.get("key", "string")),
                value_serde=serdes.bytes() if raw_value else serde(spec.get("value", "string")),
                **timing,
            )
        return self.inputs[name, raw_key, raw_value]

    # -- outputs ------------------------------------------------------------------------------------------------

    def _output(self, record: Any) -> dict[str, Any]:
        spec = self.case.get("topics", {}).get(record.topic, {})
        shown = {
            "topic": record.topic,
            "key": _decoded(record.key, spec.get("key", "string"), record.topic),
            "value": _decoded(record.value, spec.get("value", "string"), record.topic),
            "ts": record.timestamp,
        }
        if record.headers:
            shown["headers"] = _headers(record.headers)
        return shown

    def _internal(self, record: Any) -> dict[str, Any]:
        shown = {"topic": record.topic, "key": _b64(record.key), "value": _b64(record.value), "ts": record.timestamp}
        if record.headers:
            shown["headers"] = _headers(record.headers)
        return shown

    def _stores(self, driver: TopologyTestDriver) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for name, store in sorted(driver.stores().items()):
            kind = str(getattr(store, "kind", ""))
            if "buffer" in kind:
                shown[name] = {}
            elif kind == "outer_join":
                # The answers show rows that wait for a partner only where there are none.
                shown.update({} if list(store.all()) else {name: {"type": "kv", "entries": []}})
            elif kind.removesuffix("_with_headers") in _CONTENTS:
                # The rows of a window store of size 0 cannot be listed, here as in Java: such windows cannot exist.
                # Nor can a versioned store be asked for keys of another type.
                with contextlib.suppress(ArgumentError, SerializationError):
                    entries = _CONTENTS[kind.removesuffix("_with_headers")](store, self._input_keys())
                    shown[name] = {"type": kind, "entries": entries}
        return shown

    def _input_keys(self) -> list[Any]:
        keys: dict[Any, None] = {}
        for step in self.case["inputs"]:
            if step.get("key") is not None and not isinstance(step["key"], (dict, list)) and "topic" in step:
                keys[step["key"]] = None
        return list(keys)


def _value(x: Json, spec: Json) -> Any:
    """A JSON value as the serde ``spec`` wants it."""
    if x is not None and spec == "uuid":
        return uuid.UUID(x)
    if isinstance(spec, dict) and x is not None and "list" not in spec:
        return _windowed(x, spec)
    return x


def _windowed(x: Json, spec: Json) -> Windowed[Any]:
    """A windowed key given as JSON."""
    window = SessionWindow if "session_windowed" in spec else TimeWindow
    return Windowed(x["key"], window(x["start"], x["end"]))


def _b64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _json(x: Any) -> Any:
    """A value of a program as JSON."""
    if isinstance(x, Windowed):
        return {"key": _json(x.key), "start": x.start, "end": x.end}
    if isinstance(x, bytes):
        return {"b64": _b64(x)}
    if isinstance(x, list):
        return [_json(item) for item in x]
    return x if x is None or isinstance(x, (bool, int, float, str)) else str(x)


def _decoded(data: bytes | None, spec: Json, topic: str) -> Any:
    try:
        return _json(serde(spec).deserialize(topic, data))
    except Exception:
        return {"b64": _b64(data)}


def _headers(headers: Any) -> list[Any]:
    shown: list[Any] = []
    exception = headers.last("__streams.errors.exception")
    for name, value in headers:
        if name == "__streams.errors.stacktrace":
            shown.append([name, "*"])
        elif name == "__streams.errors.exception":
            shown.append([name, java_class_named(value.decode())])
        elif name == "__streams.errors.message" and b"TestError" not in exception:
            shown.append([name, "*"])
        else:
            shown.append([name, _header_value(value)])
    return shown


def _header_value(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        shown = value.decode()
    except UnicodeDecodeError:
        return {"b64": _b64(value)}
    return shown if shown.isprintable() else {"b64": _b64(value)}


# -- stores -----------------------------------------------------------------------------------------------------------


def _parts(x: Any, store: Any) -> list[Any]:
    """The value part of an entry."""
    if isinstance(x, VersionedRecord):
        return [_json(x.value), x.timestamp, x.valid_to]
    with_headers = str(store.kind).endswith("_with_headers")
    if isinstance(x, ValueAndTimestamp):
        parts = [_json(x.value), x.timestamp] if str(store.kind).startswith("timestamped") else [_json(x.value)]
        return [*parts, _headers_text(x.headers)] if with_headers else parts
    # Aggregations leave the headers of session stores empty.
    return [_json(x), ""] if with_headers else [_json(x)]


def _headers_text(headers: Any) -> str:
    return ",".join(f"{name}={'null' if value is None else value.decode()}" for name, value in headers)


def _key(x: Any) -> list[Any]:
    return [_json(x.key), x.start, x.end] if isinstance(x, Windowed) else [_json(x)]


def _entries(iterator: Any, store: Any) -> list[Any]:
    with iterator as entries:
        return [[*_key(key), *_parts(value, store)] for key, value in entries]


def _versions(store: Any, keys: list[Any]) -> list[Any]:
    found = []
    for key in keys:
        record = store.get(key)
        if record is not None:
            found.append([_json(key), _json(record.value), record.timestamp])
    return found


_CONTENTS = {
    "kv": lambda store, keys: _entries(store.all(), store),
    "timestamped_kv": lambda store, keys: _entries(store.all(), store),
    "window": lambda store, keys: _entries(store.all(), store),
    "timestamped_window": lambda store, keys: _entries(store.all(), store),
    "session": lambda store, keys: _entries(store.find_sessions_keys(None, None, 0, MAX_TIME), store),
    "versioned": _versions,
}


def _read(store: Any, q: Json) -> Any:
    op, key = q["op"], q.get("key")
    kind = str(store.kind)
    if op == "get":
        return _single(store.get(key), store)
    if op == "get_as_of":
        return _single(store.get(key, q["time"]), store)
    if op == "fetch" and "time" in q:
        return _single(store.fetch(key, q["time"]), store)
    if op == "fetch_session":
        return _single(store.fetch_session(key, q["start"], q["end"]), store)
    if op in ("range", "reverse_range"):
        return _entries(getattr(store, op)(q.get("key_from"), q.get("key_to")), store)
    if op == "prefix_scan":
        return _entries(store.prefix_scan(q["prefix"], serdes.string()), store)
    if op in ("all", "reverse_all", "backward_all"):
        return _entries(getattr(store, op)(), store)
    if kind.startswith("session"):
        return _entries(_session_read(store, op, q), store)
    if op in ("fetch", "backward_fetch"):
        return _entries(getattr(store, op + "_range")(key, q["from"], q["to"]), store)
    if op in ("fetch_keys", "backward_fetch_keys"):
        return _entries(getattr(store, op)(q.get("key_from"), q.get("key_to"), q["from"], q["to"]), store)
    return _entries(getattr(store, op)(q["from"], q["to"]), store)


def _session_read(store: Any, op: str, q: Json) -> Any:
    if op in ("fetch", "backward_fetch"):
        return getattr(store, op)(q["key"])
    if op in ("fetch_keys", "backward_fetch_keys"):
        return getattr(store, op)(q.get("key_from"), q.get("key_to"))
    return getattr(store, op)(q["key"], q["earliest_end"], q["latest_start"])


def _single(x: Any, store: Any) -> Any:
    return None if x is None else _parts(x, store)


def _order(q: Json) -> Any:
    if q.get("ascending"):
        return iq.ResultOrder.ASCENDING
    return iq.ResultOrder.DESCENDING if q.get("descending") else iq.ResultOrder.ANY


def _ask(store: Any, q: Json) -> dict[str, Any]:
    name, key = q["query"], q.get("key")
    make: Any
    question: Any
    if name in ("key", "timestamped_key"):
        make = iq.KeyQuery if name == "key" else iq.TimestampedKeyQuery
        question = make(key, skip_cache=bool(q.get("skip_cache")))
    elif name in ("range", "timestamped_range"):
        make = iq.RangeQuery if name == "range" else iq.TimestampedRangeQuery
        question = make(q.get("lower"), q.get("upper"), order=_order(q))
    elif name == "versioned_key":
        question = iq.VersionedKeyQuery(key, as_of=q.get("as_of"))
    elif name == "multi_versioned_key":
        question = iq.MultiVersionedKeyQuery(key, from_time=q.get("from"), to_time=q.get("to"), order=_order(q))
    elif name == "window_key":
        question = iq.WindowKeyQuery(key, q["from"], q["to"])
    else:
        question = iq.WindowRangeQuery(key=key, time_from=q.get("from"), time_to=q.get("to"))
    return _answer(store, name, store.query(question))


def _answer(store: Any, name: str, result: Any) -> dict[str, Any]:
    if not result.is_success:
        reason: FailureReason = result.failure_reason
        return {"failure": reason.name}
    found = result.result
    if found is None:
        return {"result": None}
    if isinstance(found, (ValueAndTimestamp, VersionedRecord)) or not hasattr(found, "close"):
        return {"result": _answer_parts(found, name)}
    with found as entries:
        if name == "multi_versioned_key":
            return {"result": [_answer_parts(x, name) for x in entries]}
        return {"result": [[*_key(key), *_answer_parts(x, name)] for key, x in entries]}


def _answer_parts(x: Any, name: str) -> list[Any]:
    if isinstance(x, VersionedRecord):
        return [_json(x.value), x.timestamp, x.valid_to]
    if isinstance(x, ValueAndTimestamp):
        return [_json(x.value), x.timestamp]
    return [_json(x)]
