"""A process that runs word count until nothing is due; tests end it at failpoints."""

from __future__ import annotations

import sys
from pathlib import Path

from headrace.batch.local import LocalEngine
from tests.integration.batch.programs import open_at, settings, word_count

if __name__ == "__main__":
    directory = Path(sys.argv[1])
    broker = open_at(directory)
    with LocalEngine(word_count(), settings(directory, **{"max.records.per.batch": 4}), broker) as engine:
        engine.run_until_idle()
    broker.close()
