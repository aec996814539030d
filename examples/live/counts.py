"""A live application: counts on Spark that can be asked while it runs, and that goes on where it was after a restart.

`Streams` runs the topology; the topics are in a directory. A program that runs on would end with `app.wait()`.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headrace import Streams, StreamsBuilder, Topology, topics


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("views").group_by_key().count("views-per-user")
    return builder.build()


def settings(home: Path) -> dict[str, Any]:
    return {
        "application.id": "live-counts",
        "bootstrap.servers": f"embedded:{home / 'data'}",
        "state.dir": str(home / "state"),
        "num.stream.threads": 2,
    }


def run(home: Path, views: Iterable[tuple[str, str]], spark: Any = None) -> dict[str, int]:
    """Send the views, let the application take them in, and ask it for its counts."""
    config = settings(home)
    with topics(config["bootstrap.servers"]) as there:
        if "views" not in there.names():
            there.create("views", partitions=2)
        there.produce_all("views", views)
    with Streams(build(), config, spark=spark) as app:
        app.run_until_idle()
        return dict(app.store("views-per-user").all())


if __name__ == "__main__":
    directory = Path(tempfile.mkdtemp())
    print(run(directory, [("anna", "home"), ("bert", "home"), ("anna", "help")]))
    print(run(directory, [("anna", "home")]), "after a restart")
