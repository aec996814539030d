"""State as a Spark DataFrame: a session of your own runs the application and asks its store with SQL."""

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from headrace import Streams, StreamsBuilder, Topology, serdes, topics

SALES = [("tea", 3), ("cups", 2), ("tea", 5), ("milk", 1)]


def build() -> Topology:
    builder = StreamsBuilder()
    sales = builder.stream("sales", value_serde=serdes.long())
    sales.group_by_key().reduce(lambda sum, sold: sum + sold, "sold")
    return builder.build()


def best_sellers(home: Path, spark: SparkSession) -> list[tuple[str, str, int]]:
    config = {
        "application.id": "best-sellers",
        "bootstrap.servers": f"embedded:{home / 'data'}",
        "state.dir": str(home / "state"),
    }
    with topics(config["bootstrap.servers"], value_serde="long") as there:
        there.create("sales", partitions=2)
        there.produce_all("sales", SALES)
    shelves = spark.createDataFrame([("tea", "A1"), ("cups", "B2"), ("milk", "C3")], ["key", "shelf"])
    with Streams(build(), config, spark=spark) as app:
        app.run_until_idle()
        sold = app.store_dataframe("sold").join(shelves, "key").where("value > 1").orderBy("value", ascending=False)
        return [(row.key, row.shelf, row.value) for row in sold.collect()]


if __name__ == "__main__":
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    for item, shelf, count in best_sellers(Path(tempfile.mkdtemp()), session):
        print(f"{item} on shelf {shelf}: {count}")
    session.stop()
