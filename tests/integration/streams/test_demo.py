"""``headrace demo`` counts every word once, over a stop and a start, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def test_every_word_is_counted_once_over_a_restart(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "headrace.cli", "demo", "--json"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert result["counted"] == result["words"]
    assert 0 < result["before_stop"] < result["counted"]
    assert "every word once" in ran.stderr
    assert list(tmp_path.iterdir()) == []
