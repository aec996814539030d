"""The same work by Spark's own operators: word count by ``groupBy().count()``, and a count per key kept from Python."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

CHECKPOINTS = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
    ),
}
"""What Spark's own state needs, and its default: it lives in the checkpoint, ours does not."""
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def write_rows(rows: list[tuple[bytes | None, bytes]], directory: Path, files: int) -> None:
    """The records as Parquet files, as many as the topic has partitions."""
    directory.mkdir(parents=True)
    for number in range(files):
        keys, values = zip(*rows[number::files], strict=True)
        table = pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())})
        pq.write_table(table, directory / f"{number}.parquet")


def word_count(session: SparkSession, rows: Path, work: Path) -> float:
    """Seconds of ``groupBy().count()`` over the words, with its state in RocksDB and its output in files."""
    words = _stream(session, rows).select(f.explode(f.split(f.col("value").cast("string"), " ")).alias("word"))
    return _seconds(words.groupBy("word").count(), work, "update")


def count_per_key(session: SparkSession, rows: Path, work: Path) -> float:
    """Seconds of a count per key by ``transformWithStateInPandas``."""
    counted = (
        _stream(session, rows)
        .select(f.col("key").cast("string"))
        .groupBy("key")
        .transformWithStateInPandas(Counting(), "key string, count long", "Update", "None")
    )
    return _seconds(counted, work, "update")


class Counting(StatefulProcessor):
    """A count per key in a value state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Add what came for the key."""
        known = self._count.get()
        count = (known[0] if known else 0) + sum(len(frame) for frame in rows)
        self._count.update((count,))
        yield pd.DataFrame({"key": [key[0]], "count": [count]})

    def close(self) -> None:
        """Nothing to let go of."""


def _stream(session: SparkSession, rows: Path) -> DataFrame:
    session.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    # Two hundred, its default, would be two hundred state stores.
    session.conf.set("spark.sql.shuffle.partitions", "4")
    return session.readStream.schema("key binary, value binary").parquet(str(rows))


def _seconds(counts: DataFrame, work: Path, mode: str) -> float:
    start = time.perf_counter()
    query = (
        counts.writeStream.outputMode(mode)
        .foreachBatch(lambda batch, number: batch.write.parquet(str(work / f"out-{number}")))
        .option("checkpointLocation", str(work / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return time.perf_counter() - start
