"""The README and the guide do what they say: the Python blocks of each file run, in order, in one namespace."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace
from tests import functions_page, settings_page

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
COMING = ROOT / "docs/guide/11-coming-from-kafka-streams.md"
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
    lines_before = [(block[1], "\n" * text.count("\n", 0, block.start(1))) for block in found]
    return [compile(before + code, str(path), "exec", dont_inherit=True) for code, before in lines_before]


def test_the_page_of_settings_says_what_the_code_says() -> None:
    assert settings_page.PAGE.read_text() == settings_page.page(), "write it anew with: make docs"


def test_the_page_of_functions_says_what_the_code_says() -> None:
    assert functions_page.PAGE.read_text() == functions_page.page(), "write it anew with: make docs"


_ROW = re.compile(r"^\| .* \| (.*) \|$", re.MULTILINE)
_NAME = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)*)(?:\(([\w=, ]*)\))?`")


@pytest.mark.parametrize(("name", "keywords"), _NAME.findall("\n".join(_ROW.findall(COMING.read_text()))))
def test_each_name_for_those_who_come_from_kafka_streams_exists(name: str, keywords: str) -> None:
    found: Any = _find(name)
    if keywords:
        parameters = inspect.signature(found).parameters
        assert [word for word in re.findall(r"\w+", keywords) if word not in parameters] == []


def _find(name: str) -> Any:
    found: Any = headrace
    for part in name.split("."):
        if isinstance(found, type) and part in _attributes(found):
            return part
        found = importlib.import_module(f"headrace.{part}") if part == "testing" else getattr(found, part)
    return found


def _attributes(found: type) -> set[str]:
    """What objects of the class have: declared ones, and those that ``__init__`` sets."""
    code = getattr(vars(found).get("__init__"), "__code__", None)
    return {
        *getattr(code, "co_names", ()),
        *(name for each in found.__mro__ for name in getattr(each, "__annotations__", ())),
    }
