"""``import headrace`` stays light: what an extra brings is loaded when it is first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = ("pyspark", "confluent_kafka", "pyarrow", "fastavro", "google.protobuf")


def loaded_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after ``statement``."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    finished = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(finished.stdout.split())


@pytest.mark.parametrize("statement", ["import headrace", "import headrace.testing", "from headrace import serdes"])
def test_importing_headrace_loads_no_extra(statement: str) -> None:
    assert loaded_after(statement).isdisjoint(EXTRAS)


def test_nor_does_running_a_topology() -> None:
    program = (
        "from headrace import StreamsBuilder, TopologyTestDriver, serdes\n"
        "builder = StreamsBuilder()\n"
        "builder.stream('in', value_serde=serdes.json()).group_by_key().count().to_stream().to('out')\n"
        "with TopologyTestDriver(builder.build()) as driver:\n"
        "    driver.create_input_topic('in', value_serde=serdes.json()).pipe_input('a', {'n': 1})\n"
        "    assert driver.create_output_topic('out', value_serde=serdes.long()).read_value() == 1"
    )

    assert loaded_after(program).isdisjoint(EXTRAS)
