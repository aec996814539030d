"""What a live application does when a function fails: the handler hears of it once, with the place and the record.

Here it ends the application. The record is still there: mend the function, start again, and it is the first one.
"""

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from headrace import Streams, StreamsBuilder, StreamsState, StreamThreadExceptionResponse, Topology, topics
from headrace.errors import HeadraceError


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("numbers").map_values(int, name="parse").map_values(str).to("parsed")
    return builder.build()


def run(home: Path, spark: Any = None) -> tuple[StreamsState, list[BaseException]]:
    config = {
        "application.id": "live-failures",
        "bootstrap.servers": f"embedded:{home / 'data'}",
        "state.dir": str(home / "state"),
    }
    heard: list[BaseException] = []

    def handler(error: BaseException) -> StreamThreadExceptionResponse:
        heard.append(error)
        return StreamThreadExceptionResponse.SHUTDOWN_CLIENT

    with topics(config["bootstrap.servers"]) as there:
        there.create("numbers")
        there.produce_all("numbers", [(None, "1"), (None, "one")])
    app = Streams(build(), config, spark=spark)
    app.on_uncaught_exception(handler)
    app.start()
    with suppress(HeadraceError):  # wait() raises it too
        app.wait()
    return app.state, heard


if __name__ == "__main__":
    state, errors = run(Path(tempfile.mkdtemp()))
    print(state.name)
    for error in errors:
        print(error)
