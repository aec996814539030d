"""An archive of the classes that Spark loads. Java maps it instead of reading jars, and starts in half the time.

It is made once per installation, while an application runs, by a process of the lowest priority that ends with the
application (``ArchiveMaker``). Java checks it at each start and does without it where it does not fit any more or is
damaged; so it is never in the way. Where no archive can be made, nothing is lost but time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark
from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home

from headrace.java import java_program
from headrace.private_directories import make_private

log = logging.getLogger(__name__)

_FREE_BYTES = 1 << 30
"""An archive has 180 MB. Where space is that short it is better used otherwise."""
_MAKING_SECONDS = 3_600.0
_END_SECONDS = 5.0
_LEFT_SECONDS = 86_400.0
_USING = ("-XX:SharedArchiveFile={}", "-XX:+VerifySharedSpaces", "-Xshare:auto", "-Xlog:disable")
_MAKING = (
    "-Xshare:dump",
    "-XX:SharedClassListFile={classes}",
    "-XX:SharedArchiveFile={archive}",
    "-XX:TieredStopAtLevel=1",
    "-XX:+IgnoreUnrecognizedVMOptions",
    # As Spark starts its own JVM: an archive is only good for the same modules.
    "--add-modules=jdk.incubator.vector",
    "-cp",
)
# Java is killed when the standard input ends, which it does at the latest with the process that started all this.
_WATCHED = """exec 3<&0
nice -n 19 "$@" </dev/null >/dev/null 2>&1 3<&- & java=$!
(read -r _ <&3; kill -9 $java 2>/dev/null) & watcher=$!
wait $java; code=$?
kill $watcher 2>/dev/null
exit $code"""


class ClassData:
    """The archive of this installation, and the list of classes that it is made of."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or _cache_directory() / _installation()
        self.archive = self._directory / "classes.jsa"
        self._classes = self._directory / f"{os.getpid()}.classes"
        self._gave_up = self._directory / "cannot-be-made"

    def java_options(self, *, is_recording: bool = False) -> list[str]:
        """What to tell a JVM that is going to start: use the archive, or note which classes it should have."""
        if any(letter.isspace() or letter in "\"'" for letter in str(self._directory)):
            return []  # Spark would take such a path apart.
        if self.archive.exists():
            return [option.format(self.archive) for option in _USING]
        return [f"-XX:DumpLoadedClassList={self._classes}"] if is_recording and self._can_be_made() else []

    def make(self, java: str, class_path: str) -> ArchiveMaker | None:
        """Begin to make the archive of the classes that were noted; None where there is nothing to do."""
        if self.archive.exists() or not self._classes.exists():
            return None
        return ArchiveMaker(self._classes, self.archive, self._gave_up, (java, *_MAKING, class_path))

    def forget(self) -> None:
        """Remove the list of classes."""
        with suppress(OSError):
            self._classes.unlink(missing_ok=True)

    def _can_be_made(self) -> bool:
        try:
            make_private(self._directory)
            self._remove_leftovers()
            is_roomy = shutil.disk_usage(self._directory).free > _FREE_BYTES
        except OSError:
            return False
        return is_roomy and not self._gave_up.exists()

    def _remove_leftovers(self) -> None:
        """What applications left that were killed."""
        for place in self._directory.iterdir():
            if place.name.split(".")[0].isdigit() and time.time() - place.stat().st_mtime > _LEFT_SECONDS:
                place.unlink(missing_ok=True)


class ArchiveMaker:
    """One process that makes an archive; where it ends before, the next application begins anew."""

    def __init__(self, classes: Path, archive: Path, gave_up: Path, command: Sequence[str]) -> None:
        self._archive, self._gave_up = archive, gave_up
        self._unfinished = archive.with_name(f"{os.getpid()}.jsa")
        self._is_closed = False
        places = {"classes": classes, "archive": self._unfinished}
        options = [option.format(**places) if option.startswith("-XX:Shared") else option for option in command]
        # In a session of its own: a Ctrl-C on the terminal is not for it. A shell says "Killed" where that is wanted.
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHED, "sh", *options],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._finish, name="headrace-class-data", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Let it finish."""
        self._thread.join(seconds)

    def close(self) -> None:
        """End it, done or not."""
        self._is_closed = True
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._thread.join(_END_SECONDS)

    def _finish(self) -> None:
        try:
            code = self._process.wait(_MAKING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait(_END_SECONDS)
        if code == 0 and self._unfinished.exists():
            self._unfinished.replace(self._archive)
            return
        self._unfinished.unlink(missing_ok=True)
        if not self._is_closed:
            log.info("no archive of classes could be made: exit code %s", code)
            self._gave_up.touch()


_is_recording = False


def java_options() -> list[str]:
    """What to tell a JVM of ours that is going to start."""
    return ClassData().java_options(is_recording=_is_recording)


@contextmanager
def made_meanwhile() -> Iterator[Callable[[], ArchiveMaker | None]]:
    """A JVM that starts inside the block notes its classes; the function makes an archive of them, as long as it lasts.

    Call it when the JVM has loaded what it needs: after a first batch. It acts once.
    """
    global _is_recording
    data = ClassData()
    makers: list[ArchiveMaker | None] = []

    def make() -> ArchiveMaker | None:
        if not makers and SparkContext._jvm is not None:
            system = SparkContext._jvm.java.lang.System
            java = Path(system.getProperty("java.home"), "bin", "java")
            makers.append(data.make(str(java), system.getProperty("java.class.path")))
        return makers[0] if makers else None

    _is_recording = True
    try:
        yield make
    finally:
        _is_recording = False
        for maker in filter(None, makers):
            maker.close()
        data.forget()


def _cache_directory() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    return Path(given if given and os.path.isabs(given) else Path.home() / ".cache") / "headrace"


def _installation() -> str:
    """Another Java, another Spark or other jars have another archive."""
    java = java_program(os.environ) or Path("java")
    jars = Path(_find_spark_home(), "jars")
    parts = [pyspark.__version__, str(java.resolve()), str(jars), os.environ.get("SPARK_CONF_DIR", "")]
    parts += [str(place.stat().st_mtime_ns) for place in (java, jars) if place.exists()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
