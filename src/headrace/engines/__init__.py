"""The engines that an application may run on, by name."""

from __future__ import annotations

from functools import partial
from typing import Any

from headrace.batch.reading_time import ReadingTime
from headrace.engines.spark_checks import SPARK_CHECKS
from headrace.errors import ArgumentError, OperatorTypeError, user_line
from headrace.lifecycle.engine import EngineKind
from headrace.near_names import did_you_mean
from headrace.optional import extra_for

LOCAL, SPARK = "local", "spark"


def check_engine(name: object, session: Any) -> None:
    """Refuse a name that no engine has, and a session that nobody would use, or could."""
    if session is not None and not hasattr(session, "sparkContext"):
        message = f"spark must be a SparkSession, found {type(session).__module__}.{type(session).__name__}"
        hint = "SparkSession.builder.getOrCreate() makes one, Spark Connect does not; without one a local one is made."
        raise OperatorTypeError(message, hint=hint, at=user_line())
    if name not in (LOCAL, SPARK):
        message = f"there is no engine called {name!r}: it is 'spark' or 'local'"
        raise ArgumentError(message, hint=did_you_mean(str(name), (LOCAL, SPARK)), at=user_line())
    if name == LOCAL and session is not None:
        raise ArgumentError("the local engine uses no Spark session", hint="Leave out spark= or engine=.")


def engine_kind(name: str, session: Any) -> EngineKind:
    """How to make it. For Spark with ``session``, else with the one that this process has, else with a new one."""
    if name == LOCAL:
        return EngineKind(local_engine())
    make, existing = spark_engine()
    found = session or existing()
    return EngineKind(partial(make, session=found), SPARK_CHECKS, found)


def local_engine() -> Any:
    with extra_for("an application"):
        from headrace.batch.local import LocalEngine  # noqa: PLC0415
    return partial(LocalEngine, time=ReadingTime())


def spark_engine() -> Any:
    # Loaded when an application starts: a program can be built and described without Spark.
    with extra_for("an application runs on Spark, which"):
        from headrace.spark.engine import SparkEngine  # noqa: PLC0415
        from headrace.spark.session import existing_session  # noqa: PLC0415
    return SparkEngine, existing_session
