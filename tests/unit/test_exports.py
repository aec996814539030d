"""The names of the package's root: all there, all loaded on demand."""

from __future__ import annotations

import subprocess
import sys

import pytest

import headrace


@pytest.mark.parametrize("name", headrace.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(headrace, name) is getattr(headrace, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'StreamBuilder'"):
        _ = headrace.StreamBuilder  # type: ignore[attr-defined]


def test_importing_the_package_loads_none_of_its_parts() -> None:
    code = "import sys, headrace; print(sorted(m for m in sys.modules if m.startswith('headrace.')))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.strip() == "[]"
