"""Event time from the value: a timestamp extractor says when a record happened, whenever it was written.

It gets the record and the highest time its partition has seen, a good answer for a record that tells no time.
A negative answer drops the record.
"""

from datetime import datetime, timedelta, timezone

from headrace import ConsumedRecord, StreamsBuilder, TimeWindows, Topology, TopologyTestDriver, serdes

JSON = serdes.json()


def event_time(record: ConsumedRecord, partition_time: int) -> int:
    at = record.value.get("at")
    return partition_time if at is None else int(datetime.fromisoformat(at).timestamp() * 1000)


def hour(timestamp: int) -> str:
    return datetime.fromtimestamp(timestamp / 1000, timezone.utc).strftime("%H:%M")


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("readings", value_serde=JSON, timestamp_extractor=event_time)
        .group_by_key()
        .windowed_by(TimeWindows(timedelta(hours=1), grace=timedelta(hours=2)))
        .count("readings-per-hour")
        .to_stream(lambda window, count: f"{window.key} {hour(window.start)}")
        .to("counts", value_serde=serdes.long())
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        readings = driver.create_input_topic("readings", value_serde=JSON)
        readings.pipe_input("meter", {"kwh": 3, "at": "2024-05-01T10:15:00+00:00"})
        readings.pipe_input("meter", {"kwh": 4, "at": "2024-05-01T11:05:00+00:00"})
        readings.pipe_input("meter", {"kwh": 4, "at": "2024-05-01T12:50:00+02:00"})  # 10:50 in UTC
        readings.pipe_input("meter", {"kwh": 5})  # no time: it happens at 11:05, the highest time so far
        for record in driver.create_output_topic("counts", value_serde=serdes.long()):
            print(f"{record.key}  {record.value}")
