"""Where Python keeps what is installed: files there are libraries, all others may be the user's program."""

from __future__ import annotations

import sysconfig

LIBRARIES = (
    *sorted({path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_path(name))}),
    sysconfig.get_path("scripts"),
    "<frozen ",
)
"""What the names of their files begin with; the commands of a library are files of its own, too."""
