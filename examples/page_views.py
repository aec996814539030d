"""Page views by region: a stream meets a table, is grouped anew and counted in windows of five minutes."""

from datetime import timedelta

from headrace import StreamsBuilder, TimeWindows, Topology, TopologyTestDriver, serdes

JSON = serdes.json()
MINUTE = 60_000


def build() -> Topology:
    builder = StreamsBuilder()
    users = builder.table("users", value_serde=JSON)
    (
        builder.stream("page-views", value_serde=JSON)
        .join(users, lambda view, user: {"page": view["page"], "region": user["region"]})
        .group_by(lambda user, view: view["region"], value_serde=JSON)
        .windowed_by(TimeWindows(timedelta(minutes=5), grace=timedelta(minutes=1)))
        .count("views-per-region")
        .to_stream(lambda window, count: f"{window.key}@{window.start // MINUTE}min")
        .to("region-counts", value_serde=serdes.long())
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        users = driver.create_input_topic("users", value_serde=JSON)
        views = driver.create_input_topic("page-views", value_serde=JSON)
        users.pipe_input("anna", {"region": "europe"}, timestamp=0)
        users.pipe_input("ben", {"region": "asia"}, timestamp=0)
        views.pipe_input("anna", {"page": "/"}, timestamp=0)
        views.pipe_input("ben", {"page": "/"}, timestamp=1 * MINUTE)
        views.pipe_input("anna", {"page": "/tea"}, timestamp=2 * MINUTE)
        users.pipe_input("anna", {"region": "asia"}, timestamp=3 * MINUTE)
        views.pipe_input("anna", {"page": "/cups"}, timestamp=4 * MINUTE)
        views.pipe_input("anna", {"page": "/"}, timestamp=6 * MINUTE)
        for record in driver.create_output_topic("region-counts", value_serde=serdes.long()):
            print(f"{record.key:14} {record.value}")
