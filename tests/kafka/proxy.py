"""A TCP proxy before a broker: it delays, throttles, cuts, stands still, and loses replies to chosen requests.

It reads no more of Kafka's protocol than lengths, the kind of a request and the number that a reply has in common with
it. The broker must name the proxy's port to its clients (``advertised.listeners``), else they go around it.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType

PRODUCE, FETCH, END_TXN, TXN_OFFSET_COMMIT = 0, 1, 26, 28
_HOST = "127.0.0.1"
_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">hhi")
_SECONDS = 10.0


@dataclass
class Loss:
    """Replies to one kind of request that are lost; the connection is closed then, or stays and says nothing."""

    api_key: int
    left: int
    closes: bool
    happened: threading.Event = field(default_factory=threading.Event)


class Proxy:
    """Listens from the start; ``target`` is a port of loopback."""

    def __init__(self, target: int = 0) -> None:
        self.target = target
        self.delay_seconds = 0.0
        """Before every request and every reply."""
        self.bytes_per_second: float | None = None
        """Of each connection and direction."""
        self.requests: Counter[int] = Counter()
        """How many of each kind went through."""
        self.on_request: Callable[[int], None] = lambda api_key: None
        """Called with the kind of each request before it is sent on."""
        self._flowing = threading.Event()
        self._flowing.set()
        self._is_cut = False
        self._losses: list[Loss] = []
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server((_HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    @property
    def address(self) -> str:
        return f"{_HOST}:{self.port}"

    def cut(self) -> None:
        """Close every connection, and every new one at once, until ``heal``."""
        self._is_cut = True
        self._close_all()

    def stand_still(self) -> None:
        """Connections stay open and nothing comes through, until ``heal``."""
        self._flowing.clear()

    def heal(self) -> None:
        self._is_cut = False
        self.delay_seconds, self.bytes_per_second = 0.0, None
        with self._lock:
            self._losses.clear()
        self._flowing.set()

    def lose_replies(self, api_key: int, times: int = 1, *, closes: bool = True) -> threading.Event:
        """Do not send on the next replies to requests of a kind: the broker has done them, nobody hears of it.

        The event is set when the last of them was lost.
        """
        loss = Loss(api_key, times, closes)
        with self._lock:
            self._losses.append(loss)
        return loss.happened

    def close(self) -> None:
        self._listener.close()
        self._is_cut = True
        self._flowing.set()
        self._close_all()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self._is_cut:
                    raise ConnectionRefusedError
                server = socket.create_connection((_HOST, self.target), timeout=_SECONDS)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
            pipe = _Pipe(self, client, server)
            for run in (pipe.requests, pipe.replies):
                threading.Thread(target=run, name="proxy", daemon=True).start()

    def _close_all(self) -> None:
        with self._lock:
            closing, self._open = self._open, set()
        for one in closing:
            _end(one)

    def _let_go(self, *sockets: socket.socket) -> None:
        with self._lock:
            self._open -= set(sockets)
        for one in sockets:
            _end(one)

    def _is_lost(self, api_key: int) -> Loss | None:
        with self._lock:
            loss = next((one for one in self._losses if one.api_key == api_key and one.left > 0), None)
            if loss is not None:
                loss.left -= 1
        return loss

    def _pause(self, size: int) -> None:
        self._flowing.wait()
        time.sleep(self.delay_seconds + (size / self.bytes_per_second if self.bytes_per_second else 0.0))


class _Pipe:
    """One connection of a client and the one to the broker that belongs to it."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._lost: dict[int, Loss] = {}

    def requests(self) -> None:
        proxy = self._proxy
        with suppress(OSError):
            while (frame := _frame(self._client)) is not None:
                api_key, _, number = _REQUEST.unpack_from(frame)
                loss = proxy._is_lost(api_key)
                if loss is not None:
                    self._lost[number] = loss
                proxy.requests[api_key] += 1
                proxy.on_request(api_key)
                proxy._pause(len(frame))
                self._server.sendall(_LENGTH.pack(len(frame)) + frame)
        proxy._let_go(self._client, self._server)

    def replies(self) -> None:
        proxy = self._proxy
        with suppress(OSError):
            while (frame := _frame(self._server)) is not None:
                loss = self._lost.pop(_LENGTH.unpack_from(frame)[0], None)
                if loss is not None:
                    if loss.left == 0:
                        loss.happened.set()
                    if loss.closes:
                        break
                    continue
                proxy._pause(len(frame))
                self._client.sendall(_LENGTH.pack(len(frame)) + frame)
        proxy._let_go(self._client, self._server)


def _frame(connection: socket.socket) -> bytes | None:
    head = _exactly(connection, _LENGTH.size)
    return None if head is None else _exactly(connection, _LENGTH.unpack(head)[0])


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        got = connection.recv(min(size - len(data), 1 << 20))
        if not got:
            return None
        data += got
    return data


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
