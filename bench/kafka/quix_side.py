"""Word count on Quix Streams, run by the Python that has it: ``quix_side.py ORDER``."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from quixstreams import Application, State  # type: ignore[import-not-found]


def main() -> None:
    """Run the order until standard input ends."""
    order = json.loads(sys.argv[1])
    guarantee = "exactly-once" if order["guarantee"] == "exactly_once_v2" else "at-least-once"
    app = Application(
        broker_address=order["servers"],
        consumer_group=order["application"],
        auto_offset_reset="earliest",
        processing_guarantee=guarantee,
        state_dir=order["state"],
        # Five seconds unless told: the last offsets of a short run would wait for that.
        commit_interval=1.0,
        loglevel="ERROR",
        auto_create_topics=True,
    )
    lines = app.topic(order["input"], value_deserializer="string")
    output = app.topic(order["output"], value_serializer="bytes", key_serializer="string")
    words = app.dataframe(lines).apply(lambda line: line.split(" "), expand=True)
    counts = words.group_by(
        lambda word: word,
        name="word",
        value_serializer="string",
        value_deserializer="string",
        key_serializer="string",
        key_deserializer="string",
    )
    counts.apply(counted, stateful=True).to_topic(output)
    threading.Thread(target=end_with_input, daemon=True).start()
    print("STARTED", time.time_ns() // 1_000_000, flush=True)
    app.run()


def counted(word: Any, state: State) -> bytes:
    """One more of it, as eight bytes."""
    count: int = state.get("count", 0) + 1
    state.set("count", count)
    return count.to_bytes(8, "big")


def end_with_input() -> None:
    """End when nobody needs it any more."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
