"""Whether the Python that Spark starts its workers with can run an application: another one may know no Headrace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

from headrace.errors import SetupError
from headrace.spark.worker_path import shared_import_path

_VARIABLE = "PYSPARK_PYTHON"
_NEEDED = ("headrace", "msgspec", "pyarrow", "rocksdict")
_PROBE = f"""import sys
from importlib.util import find_spec
print(*sys.version_info[:2], *(name for name in {_NEEDED} if find_spec(name) is None))"""
_SECONDS = 10.0


def check_worker_python(session: Any, master: str) -> SetupError | None:
    """Ask the Python of the workers, where it is on this machine and another one than this."""
    own = sys.executable
    python = os.environ.get(_VARIABLE, own) if session is None else session.sparkContext.pythonExec
    if not master.startswith("local") or shutil.which(python) == own:
        return None
    by = f"{_VARIABLE} names it" if _VARIABLE in os.environ else f"{_VARIABLE} was not set when the session was made"
    try:
        version, missing = _ask(python)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return _refused(f"the Python of the workers cannot be run: {python}", f"{by}: {error}")
    if version != sys.version_info[:2]:
        theirs, ours = ".".join(map(str, version)), ".".join(map(str, sys.version_info[:2]))
        return _refused(f"the workers have Python {theirs}, this program has {ours}", f"{by}: {python}")
    if missing:
        return _refused(f"the Python of the workers has no {missing[0]}: {python}", f"{by}.")
    return None


def _ask(python: str) -> tuple[tuple[int, int], list[str]]:
    with shared_import_path():
        ran = subprocess.run([python, "-c", _PROBE], capture_output=True, timeout=_SECONDS, check=True, text=True)
    major, minor, *missing = ran.stdout.split()
    return (int(major), int(minor)), missing


def _refused(message: str, detail: str) -> SetupError:
    hint = f"Activate the environment, or set {_VARIABLE} to {sys.executable} before the SparkSession is made."
    return SetupError(message, detail=detail, hint=hint)
