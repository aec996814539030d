"""Where the local state of an application is that was given no ``state.dir``."""

from __future__ import annotations

from headrace.broker import embedded_directory
from headrace.config import StreamsConfig
from headrace.state.directory_hold import last_holder

_DIRECTORY = "state"


def placed(config: StreamsConfig, address: str) -> StreamsConfig:
    """The settings with the ``state.dir`` that they have on the broker at ``address``.

    Beside the topics of an embedded broker: applications of one name in two directories, such as two files ``app.py``,
    never share it. What such an application left in the common place, where it used to be, stays its own.
    """
    directory = embedded_directory(address)
    if "state.dir" in config or directory is None:
        return config
    directory = directory.absolute()
    if last_holder(config.application_dir) == f"embedded:{directory}":
        return config
    return config.with_settings({"state.dir": directory / _DIRECTORY})
