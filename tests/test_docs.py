"""The README and the guide do what they say: the Python blocks of each file run, in order, in one namespace."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("path", [path for path in FILES if BLOCK.search(path.read_text())], ids=lambda path: path.name)
def test_code_runs(path: Path, driver: Callable[..., Any]) -> None:
    namespace: dict[str, Any] = {"__name__": path.stem}
    for code in _blocks(path):
        exec(code, namespace)
    tests = {name: test for name, test in namespace.items() if name.startswith("test_")}
    for test in tests.values():
        test(driver) if inspect.signature(test).parameters else test()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    broken = [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()]
    assert not broken


def _blocks(path: Path) -> list[Any]:
    """Each block compiled such that tracebacks show the line of the file."""
    text = path.read_text()
    found = BLOCK.finditer(text)
    return [compile("\n" * text.count("\n", 0, block.start(1)) + block[1], str(path), "exec") for block in found]
