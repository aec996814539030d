"""Which Java PySpark would start, a Kafka of our own too, and how old it is. Nothing of Spark is loaded for that."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import SetupError

OLDEST = 17
_SECONDS = 10.0
_NUMBERS = re.compile(r'"(\d+)(?:\.(\d+))?')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that is new enough."""

    version: int
    program: str

    def __str__(self) -> str:
        return f"{self.version} ({self.program})"


def java_program(environment: Mapping[str, str]) -> Path | None:
    """``bin/java`` below JAVA_HOME, whether it is there or not; without that variable the first java on the PATH.

    >>> java_program({"JAVA_HOME": "/opt/java", "PATH": "/usr/bin"})
    PosixPath('/opt/java/bin/java')
    """
    home = environment.get("JAVA_HOME")
    if home:
        return Path(home, "bin", "java")
    found = shutil.which("java", path=environment.get("PATH", os.defpath))
    return None if found is None else Path(found)


def find_java(environment: Mapping[str, str], user: str = "Spark") -> Java:
    """The Java that PySpark's launcher takes: that of JAVA_HOME, else the first on the PATH; SetupError without one.

    ``user``: what needs it.
    """
    hint = f"{user} needs Java {OLDEST} or newer: install one (a JRE is enough), or let JAVA_HOME name its directory."
    program = _program(environment, hint, user)
    said = _release(program) or _answer(program, hint)
    found = _NUMBERS.search(said)
    if found is None:
        message = f"{program} does not say which Java it is"
        raise SetupError(message, detail=said.strip() or None, hint=hint)
    # Java 8 calls itself 1.8.
    version = int(found[2] if found[1] == "1" and found[2] else found[1])
    if version < OLDEST:
        message = f"Java {version} is too old for {user}"
        raise SetupError(message, detail=f"It is {program}{_chosen_by(environment)}.", hint=hint)
    return Java(version, program)


def is_chosen_by_spark(environment: Mapping[str, str]) -> bool:
    """Whether a file of the Spark installation decides which Java it is, or a JVM runs already: then it is not ours."""
    if "PYSPARK_GATEWAY_PORT" in environment:
        return True
    home = environment.get("SPARK_HOME")
    places = environment.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    return bool(places) and (Path(str(places)) / "spark-env.sh").exists()


def _program(environment: Mapping[str, str], hint: str, user: str) -> str:
    program = java_program(environment)
    if program is None:
        raise SetupError("Java was not found", detail="There is no java on the PATH, and no JAVA_HOME.", hint=hint)
    if not os.access(program, os.X_OK):
        message = f"JAVA_HOME names no Java: {environment['JAVA_HOME']}"
        correct = "Let it name the directory that has bin/java in it, or unset it to take the java on the PATH."
        detail = f"There is no program {program}."
        raise SetupError(message, detail=detail, hint=f"{correct} {user} needs Java {OLDEST}.")
    return str(program)


def _release(program: str) -> str | None:
    """The line with the version in the file that a Java carries beside its programs: quicker than asking it."""
    try:
        lines = (Path(program).resolve().parents[1] / "release").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return next((line for line in lines if line.startswith("JAVA_VERSION=")), None)


def _answer(program: str, hint: str) -> str:
    try:
        ran = subprocess.run([program, "-version"], capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        message = f"{program} cannot be run"
        raise SetupError(message, detail=str(error), hint=hint) from error
    return ran.stderr.decode(errors="replace")


def _chosen_by(environment: Mapping[str, str]) -> str:
    return ", which JAVA_HOME names" if environment.get("JAVA_HOME") else ", the first on the PATH"
