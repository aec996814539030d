"""What is said of topics that a cluster does not have."""

from __future__ import annotations

from headrace.broker.kafka import metadata


def test_a_topic_that_is_not_there_is_made_where_it_was_looked_for() -> None:
    error = metadata.unknown("orders", "broker:9092")
    assert str(error) == (
        "there is no topic orders\n  hint: Create it: headrace topics create orders --broker broker:9092"
    )
