"""Formats that need a package of an extra."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.errors import UnsupportedError
from headrace.serde.registry import InMemorySchemaRegistry
from headrace.sql.formats.rows import row_serde
from tests.unit.sql.formats.columns import columns, format_of


@pytest.mark.parametrize(
    ("name", "package", "module", "extra"),
    [
        ("AVRO", "fastavro", "avro", "avro"),
        ("PROTOBUF", "google.protobuf", "protobuf", "protobuf"),
        ("PROTOBUF_NOSR", "google.protobuf", "protobuf", "protobuf"),
    ],
)
def test_a_missing_package_is_an_error_that_says_what_to_install(
    name: str, package: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loaded in [each for each in sys.modules if each.startswith((package, f"headrace.sql.formats.{module}"))]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delattr(f"headrace.sql.formats.{module}", raising=False)
    with pytest.raises(UnsupportedError, match=f"the format {name} needs a package that is not installed") as caught:
        row_serde(columns("v INTEGER"), format_of(name), registry=InMemorySchemaRegistry())
    assert caught.value.hint == f"Install it with: pip install 'headrace[{extra}]'"


def test_formats_without_extras_load_none() -> None:
    code = (
        "import sys, headrace.sql.engine.engine, headrace.sql.build.queries, headrace.sql.formats.json_sr;"
        "print([each for each in ('fastavro', 'google.protobuf', 'pyspark') if each in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
