"""``python -m tests.ksql.rest DIRECTORY``: run a folder of REST cases in this process, and tell what came of them."""

from __future__ import annotations

import sys

from tests.ksql.__main__ import main
from tests.ksql.rest.running import RestRun

if __name__ == "__main__":
    sys.exit(main(RestRun))
