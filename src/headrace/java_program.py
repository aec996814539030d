"""Where PySpark's launcher looks for Java."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


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
