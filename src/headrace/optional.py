"""Packages that an extra brings: whoever needs one imports it late, and says what to install where it is missing.

with extra_for("a Spark DataFrame"):
from headrace.spark import frames
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.errors import UnsupportedError

_EXTRAS = {
    "attrs": "registry",
    "authlib": "registry",
    "cachetools": "registry",
    "certifi": "registry",
    "confluent_kafka": "kafka",
    "fastavro": "avro",
    "google": "protobuf",
    "httpx": "registry",
    "httpx2": "registry",
    "py4j": "spark",
    "pyarrow": "spark",
    "pyspark": "spark",
    "rich": "cli",
    "typer": "cli",
}


@contextmanager
def extra_for(what: str) -> Iterator[None]:
    """Turn the failed import of a package of an extra into an UnsupportedError that says what to install.

    >>> with extra_for("the demo"):
    ...     raise ModuleNotFoundError(name="pyspark.sql")
    Traceback (most recent call last):
    headrace.errors.UnsupportedError: the demo needs a package that is not installed: pyspark.sql
      hint: Install it with: pip install 'headrace[spark]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").split(".")[0])
        if extra is None:
            raise
        message = f"{what} needs a package that is not installed: {error.name}"
        raise UnsupportedError(message, hint=f"Install it with: pip install 'headrace[{extra}]'") from error
