"""Processors that do what the values of their records say to a store, and forward the answers."""

from __future__ import annotations

from typing import Any

from headrace import ValueAndTimestamp, serdes
from headrace.windows import SessionWindow, Windowed
from tests.conformance.case_processor import CaseProcessor, show
from tests.conformance.errors import java_class
from tests.conformance.functions import text


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
        timestamped = str(self.store.kind).startswith("timestamped_kv")
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
            if str(s.kind).startswith("timestamped"):
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
