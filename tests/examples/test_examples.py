"""What each example gives, worked out by hand from the rules of Kafka Streams; and that each one runs as a script."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from examples import (
    branching,
    co_grouping,
    co_grouping_processor,
    correlated_purchases,
    crypto_sentiment,
    custom_partitioner,
    custom_serde,
    custom_timestamps,
    dead_letters,
    deduplication,
    emit_on_close,
    enrich_processor,
    event_collaboration,
    foreign_key_join,
    global_table,
    hopping_windows,
    inspect_topology,
    interactive_query,
    lru_store,
    metrics_report,
    order_payments,
    page_views,
    punctuation,
    purchases,
    restore,
    rocksdb_tuning,
    sessions,
    sliding_windows,
    stock_performance,
    store_options,
    stream_and_table,
    stream_table_join,
    suppression,
    table_cache,
    table_table_join,
    top_n,
    topic_routing,
    trace_headers,
    tumbling_windows,
    versioned_join,
    word_count,
    word_count_processor,
)
from headrace import FailureReason, Topology, TopologyTestDriver, Windowed, errors, query, serdes
from headrace.windows import SessionWindow, TimeWindow

JSON, LONG, DOUBLE = serdes.json(), serdes.long(), serdes.double()
SECOND, MINUTE = 1000, 60_000
EXAMPLES = Path(__file__).parents[2] / "examples"

Run = Callable[..., TopologyTestDriver]


def written(run: TopologyTestDriver, topic: str, value_serde: Any = None) -> list[tuple[Any, Any]]:
    return run.create_output_topic(topic, value_serde=value_serde).read_key_values_to_list()


# Word count


@pytest.mark.parametrize("build", [word_count.build, word_count_processor.build])
def test_counts_words_in_the_order_in_which_they_come(driver: Run, build: Callable[[], Topology]) -> None:
    run = driver(build())
    run.create_input_topic("text-input").pipe_value_list(["All streams lead", "to streams"])
    assert written(run, "word-count-output", LONG) == [
        ("all", 1),
        ("streams", 1),
        ("lead", 1),
        ("to", 1),
        ("streams", 2),
    ]
    assert run.key_value_store("word-counts").get("streams") == 2


# Purchases, branches, routes


def test_masks_purchases_and_sends_each_to_those_who_want_it(driver: Run) -> None:
    run = driver(purchases.build())
    latte = {
        "customer": "anna",
        "card": "1234-5678-9012-3456",
        "department": "coffee",
        "item": "latte",
        "price": 5.5,
        "quantity": 2,
        "zip": "20770",
        "date": "2024-05-01",
    }
    cable = {**latte, "department": "electronics", "item": "cable", "price": 5.0, "quantity": 1}
    run.create_input_topic("transactions", value_serde=JSON).pipe_value_list([latte, cable])
    masked_latte, masked_cable = ({**each, "card": "xxxx-xxxx-xxxx-3456"} for each in (latte, cable))
    assert written(run, "purchases", JSON) == [(None, masked_latte), (None, masked_cable)]
    assert written(run, "patterns", JSON) == [
        (None, {"zip": "20770", "item": "latte", "amount": 11.0}),
        (None, {"zip": "20770", "item": "cable", "amount": 5.0}),
    ]
    assert written(run, "rewards", JSON) == [
        (None, {"customer": "anna", "points": 11}),
        (None, {"customer": "anna", "points": 5}),
    ]
    assert written(run, "cafe-purchases", JSON) == [("2024-05-01", masked_latte)]
    assert written(run, "electronics-purchases", JSON) == []  # the cable costs no more than 5


def test_sends_each_purchase_to_the_first_branch_that_wants_it(driver: Run) -> None:
    run = driver(branching.build())
    coffee, radio, atlas = ({"department": department} for department in ("coffee", "electronics", "books"))
    run.create_input_topic("purchases", value_serde=JSON).pipe_value_list([coffee, radio, atlas])
    assert written(run, "purchases-coffee", JSON) == [(None, coffee)]
    assert written(run, "purchases-electronics", JSON) == [(None, radio)]
    assert written(run, "purchases-other", JSON) == [(None, atlas)]


def test_chooses_the_topic_by_the_country_of_the_event(driver: Run) -> None:
    run = driver(topic_routing.build())
    run.create_input_topic("events", value_serde=JSON).pipe_value_list([{"country": "no"}, {"country": "at"}])
    assert run.produced_topic_names == {"events-no", "events-at"}


def test_adds_up_the_mood_of_english_and_german_tweets(driver: Run) -> None:
    run = driver(crypto_sentiment.build())
    tweets = run.create_input_topic("raw-tweets", value_serde=JSON)
    tweets.pipe_input({"lang": "en", "text": "I love Bitcoin and Ethereum"})
    tweets.pipe_input({"lang": "de", "text": "ich hasse bitcoin"})
    tweets.pipe_input({"lang": "en", "text": "RT I love bitcoin", "retweet": True})
    tweets.pipe_input({"lang": "fr", "text": "love bitcoin"})
    assert written(run, "crypto-sentiment", JSON) == [("bitcoin", 1), ("ethereum", 1), ("bitcoin", 0)]


def test_services_react_to_each_others_events(driver: Run) -> None:
    run = driver(event_collaboration.build())
    orders = run.create_input_topic("orders-placed", value_serde=JSON)
    orders.pipe_input("o1", {"item": "tea", "amount": 100})
    orders.pipe_input("o2", {"item": "samovar", "amount": 101})
    orders.pipe_input("o3", {"item": "cup", "amount": 12})
    assert [payment["status"] for _, payment in written(run, "payments-processed", JSON)] == [
        "paid",
        "declined",
        "paid",
    ]
    assert written(run, "notifications-sent") == [("o1", "your tea is on its way"), ("o3", "your cup is sold out")]


# Joins


def test_joins_orders_and_payments_and_gives_unpaid_orders_when_it_is_too_late(driver: Run) -> None:
    run = driver(order_payments.build())
    orders, payments = (run.create_input_topic(topic, value_serde=JSON) for topic in ("orders", "payments"))
    settlements = run.create_output_topic("settlements", value_serde=JSON)
    orders.pipe_input("o1", {"item": "tea", "amount": 8}, timestamp=0)
    orders.pipe_input("o2", {"item": "cup", "amount": 12}, timestamp=0)
    payments.pipe_input("o1", {"amount": 5}, timestamp=5 * MINUTE)  # the last moment that counts
    assert settlements.read_key_values_to_list() == [("o1", {"item": "tea", "open": 3})]
    orders.pipe_input("o3", {"item": "pot", "amount": 30}, timestamp=6 * MINUTE)
    assert settlements.is_empty  # five minutes and one of grace: over only after they have passed
    orders.pipe_input("o4", {"item": "lid", "amount": 3}, timestamp=6 * MINUTE + 1)
    unpaid = settlements.read_record()
    assert (unpaid.key, unpaid.value, unpaid.timestamp) == ("o2", {"item": "cup", "open": 12}, 0)
    assert settlements.is_empty


def test_correlates_purchases_at_most_twenty_minutes_apart(driver: Run) -> None:
    run = driver(correlated_purchases.build(), {"application.id": "shop"})
    coffee, electronics = (run.create_input_topic(topic, value_serde=JSON) for topic in ("coffee", "electronics"))
    coffee.pipe_input("till-1", {"customer": "anna", "item": "latte"}, timestamp=0)
    electronics.pipe_input("till-7", {"customer": "anna", "item": "phone"}, timestamp=20 * MINUTE)
    electronics.pipe_input("till-7", {"customer": "ben", "item": "radio"}, timestamp=20 * MINUTE)
    coffee.pipe_input("till-1", {"customer": "anna", "item": "mocha"}, timestamp=40 * MINUTE + 1)
    assert written(run, "correlated-purchases") == [("anna", "latte and phone")]
    assert {"shop-correlated-left-repartition", "shop-correlated-right-repartition"} <= run.produced_topic_names


def test_an_order_gets_the_price_that_holds_when_it_comes(driver: Run) -> None:
    run = driver(stream_table_join.build())
    prices = run.create_input_topic("prices", value_serde=DOUBLE)
    orders = run.create_input_topic("orders", value_serde=JSON)
    orders.pipe_input("o0", {"product": "tea", "quantity": 1})  # before there is a price
    prices.pipe_input("tea", 4.0)
    orders.pipe_input("o1", {"product": "tea", "quantity": 2})
    prices.pipe_input("tea", 5.0)
    orders.pipe_input("o2", {"product": "tea", "quantity": 2})
    assert written(run, "amounts", DOUBLE) == [("tea", 8.0), ("tea", 10.0)]


def test_enriches_orders_from_global_tables(driver: Run) -> None:
    run = driver(global_table.build())
    run.create_input_topic("products").pipe_input("p1", "green tea")
    run.create_input_topic("regions").pipe_input("50", "Cologne")
    orders = run.create_input_topic("orders", value_serde=JSON)
    orders.pipe_input("o1", {"product": "p1", "zip": "50667"})
    orders.pipe_input("o2", {"product": "p1", "zip": "99423"})
    orders.pipe_input("o3", {"product": "p9", "zip": "50667"})
    assert written(run, "enriched-orders", JSON) == [
        ("o1", {"product": "green tea", "zip": "50667", "region": "Cologne"}),
        ("o2", {"product": "green tea", "zip": "99423", "region": None}),
    ]
    assert run.produced_topic_names == {"enriched-orders"}  # no repartition


def test_a_joined_table_follows_both_sides(driver: Run) -> None:
    run = driver(table_table_join.build())
    names, cities = run.create_input_topic("names"), run.create_input_topic("cities")
    names.pipe_input("u1", "Anna")
    cities.pipe_input("u1", "Oslo")
    names.pipe_input("u2", "Ben")
    names.pipe_input("u1", "Anna Lund")
    cities.pipe_input("u1", None)
    assert written(run, "people") == [("u1", "Anna lives in Oslo"), ("u1", "Anna Lund lives in Oslo"), ("u1", None)]
    assert run.key_value_store("people").get("u1") is None


def test_every_order_follows_the_customer_it_names(driver: Run) -> None:
    run = driver(foreign_key_join.build())
    customers = run.create_input_topic("customers")
    orders = run.create_input_topic("orders", value_serde=JSON)
    orders.pipe_input("o1", {"customer": "c1", "item": "tea"})  # c1 is not known yet
    customers.pipe_input("c1", "Anna Lund")
    orders.pipe_input("o2", {"customer": "c1", "item": "cup"})
    customers.pipe_input("c1", "Anna Berg")
    orders.pipe_input("o1", None)
    assert written(run, "labels") == [
        ("o1", "tea for Anna Lund"),
        ("o2", "cup for Anna Lund"),
        ("o1", "tea for Anna Berg"),
        ("o2", "cup for Anna Berg"),
        ("o1", None),
    ]


def test_an_order_joins_the_price_of_the_moment_it_was_placed(driver: Run) -> None:
    run = driver(versioned_join.build())
    prices = run.create_input_topic("prices", value_serde=DOUBLE)
    orders = run.create_input_topic("orders", value_serde=LONG)
    amounts = run.create_output_topic("amounts", value_serde=DOUBLE)
    prices.pipe_input("tea", 4.0, timestamp=0)
    orders.pipe_input("tea", 10, timestamp=30 * SECOND)
    prices.pipe_input("tea", 6.0, timestamp=50 * SECOND)
    prices.pipe_input("tea", 5.0, timestamp=25 * SECOND)
    assert amounts.is_empty  # the order waits
    orders.pipe_input("tea", 1, timestamp=60 * SECOND)
    orders.pipe_input("tea", 100, timestamp=90 * SECOND)
    got = [(record.timestamp // SECOND, record.value) for record in amounts]
    assert got == [(30, 50.0), (60, 6.0)]


# Windows


def test_counts_page_views_by_region_and_five_minutes(driver: Run) -> None:
    run = driver(page_views.build())
    users, views = (run.create_input_topic(topic, value_serde=JSON) for topic in ("users", "page-views"))
    users.pipe_input("anna", {"region": "europe"}, timestamp=0)
    views.pipe_input("anna", {"page": "/"}, timestamp=0)
    views.pipe_input("nobody", {"page": "/"}, timestamp=0)
    views.pipe_input("anna", {"page": "/"}, timestamp=4 * MINUTE)
    users.pipe_input("anna", {"region": "asia"}, timestamp=4 * MINUTE)
    views.pipe_input("anna", {"page": "/"}, timestamp=5 * MINUTE)
    assert written(run, "region-counts", LONG) == [("europe@0min", 1), ("europe@0min", 2), ("asia@5min", 1)]


def test_a_tumbling_window_takes_late_records_until_its_grace_is_over(driver: Run) -> None:
    run = driver(tumbling_windows.build())
    pulses = run.create_input_topic("pulses")
    for minute in (1, 6, 4, 8, 2):  # 4 is late; at 8 the first window closes; 2 is too late
        pulses.pipe_input("anna", "pulse", timestamp=minute * MINUTE)
    first, second = (Windowed("anna", TimeWindow(start * MINUTE, (start + 5) * MINUTE)) for start in (0, 5))
    counts = run.create_output_topic("counts", tumbling_windows.WINDOW_KEY, LONG).read_key_values_to_list()
    assert counts == [(first, 1), (second, 1), (first, 2), (second, 2)]
    assert run.dropped_records == 1


def test_a_reading_falls_into_every_hopping_window_around_it(driver: Run) -> None:
    run = driver(hopping_windows.build())
    temperatures = run.create_input_topic("temperatures", value_serde=DOUBLE)
    temperatures.pipe_input("kiln", 10.0, timestamp=2 * SECOND)
    temperatures.pipe_input("kiln", 20.0, timestamp=19 * SECOND)
    assert written(run, "means", DOUBLE) == [
        ("kiln [0, 20)", 10.0),
        ("kiln [0, 20)", 15.0),
        ("kiln [5, 25)", 20.0),
        ("kiln [10, 30)", 20.0),
        ("kiln [15, 35)", 20.0),
    ]


def test_three_failures_within_ten_seconds_raise_an_alert(driver: Run) -> None:
    run = driver(sliding_windows.build())
    failures = run.create_input_topic("failed-logins")
    for second in (20, 25, 30):  # the window that ends at 30 holds its start, 20, too
        failures.pipe_input("mallory", "wrong", timestamp=second * SECOND)
    for second in (40, 45, 51):  # eleven seconds
        failures.pipe_input("anna", "wrong", timestamp=second * SECOND)
    assert written(run, "alerts") == [("mallory", "3 from 20000 to 30000")]


def test_a_late_click_merges_two_sessions(driver: Run) -> None:
    run = driver(sessions.build())
    clicks = run.create_input_topic("clicks")
    for second, page in ((0, "a"), (20, "b"), (60, "d"), (40, "c")):  # a gap of exactly 20 seconds still joins
        clicks.pipe_input("anna", page, timestamp=second * SECOND)

    def session(start: int, end: int) -> Windowed[str]:
        return Windowed("anna", SessionWindow(start * SECOND, end * SECOND))

    visits = run.create_output_topic("visits", sessions.SESSION_KEY, JSON).read_key_values_to_list()
    assert visits == [
        (session(0, 0), ["a"]),
        (session(0, 0), None),
        (session(0, 20), ["a", "b"]),
        (session(60, 60), ["d"]),
        (session(0, 20), None),
        (session(60, 60), None),
        (session(0, 60), ["a", "b", "d", "c"]),
    ]


def test_suppression_gives_one_result_per_window(driver: Run) -> None:
    run = driver(suppression.build())
    failures = run.create_input_topic("errors")
    reports = run.create_output_topic("reports", value_serde=LONG)
    for second in (5, 65, 50, 69):
        failures.pipe_input("web", "timeout", timestamp=second * SECOND)
    assert reports.is_empty
    failures.pipe_input("web", "timeout", timestamp=70 * SECOND)  # the end of the window and its grace
    assert reports.read_key_values_to_list() == [("web@0s", 2)]


def test_emit_on_close_gives_each_window_once(driver: Run) -> None:
    run = driver(emit_on_close.build())
    temperatures = run.create_input_topic("temperatures", value_serde=DOUBLE)
    peaks = run.create_output_topic("peaks", value_serde=DOUBLE)
    for second, value in ((1, 20.0), (4, 23.5), (9, 21.0)):
        temperatures.pipe_input("kiln", value, timestamp=second * SECOND)
    assert peaks.is_empty
    temperatures.pipe_input("kiln", 19.0, timestamp=10 * SECOND)
    temperatures.pipe_input("kiln", 18.0, timestamp=31 * SECOND)
    assert peaks.read_key_values_to_list() == [("kiln@0s", 23.5), ("kiln@10s", 19.0)]


def test_takes_the_time_from_the_value(driver: Run) -> None:
    run = driver(custom_timestamps.build())
    readings = run.create_input_topic("readings", value_serde=JSON)
    readings.pipe_input("meter", {"at": "2024-05-01T10:15:00+00:00"})
    readings.pipe_input("meter", {"at": "2024-05-01T11:05:00+00:00"})
    readings.pipe_input("meter", {"at": "2024-05-01T12:50:00+02:00"})
    readings.pipe_input("meter", {})
    assert written(run, "counts", LONG) == [
        ("meter 10:00", 1),
        ("meter 11:00", 1),
        ("meter 10:00", 2),
        ("meter 11:00", 2),
    ]


# Aggregates and tables


def test_a_company_counts_once_in_the_top_three(driver: Run) -> None:
    run = driver(top_n.build())
    trades = run.create_input_topic("stock-transactions", value_serde=JSON)
    for symbol, shares in (("YERB", 100), ("NDLE", 50), ("ACME", 70), ("ZORG", 10), ("NDLE", 60)):
        trades.pipe_input({"symbol": symbol, "industry": "tech", "shares": shares})
    assert [report for _, report in written(run, "stock-volume-by-company")] == [
        "YERB 100",
        "YERB 100, NDLE 50",
        "YERB 100, ACME 70, NDLE 50",
        "YERB 100, ACME 70, NDLE 50",
        "NDLE 110, YERB 100, ACME 70",
    ]


def test_folds_clicks_and_purchases_into_one_row(driver: Run) -> None:
    run = driver(co_grouping.build())
    run.create_input_topic("clicks").pipe_input("anna", "/tea")
    run.create_input_topic("purchases", value_serde=DOUBLE).pipe_input("anna", 8.0)
    assert written(run, "customers", JSON) == [
        ("anna", {"pages": ["/tea"], "spent": 0.0}),
        ("anna", {"pages": ["/tea"], "spent": 8.0}),
    ]


def test_a_cache_lets_only_the_last_update_before_a_commit_through(driver: Run) -> None:
    run = driver(table_cache.build())
    run.create_input_topic("ticks").pipe_input("YERB", "105.24 105.36 105.01")
    assert written(run, "with-cache", DOUBLE) == [("YERB", 105.01)]
    assert written(run, "without-cache", DOUBLE) == [("YERB", 105.24), ("YERB", 105.36), ("YERB", 105.01)]


def test_the_table_holds_the_latest_row_and_the_stream_all_records(driver: Run) -> None:
    run = driver(stream_and_table.build())
    changes = [("u1", "Anna, 30"), ("u2", "Ben, 25"), ("u1", "Anna, 31"), ("u2", None)]
    run.create_input_topic("profile-updates").pipe_key_value_list(changes)
    assert written(run, "updates-per-user", LONG) == [("u1", 1), ("u2", 1), ("u1", 2)]
    assert written(run, "latest-profiles") == changes
    assert list(run.key_value_store("profiles").all()) == [("u1", "Anna, 31")]


# The Processor API


def test_a_processor_with_two_parents_sends_what_came_together(driver: Run) -> None:
    run = driver(co_grouping_processor.build())
    clicks = run.create_input_topic("events")
    trades = run.create_input_topic("stock-transactions", value_serde=LONG)
    clicks.pipe_input("YERB", "news", timestamp=1 * SECOND)
    clicks.pipe_input("NDLE", "chart", timestamp=2 * SECOND)
    trades.pipe_input("YERB", 100, timestamp=5 * SECOND)
    trades.pipe_input("YERB", 40, timestamp=15 * SECOND)  # processed first, then the punctuation comes
    assert written(run, "co-grouped", JSON) == [("YERB", {"clicks": ["news"], "trades": [100, 40]})]
    assert run.key_value_store("groups").get("YERB") is None


def test_records_move_stream_time_and_only_the_wall_clock_notices_silence(driver: Run) -> None:
    run = driver(punctuation.build(), wall_clock_ms=0)
    heartbeats = run.create_input_topic("heartbeats")
    notes = run.create_output_topic("notes")
    for second in (0, 4, 8, 12):  # stream time punctuates with the first record, then at 10
        heartbeats.pipe_input("pump", "ok", timestamp=second * SECOND)
    reports = [(note.key, note.value, note.timestamp) for note in notes]
    assert reports == [("report", "1 heartbeats", 0), ("report", "3 heartbeats", 12 * SECOND)]
    run.advance_wall_clock_time(timedelta(seconds=29))
    heartbeats.pipe_input("valve", "ok", timestamp=13 * SECOND)
    assert notes.is_empty
    run.advance_wall_clock_time(timedelta(seconds=1))
    alarms = [(note.key, note.value, note.timestamp) for note in notes]
    assert alarms == [("alarm", "pump is silent", 30 * SECOND)]


def test_sends_stocks_that_moved_by_two_percent(driver: Run) -> None:
    run = driver(stock_performance.build())
    trades = run.create_input_topic("stock-transactions", value_serde=JSON)
    for second, symbol, price in ((1, "YERB", 100.0), (2, "NDLE", 100.0), (3, "YERB", 102.0), (10, "NDLE", 101.9)):
        trades.pipe_input(symbol, {"price": price, "shares": 10}, timestamp=second * SECOND)
    assert written(run, "stock-performance", JSON) == [("YERB", {"price": 0.02, "volume": 0.0})]


def test_looks_up_products_until_they_are_thrown_out(driver: Run) -> None:
    run = driver(enrich_processor.build())
    run.create_input_topic("products").pipe_input("p1", "green tea", timestamp=0)
    transactions = run.create_input_topic("transactions", value_serde=JSON)
    for second in (60, 61, 90, 91):  # stream time punctuates at 60 (not older than a minute yet) and at 90
        transactions.pipe_input("p1", {}, timestamp=second * SECOND)
    names = [value["name"] for _, value in written(run, "enriched-transactions", JSON)]
    assert names == ["green tea", "green tea", "green tea", None]


def test_an_lru_store_forgets_whom_nobody_asked_for(driver: Run) -> None:
    run = driver(lru_store.build())
    requests = run.create_input_topic("requests")
    for user in ("anna", "ben", "anna", "cleo", "anna", "ben"):
        requests.pipe_input(user, "who?")
    answers = [value.rpartition(", ")[2] for _, value in written(run, "answers")]
    assert answers == ["looked up", "looked up", "from the store", "looked up", "from the store", "looked up"]


def test_lets_each_event_through_once_an_hour(driver: Run) -> None:
    run = driver(deduplication.build())
    events = run.create_input_topic("events")
    for minute, event in ((0, "e1"), (1, "e2"), (2, "e1"), (60, "e1"), (75, "e3"), (76, "e1")):
        events.pipe_input(event, str(minute), timestamp=minute * MINUTE)
    # The punctuation at 60 keeps e1, which is just an hour old; that at 75 forgets it.
    assert written(run, "unique-events") == [("e1", "0"), ("e2", "1"), ("e3", "75"), ("e1", "76")]


def test_adds_headers_and_keeps_those_that_were_there(driver: Run) -> None:
    run = driver(trace_headers.build())
    orders = run.create_input_topic("orders")
    orders.pipe_input("o1", "tea")
    orders.pipe_input("o2", "cup", headers=[("trace-id", b"shop"), ("hop", b"shop")])
    first, second = run.create_output_topic("traced-orders")
    assert first.value == "TEA"
    assert first.headers == [("trace-id", b"orders-0@0"), ("hop", b"checkout")]
    assert second.headers == [("trace-id", b"shop"), ("hop", b"shop"), ("hop", b"checkout")]


# Serdes, partitions, errors


def test_sends_each_region_to_its_partition(driver: Run) -> None:
    topology = custom_partitioner.build()
    run = driver(topology, {"application.id": "shop"})
    run.create_input_topic("orders", value_serde=JSON).pipe_input("o1", {"region": "asia"})
    assert [custom_partitioner.by_region("t", "k", {"region": "asia"}, count) for count in (1, 4)] == [0, 2]
    assert custom_partitioner.by_region("t", "k", {"region": "atlantis"}, 4) is None
    assert written(run, "regional-orders", JSON) == [("o1", {"region": "asia"})]
    internal = topology.configured({"application.id": "shop"}).internal_topics()
    repartitions = [(topic.name, topic.partitions) for topic in internal]
    assert repartitions == [("shop-orders-by-region-repartition", 4)]


def test_reads_and_writes_a_class_of_ones_own(driver: Run) -> None:
    run = driver(custom_serde.build())
    purchases_in = run.create_input_topic("purchases", value_serde=custom_serde.PURCHASE)
    purchases_in.pipe_input(custom_serde.Purchase("anna", " Tea ", 450))
    purchases_in.pipe_input(custom_serde.Purchase("anna", "CUP", 1205))
    clean = run.create_output_topic("clean-purchases", value_serde=custom_serde.PURCHASE).read_values_to_list()
    assert clean == [custom_serde.Purchase("anna", "tea", 450), custom_serde.Purchase("anna", "cup", 1205)]
    assert written(run, "spent") == [("anna", "4.50 EUR"), ("anna", "16.55 EUR")]


def test_bad_records_become_dead_letters_and_bugs_stop_the_application() -> None:
    with TopologyTestDriver(dead_letters.build(), dead_letters.CONFIG) as run:
        measurements = run.create_input_topic("measurements")
        measurements.pipe_input("a", '{"distance": 10, "time": 2}')
        measurements.pipe_input("b", "not JSON")
        measurements.pipe_input("c", '{"distance": 10, "time": 0}')
        assert written(run, "speeds", DOUBLE) == [("a", 5.0)]
        unreadable, divided = run.create_output_topic("dead-letters")
        assert (unreadable.key, unreadable.value) == ("b", "not JSON")
        assert divided.headers.last("__streams.errors.exception") == b"builtins.ZeroDivisionError"
        assert divided.headers.last("__streams.errors.offset") == b"2"
        with pytest.raises(errors.StreamsError, match="distance"):
            measurements.pipe_input("d", "{}")


# State


def test_stores_answer_questions(driver: Run) -> None:
    run = driver(interactive_query.build())
    words = run.create_input_topic("words", start=0, auto_advance=MINUTE)
    words.pipe_value_list(["kafka", "streams", "kafka"])
    counts, per_minute = run.store("word-counts"), run.store("words-per-minute")
    assert query.execute(counts, query.KeyQuery("kafka")).result == 2
    assert list(query.execute(counts, query.RangeQuery("l", "z")).result) == [("streams", 1)]
    windows = query.execute(per_minute, query.WindowKeyQuery("kafka", 0, 2 * MINUTE)).result
    assert [(start, found.value) for start, found in windows] == [(0, 1), (2 * MINUTE, 1)]
    wrong = query.execute(counts, query.WindowKeyQuery("kafka", 0, MINUTE))
    assert wrong.failure_reason is FailureReason.UNKNOWN_QUERY_TYPE


def test_tunes_the_database_of_each_store(driver: Run, tmp_path: Path) -> None:
    run = driver(rocksdb_tuning.build(), {**rocksdb_tuning.CONFIG, "state.dir": str(tmp_path)})
    run.create_input_topic("events").pipe_key_value_list([("anna", "click"), ("anna", "click")])
    assert written(run, "totals", LONG) == [("anna", 1), ("anna", 2)]
    options = next(tmp_path.rglob("OPTIONS-*")).read_text()
    assert f"write_buffer_size={64 * 1024 * 1024}\n" in options
    assert "block_size=16384\n" in options


def test_stores_are_logged_as_they_were_told(driver: Run) -> None:
    topology = store_options.build()
    run = driver(topology, {"application.id": "options"})
    run.create_input_topic("events").pipe_input("anna", "click")
    assert [run.store(name).persistent for name in ("on-disk", "in-memory")] == [True, False]
    internal = topology.configured({"application.id": "options"}).internal_topics()
    changelogs = {topic.store: topic.config for topic in internal}
    assert set(changelogs) == {"on-disk", "in-memory", "kept-well"}
    assert all(config["cleanup.policy"] == "compact" for config in changelogs.values())
    assert changelogs["kept-well"]["retention.ms"] == "604800000"
    assert run.changelog("not-logged") == []


def test_goes_on_counting_after_a_restore(driver: Run) -> None:
    before, after = (driver(restore.build(), restore.CONFIG) for _ in range(2))
    before.create_input_topic("visits").pipe_key_value_list([("anna", "hello"), ("ben", "hello"), ("anna", "hello")])
    assert after.restore("visit-counts", before.changelog("visit-counts")) == 3
    after.create_input_topic("visits").pipe_input("anna", "hello again")
    assert written(after, "totals", LONG) == [("anna", 3)]


# Looking inside


def test_describes_the_nodes_by_the_names_they_were_given() -> None:
    text = str(inspect_topology.build().describe())
    assert text.count("Sub-topology:") == 2
    assert "Processor: count (stores: [transactions-per-country])" in text
    assert "Source: by-country-repartition-source (topics: [by-country-repartition])" in text
    assert inspect_topology.build().to_mermaid().startswith("flowchart")


def test_counts_processed_and_dropped_records(driver: Run) -> None:
    run = driver(metrics_report.build(), metrics_report.CONFIG)
    run.create_input_topic("readings", value_serde=LONG).pipe_key_value_list([("a", 1), ("a", -1), (None, 3)])
    totals = {
        (metric.name, dict(metric.tags).get("processor-node-id")): value for metric, value in run.metrics().items()
    }
    assert totals["process-total", "readings"] == 3
    assert totals["dropped-records-total", None] == 1


# As scripts


SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("script", SCRIPTS)
def test_runs_as_a_script(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Traceback" not in done.stderr


def test_every_example_is_in_the_readme() -> None:
    readme = (EXAMPLES / "README.md").read_text()
    assert [script for script in SCRIPTS if f"({script})" not in readme] == []
