"""The processes that Spark starts take pyspark as it is installed, and nothing else changes for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

from headrace.spark import startup
from headrace.spark.startup.sitecustomize import without_zips

STARTUP = Path(startup.__file__).parent
INSTALLED = Path(pyspark.__file__).parent
ZIP = str(INSTALLED / "python" / "lib" / "pyspark.zip")


def test_only_the_zips_of_the_installed_pyspark_go() -> None:
    others = ["/spark/python/lib/pyspark.zip", "/some/where", str(INSTALLED.parent)]
    assert without_zips([ZIP, *others]) == others
    assert without_zips([ZIP, "/some/where"]) == [ZIP, "/some/where"], "there is no other pyspark"


def test_a_process_imports_the_installed_one_and_still_runs_its_own_sitecustomize(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.was_customized = True\n")
    program = "import pyspark, sys; print(pyspark.__file__, sys.was_customized)"
    path = os.pathsep.join([ZIP, str(STARTUP), str(tmp_path)])
    ran = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert ran.stdout.split() == [pyspark.__file__, "True"], ran.stderr
