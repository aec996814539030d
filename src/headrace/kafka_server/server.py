"""One Kafka process on loopback: its settings, its directory, how it starts, answers and ends.

It is a daemon. The directory says which process it is, so that any other process can find and end it; a file that a
killed broker or a restarted machine left behind does no harm.
"""

from __future__ import annotations

import base64
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from headrace.errors import SetupError
from headrace.file_locks import lock
from headrace.java import find_java
from headrace.kafka_server.jars import KAFKA_JARS, Note, fetched
from headrace.private_directories import make_private

HOST = "127.0.0.1"
START_SECONDS = 90.0
STOP_SECONDS = 60.0
_LOOK_SECONDS = 0.05
_LAST_LINES = 15
_API_VERSIONS = 18
_PORTS = range(20_000, 32_768)
"""Linux and macOS take the ports of outgoing connections from above these."""


def free_port() -> int:
    """A port of loopback that nobody uses now, and that the system gives to no connection before a broker has it."""
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise SetupError("no port of this machine is free", hint="Say which one to use: --port N.")


@dataclass(frozen=True, slots=True)
class Node:
    """One broker, which is a controller too, and the ports of both."""

    id: int
    port: int
    controller_port: int


@dataclass
class KafkaServer:
    """A broker that keeps everything in one directory: settings, data, its log and which process it is."""

    directory: Path
    node: Node
    voters: Sequence[Node] = ()
    """All nodes of its cluster; without them it is one of its own."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What differs from ``_settings``."""
    heap: str = "512m"
    cluster_id: str = ""
    format_options: Sequence[str] = ()
    """Of Kafka's StorageTool: ``--add-scram`` for instance."""
    jvm_options: Sequence[str] = ()
    prefix: Sequence[str] = ()
    """What the command begins with, before java."""
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)

    @property
    def address(self) -> str:
        """What goes into ``bootstrap.servers``."""
        return f"{HOST}:{self.node.port}"

    @property
    def properties(self) -> Path:
        """Its settings."""
        return self.directory / "server.properties"

    @property
    def log(self) -> Path:
        """What it says."""
        return self.directory / "server.log"

    @property
    def pid(self) -> int | None:
        """The process that runs it; None where none does."""
        # Our own child is asked itself: while it becomes another program it has no command line.
        child = self._child
        if child is not None and child.poll() is None:
            return child.pid
        return running_pid(self.directory)

    def start(self, note: Note = lambda line: None, seconds: float = START_SECONDS) -> None:
        """Start it and wait until it answers; nothing where it runs. A SetupError says why it does not."""
        self.launch(note)
        self.wait_until_it_answers(seconds)

    def launch(self, note: Note = lambda line: None) -> None:
        """Start its process, and do not wait; nothing where it runs."""
        java = find_java(os.environ, "Kafka").program
        jars = fetched(KAFKA_JARS, note)
        make_private(self.directory)
        with _starting(self.directory):
            if self.pid is None:
                self._write_settings()
                self._format(java, jars)
                self._run(java, jars)

    def wait_until_it_answers(self, seconds: float = START_SECONDS) -> None:
        """A SetupError, with the end of its log, where it ends instead or takes too long."""
        deadline = time.monotonic() + seconds
        while not self.answers():
            if self.pid is None:
                code = None if self._child is None else self._child.wait(STOP_SECONDS)
                self._forget()
                message = f"Kafka ended while it started, with code {code}"
                raise self._refusal(message)
            if time.monotonic() > deadline:
                self.kill()
                message = f"Kafka did not answer at {self.address} within {seconds:g} s"
                raise self._refusal(message)
            time.sleep(_LOOK_SECONDS)

    def leave_running(self) -> None:
        """Do not wait for its end: the process that started it ends earlier."""
        if self._child is not None:
            self._child.returncode = 0
            self._child = None

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """End it clean; whether it ran. One that does not end by itself is killed, and that is an error."""
        pid = self.pid
        if pid is None:
            self._forget()
            return False
        os.kill(pid, signal.SIGTERM)
        if not self._ended(pid, seconds):
            self.kill()
            message = f"Kafka did not end within {seconds:g} s, and was killed"
            raise SetupError(message, detail=f"process {pid}, {self.log}")
        self._forget()
        return True

    def kill(self) -> None:
        """End it as a power failure would."""
        pid = self.pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self._ended(pid, STOP_SECONDS)
        self._forget()

    def answers(self) -> bool:
        """Whether it answers requests."""
        try:
            with socket.create_connection((HOST, self.node.port), timeout=2.0) as connection:
                connection.sendall(struct.pack(">ihhih", 10, _API_VERSIONS, 0, 1, -1))
                head = connection.recv(10, socket.MSG_WAITALL)
        except OSError:
            return False
        return len(head) == 10 and struct.unpack(">iih", head)[1:] == (1, 0)

    def last_words(self) -> str:
        """The end of its log."""
        with suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-_LAST_LINES:])
        return ""

    def _write_settings(self) -> None:
        lines = {**_settings(self.directory, self.node, self.voters or (self.node,)), **self.settings}
        self.properties.touch(mode=0o600)
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

    def _format(self, java: str, jars: Path) -> None:
        if (self.directory / "data" / "meta.properties").exists():
            return
        # What a formatting that was interrupted left is no data.
        shutil.rmtree(self.directory / "data", ignore_errors=True)
        options = [
            "format",
            "-t",
            self.cluster_id or _new_cluster_id(),
            "-c",
            str(self.properties),
            *self.format_options,
        ]
        command = [*_java(java, jars, "128m"), "kafka.tools.StorageTool", *options]
        ran = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=START_SECONDS, check=False)
        if ran.returncode != 0:
            said = (ran.stdout + ran.stderr).decode(errors="replace").strip().splitlines()
            message = f"Kafka's directory cannot be made: {self.directory}"
            raise SetupError(message, detail="\n".join(said[-_LAST_LINES:]))

    def _run(self, java: str, jars: Path) -> None:
        command = [*self.prefix, *_java(java, jars, self.heap, *self.jvm_options), "kafka.Kafka", str(self.properties)]
        with self.log.open("wb") as log:
            self._child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=self.directory
            )
        _pid_file(self.directory).write_text(f"{self._child.pid} {self.node.port}\n")

    def _refusal(self, message: str) -> SetupError:
        said = self.last_words()
        hint = f"Its log: {self.log}"
        if "Address already in use" in said:
            return SetupError(message, detail=f"Port {self.node.port} is in use.", hint="Choose another: --port N.")
        return SetupError(message, detail=said or None, hint=hint)

    def _ended(self, pid: int, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.pid == pid:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    def _forget(self) -> None:
        _pid_file(self.directory).unlink(missing_ok=True)


def running_pid(directory: Path) -> int | None:
    """The process of the broker of a directory; None where none runs, whatever an old file says."""
    found = _noted(directory)
    return found[0] if found is not None and _is_server(found[0], directory) else None


def running_port(directory: Path) -> int | None:
    """The port of the broker that runs in a directory; None where none runs."""
    found = _noted(directory)
    return found[1] if found is not None and _is_server(found[0], directory) else None


def _noted(directory: Path) -> tuple[int, int] | None:
    try:
        pid, port = _pid_file(directory).read_text().split()
        return int(pid), int(port)
    except (OSError, ValueError):
        return None


def _new_cluster_id() -> str:
    """A random UUID as Kafka writes it. Its first bit is 0: a dash at the front would be an option."""
    first, *others = uuid.uuid4().bytes
    return base64.urlsafe_b64encode(bytes([first & 0x7F, *others]))[:22].decode()


def _pid_file(directory: Path) -> Path:
    return directory / "server.pid"


def _is_server(pid: int, directory: Path) -> bool:
    """Whether the process is our broker: numbers of processes are used again, its command line tells."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        if Path("/proc/self").exists():
            return False
        asked = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
        words = asked.stdout.decode(errors="replace").split()
    return str(directory / "server.properties") in words


@contextmanager
def _starting(directory: Path) -> Iterator[None]:
    """Two that start in one directory do so one after the other."""
    with (directory / ".lock").open("w") as file:
        deadline = time.monotonic() + START_SECONDS
        while not lock(file):
            if time.monotonic() > deadline:
                message = f"another process starts Kafka in {directory}, and does not come to an end"
                raise SetupError(message)
            time.sleep(_LOOK_SECONDS)
        yield


def _java(java: str, jars: Path, heap: str, *options: str) -> list[str]:
    level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return [java, f"-Xmx{heap}", "-XX:+UseSerialGC", level, *options, "-cp", f"{jars}/*"]


def _settings(directory: Path, node: Node, voters: Sequence[Node]) -> dict[str, str]:
    copies = str(len(voters))
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.id),
        "controller.quorum.voters": ",".join(f"{one.id}@{HOST}:{one.controller_port}" for one in voters),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": f"PLAINTEXT://{HOST}:{node.port},CONTROLLER://{HOST}:{node.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{node.port}",
        "log.dirs": str(directory / "data"),
        "default.replication.factor": copies,
        "min.insync.replicas": str(len(voters) // 2 + 1),
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": str(len(voters) // 2 + 1),
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": str(len(voters) // 2 + 1),
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
    }
