"""The archive of Spark's classes, made before the tests: ``python -m tests.class_archive``.

Applications make it in the time that they leave to others, which on a machine that is busy with tests never comes.
Every JVM of the tests that finds it starts in half the time.
"""

from __future__ import annotations

import tempfile
from contextlib import closing

from headrace import Streams, StreamsBuilder
from headrace.broker import open_broker
from headrace.broker.port import NewRecord
from headrace.spark.class_data import ClassData, made_meanwhile

_SECONDS = 120.0


def main() -> None:
    """Run a small application to its first results, and make an archive of what it loaded."""
    if ClassData().archive.exists():
        return
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count().to_stream().to("out")
    with tempfile.TemporaryDirectory() as place, made_meanwhile() as make:
        settings = {"application.id": "classes", "bootstrap.servers": f"embedded:{place}/data", "state.dir": place}
        with closing(open_broker(settings["bootstrap.servers"])) as broker:
            broker.create_topic("in")
            broker.append([NewRecord("in", b"key", b"value")])
        with Streams(builder.build(), settings) as app:
            app.run_until_idle()
            if maker := make():
                maker.wait(_SECONDS)


if __name__ == "__main__":
    main()
