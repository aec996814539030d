"""The jars of a Kafka: fetched once a user by the Ivy in PySpark, checked, and moved into their place in one step.

Two processes that fetch at once do no harm: the second waits for the first. A directory is complete or not there; one
that was damaged since is fetched again.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from xml.sax.saxutils import quoteattr

from headrace.errors import SetupError, UnsupportedError
from headrace.file_locks import lock
from headrace.java import find_java

KAFKA_VERSION = "4.3.0"
_MANIFEST = "manifest.json"
_FETCH_SECONDS = 600.0
_LOOK_SECONDS = 0.2
_LAST_LINES = 12
_OFFLINE = (
    "Kafka's jars come from Maven Central (repo1.maven.org): check that it is reached from here. A machine without it "
    "can be given the directory that another one fetched."
)

Note: TypeAlias = Callable[[str], None]
"""Is told, in one line, what goes on."""


@dataclass(frozen=True, slots=True)
class JarSet:
    """Modules of a Maven repository, each ``organisation:name:version``; what they depend on comes with them."""

    name: str
    modules: tuple[str, ...]
    proof: tuple[str, ...]
    """Jars without which the set is not what it should be."""


KAFKA_JARS = JarSet(
    f"kafka-{KAFKA_VERSION}",
    (f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36"),
    (f"kafka_2.13-{KAFKA_VERSION}.jar", f"kafka-clients-{KAFKA_VERSION}.jar", f"kafka-server-{KAFKA_VERSION}.jar"),
)


def cache_directory() -> Path:
    """Where jars are kept: ``headrace`` below XDG_CACHE_HOME, or below ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path("~/.cache").expanduser()) / "headrace"


def fetched(jars: JarSet, note: Note = lambda line: None, *, cache: Path | None = None) -> Path:
    """The directory that has the jars; they are fetched where they are not there yet, or no longer whole.

    A SetupError says what is missing: Java, or a way to Maven Central.
    """
    place = (cache or cache_directory()) / jars.name
    if _is_whole(place, jars):
        return place
    java, ivy = find_java(os.environ, "Kafka").program, ivy_jar()
    place.parent.mkdir(parents=True, exist_ok=True)
    with _alone(place.with_name(f".{jars.name}.lock"), note):
        if not _is_whole(place, jars):
            _fetch(jars, place, [java, "-jar", str(ivy)], note)
    return place


def ivy_jar() -> Path:
    """The jar of Apache Ivy in the installed PySpark."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        message = "a Kafka of your own needs a package that is not installed: pyspark"
        raise UnsupportedError(message, hint="Install it with: pip install 'headrace[spark]'")
    jars = sorted(Path(found.origin).parent.glob("jars/ivy-*.jar"))
    if not jars:
        message = f"there is no Ivy in PySpark: {Path(found.origin).parent / 'jars'}"
        raise SetupError(message, hint="Install PySpark from PyPI: pip install --force-reinstall pyspark")
    return jars[-1]


def _is_whole(place: Path, jars: JarSet) -> bool:
    try:
        sizes = json.loads((place / _MANIFEST).read_text())
        found = all((place / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False
    return found and set(jars.proof) <= set(sizes)


@contextmanager
def _alone(path: Path, note: Note) -> Iterator[None]:
    deadline = time.monotonic() + _FETCH_SECONDS
    with path.open("w") as file:
        waits = False
        while not lock(file):
            if time.monotonic() > deadline:
                message = f"another process has been fetching Kafka's jars for {_FETCH_SECONDS:g} s"
                raise SetupError(message, detail=f"It holds {path}.", hint="End it, and try again.")
            if not waits:
                note("another process fetches Kafka's jars; waiting for it")
                waits = True
            time.sleep(_LOOK_SECONDS)
        yield


def _fetch(jars: JarSet, place: Path, ivy: list[str], note: Note) -> None:
    note(f"fetching {jars.name} from Maven Central, once; it is kept in {place}")
    with tempfile.TemporaryDirectory(prefix=f".{jars.name}-", dir=place.parent) as scratch:
        new = Path(scratch) / "jars"
        wish = Path(scratch) / "ivy.xml"
        wish.write_text(_ivy_file(jars))
        pattern = f"{new}/[artifact]-[revision].[ext]"
        options = ["-cache", f"{scratch}/ivy", "-ivy", str(wish), "-confs", "default", "-retrieve", pattern]
        _run_ivy([*ivy, *options], note)
        _write_manifest(new, jars)
        if place.exists():
            # What is there is not whole. It goes away in one step, too: a broker may have it open.
            place.rename(Path(scratch) / "damaged")
        new.rename(place)
    note(f"fetched {jars.name}: {len(list(place.glob('*.jar')))} jars")


def _ivy_file(jars: JarSet) -> str:
    lines = ['<ivy-module version="2.0">', f"<info organisation='headrace' module={quoteattr(jars.name)}/>"]
    lines += ['<configurations><conf name="default"/></configurations>', "<dependencies>"]
    for module in jars.modules:
        organisation, name, version = (quoteattr(part) for part in module.split(":"))
        lines.append(f'<dependency org={organisation} name={name} rev={version} conf="default->default,runtime"/>')
    return "\n".join([*lines, "</dependencies>", "</ivy-module>"])


def _run_ivy(command: list[str], note: Note) -> None:
    said: list[str] = []
    deadline = time.monotonic() + _FETCH_SECONDS
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL) as ivy:
        assert ivy.stdout is not None
        try:
            for raw in ivy.stdout:
                line = raw.decode(errors="replace").strip()
                said.append(line)
                if line.startswith("found "):
                    note(f"needs {line.split()[1]}")
                if line.startswith("downloading "):
                    note(f"fetching {line.split()[1].rpartition('/')[2]}")
                if time.monotonic() > deadline:
                    break
            code = ivy.wait(max(1.0, deadline - time.monotonic()))
        except BaseException:
            ivy.kill()
            raise
    problems = [line for line in said if "UNRESOLVED" in line or "FAILED" in line or "Exception" in line]
    if code != 0 or problems:
        detail = "\n".join((problems or said)[:_LAST_LINES])
        raise SetupError("Kafka's jars cannot be fetched", detail=detail, hint=_OFFLINE)


def _write_manifest(directory: Path, jars: JarSet) -> None:
    """Ivy has compared checksums; that every jar can be read to its end is seen here."""
    found = sorted(directory.glob("*.jar"))
    missing = set(jars.proof) - {jar.name for jar in found}
    if missing:
        message = f"what was fetched is not all of {jars.name}"
        raise SetupError(message, detail=f"Missing: {', '.join(sorted(missing))}.", hint=_OFFLINE)
    for jar in found:
        try:
            with zipfile.ZipFile(jar) as file:
                damaged = file.testzip()
        except (zipfile.BadZipFile, OSError) as error:
            damaged = str(error)
        if damaged is not None:
            message = f"{jar.name} arrived damaged"
            raise SetupError(message, detail=damaged, hint=f"Try again. {_OFFLINE}")
    (directory / _MANIFEST).write_text(json.dumps({jar.name: jar.stat().st_size for jar in found}, indent=1))
