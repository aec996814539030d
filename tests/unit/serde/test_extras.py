"""Optional packages are loaded when they are needed, and missed with a clear word."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace import serde
from headrace.errors import UnsupportedError


def test_importing_serdes_loads_no_optional_package() -> None:
    program = (
        "import sys, headrace.serde\n"
        "heavy = {'fastavro', 'google.protobuf', 'pyspark', 'confluent_kafka', 'urllib.request'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [("fastavro", "avro_values", "avro"), ("google.protobuf.descriptor", "protobuf_values", "protobuf")],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, package: str, module: str, extra: str
) -> None:
    monkeypatch.delitem(sys.modules, f"headrace.serde.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(UnsupportedError, match="needs a package that is not installed") as raised:
        getattr(serde, extra)('"long"')

    assert f"headrace[{extra}]" in str(raised.value.hint)
