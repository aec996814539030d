"""Python runs this first in every process that Spark starts for us: they take pyspark as installed, not from a zip.

Spark puts a zip of pyspark before everything else on the path. What is in a zip is compiled anew by every process that
imports it: 1.5 s until the source of a query is there, against 0.5 s.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path


def without_zips(path: list[str]) -> list[str]:
    """The path without the zips that belong to the installed pyspark, where that can be imported without them."""
    rest = [entry for entry in path if not entry.endswith(".zip")]
    spark, py4j = PathFinder.find_spec("pyspark", rest), PathFinder.find_spec("py4j", rest)
    if spark is None or spark.origin is None or py4j is None:
        return path
    installed = Path(spark.origin).parent
    return [entry for entry in path if not (entry.endswith(".zip") and Path(entry).is_relative_to(installed))]


def run_other(path: list[str]) -> None:
    """Run the ``sitecustomize`` that Python would have found without this one."""
    here = Path(__file__).parent
    other = PathFinder.find_spec("sitecustomize", [entry for entry in path if Path(entry) != here])
    if other is not None and other.loader is not None:
        other.loader.exec_module(module_from_spec(other))


if __name__ == "sitecustomize":
    sys.path[:] = without_zips(sys.path)
    run_other(sys.path)
