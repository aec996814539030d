"""What is looked at before an application starts on Spark, beside ``headrace.lifecycle.preflight``."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, SetupError
from headrace.java import find_java, is_chosen_by_spark
from headrace.optional import extra_for
from headrace.spark.worker_python import check_worker_python

if TYPE_CHECKING:
    from headrace.lifecycle.preflight import Check, Start


def java(start: Start) -> HeadraceError | None:
    """Java is missing, too old, or not where JAVA_HOME says."""
    if start.session is not None or is_chosen_by_spark(os.environ):
        return None
    try:
        find_java(os.environ)
    except SetupError as error:
        return error
    return None


def spark_home(start: Start) -> HeadraceError | None:
    """SPARK_HOME names another Spark than the installed PySpark, or none at all."""
    home = os.environ.get("SPARK_HOME")
    if start.session is not None or not home:
        return None
    hint = "Unset SPARK_HOME: PySpark brings its own Spark along."
    if not (Path(home) / "bin" / "spark-submit").exists():
        message = f"SPARK_HOME names no Spark: {home}"
        return SetupError(message, detail="There is no bin/spark-submit in it.", hint=hint)
    theirs = next((jar.stem.rpartition("-")[2] for jar in Path(home).glob("jars/spark-core_*.jar")), None)
    ours = metadata.version("pyspark")
    if theirs is None or theirs.split(".")[:2] == ours.split(".")[:2]:
        return None
    message = f"SPARK_HOME names Spark {theirs}, but PySpark {ours} is installed"
    return SetupError(message, detail=home, hint=hint)


def worker_python(start: Start) -> HeadraceError | None:
    """The workers' Python has no Headrace, or is another one."""
    given = start.config.originals.get("spark.master", "local")
    return check_worker_python(start.session, given if start.session is None else start.session.sparkContext.master)


def functions(start: Start) -> HeadraceError | None:
    """A function has captured what cannot be sent to another process."""
    if start.topology is None:
        return None
    with extra_for("an application runs on Spark, which"):
        from headrace.spark.travel import check_travel  # noqa: PLC0415
    return check_travel(start.topology, start.config.originals)


SPARK_CHECKS: tuple[Check, ...] = (java, spark_home, worker_python, functions)
