"""A store's table as a Spark DataFrame, and SQL over it."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headrace.config import StreamsConfig
from headrace.errors import ArgumentError
from headrace.spark.session import close_session, existing_session, open_session


def store_dataframe(session: SparkSession, table: pa.Table) -> DataFrame:
    """The table as a DataFrame of ``session``; see ``headrace.query.tables`` for its columns."""
    with warnings.catch_warnings():
        # Spark has something to say about the version of pandas, which is not used here.
        warnings.simplefilter("ignore", FutureWarning)
        return session.createDataFrame(table)


def dataframe(session: SparkSession | None, table: pa.Table) -> DataFrame:
    """The table as a DataFrame of ``session``, or of the session that this process has."""
    found = session or existing_session()
    if found is None:
        message = "there is no Spark session"
        raise ArgumentError(message, hint="Give one: SparkSession.builder.getOrCreate().")
    return store_dataframe(found, table)


def query(table: pa.Table, sql: str, name: str) -> pa.Table:
    """The answer to a query in which ``table`` is called ``name``. SQL that Spark cannot run is an ArgumentError.

    The session of the process is used where there is one; else a small local one for this query alone.
    """
    with _session() as session:
        store_dataframe(session, table).createOrReplaceTempView(name)
        try:
            return session.sql(sql).toArrow()
        except PySparkException as error:
            said = str(error).strip().splitlines()[0].rstrip(";")
            message = f"Spark cannot run the query: {said}"
            raise ArgumentError(message, detail=sql) from error
        finally:
            session.catalog.dropTempView(name)


@contextmanager
def _session() -> Iterator[SparkSession]:
    existing = existing_session()
    if existing is not None:
        yield existing
        return
    # Python repeats what Spark says about a query that failed, with the whole of Java's stack.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    session = open_session(StreamsConfig({"application.id": "headrace-sql"}), threads=1)
    try:
        yield session
    finally:
        close_session(session)
