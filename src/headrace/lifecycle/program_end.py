"""A program that comes to its end while its application runs: the application is closed, and the user told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.2


def end_with_program(application_id: str, has_ended: Callable[[float], bool], close: Callable[[], object]) -> None:
    """Close the application when the main thread is over. ``has_ended`` waits for its end for some seconds."""

    def watch() -> None:
        while threading.main_thread().is_alive():
            if has_ended(_LOOK_SECONDS):
                return
        # A handler of the log may fail: it writes to what nobody reads any more.
        with suppress(Exception):
            log.warning(
                "the program ended while application %s was running: it is closed after the batch at hand. "
                "app.wait() keeps a program running.",
                application_id,
            )
        close()

    # Not a daemon: Python waits for it, and lets it close the application, before it ends.
    threading.Thread(target=watch, name=f"headrace-{application_id}-program").start()
