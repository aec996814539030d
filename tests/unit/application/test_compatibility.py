from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest

from headrace import StreamsBuilder, serdes
from headrace.application.compatibility import Effect, Upgrade, compare
from headrace.application.fingerprint import Fingerprint, fingerprint
from headrace.application.topics import plan_topics
from headrace.errors import UpgradeError
from headrace.processors.api import Processor
from headrace.state import stores
from headrace.topology import Topology, TopologyPlan
from headrace.windows import TimeWindows
from tests.unit.application.programs import Program, by_value, configured, first, foreign_key_join, word_count
from tests.unit.topology.builders import FakeBuilder

TOPICS = {"lines": 2, "other": 2, "orders": 2, "users": 2, "rates": 2, "prices": 2}


def print_of(program: Program | TopologyPlan, topics: dict[str, int] | None = None, **settings: Any) -> Fingerprint:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    topology = program if isinstance(program, TopologyPlan) else configured(program, named)
    return fingerprint(topology, plan_topics(topology, {**TOPICS, **(topics or {})}, "h:1"))


def effects(upgrade: Upgrade) -> dict[str, Effect]:
    return {change.subject: change.effect for change in upgrade.changes}


def windowed(size: int, *, retention: int | None = None, logging: bool = True) -> Program:
    def program(b: StreamsBuilder) -> None:
        windows = TimeWindows(size, grace=0)
        b.stream("lines").group_by_key().windowed_by(windows).count("w", retention=retention, logging=logging)

    return program


def keyed(kind: Any) -> TopologyPlan:
    topology = Topology().add_source("in", ["lines"]).add_processor("p", Processor, "in").add_state_store(kind, "p")
    return topology.configured(configured(word_count).config)


@pytest.mark.parametrize("program", [word_count, foreign_key_join, windowed(10)])
def test_a_fingerprint_survives_being_written_down(program: Program) -> None:
    made = print_of(program)
    assert Fingerprint.from_json(made.to_json()) == made
    assert compare(made, Fingerprint.from_json(made.to_json())) == Upgrade(())


def test_a_fingerprint_says_what_state_depends_on() -> None:
    made = print_of(word_count)
    (store,) = made.stores
    assert (store.name, store.kind, store.format, store.subtopology, store.partitions) == (
        "counts", "kv", "timestamped_kv", 1, 2,
    )  # fmt: skip
    assert (store.persistent, store.changelog) == (True, "app-counts-changelog")
    assert made.repartitions == {"app-words-repartition": 2}
    assert [group.sources for group in made.subtopologies] == [("lines",), ("app-words-repartition",)]


def test_a_fingerprint_of_another_time_is_refused() -> None:
    text = json.dumps({**json.loads(print_of(word_count).to_json()), "format": 99})
    with pytest.raises(UpgradeError, match="another version of Headrace \\(format 99\\)"):
        Fingerprint.from_json(text)


def test_a_store_of_the_users_is_known_by_its_class_and_not_built() -> None:
    (store,) = print_of(keyed(FakeBuilder("s"))).stores
    assert store.kind == "tests.unit.topology.builders.FakeBuilder"


def test_a_store_that_loses_its_name_is_told_as_left_behind() -> None:
    def unnamed(b: StreamsBuilder) -> None:
        b.stream("lines").group_by(by_value, name="words").count().to_stream().to("out")

    upgrade = compare(print_of(word_count), print_of(unnamed))
    (left,) = upgrade.left
    assert left.subject == "counts"
    assert "left behind with its content (app-counts-changelog): KSTREAM-AGGREGATE-STATE-STORE-" in left.text
    assert left.hint == "To go on with it, give the store the name 'counts' again"
    assert Effect.NEW in effects(upgrade).values()


def test_a_store_whose_work_is_gone_is_not_left_behind() -> None:
    def without(b: StreamsBuilder) -> None:
        b.stream("lines").to("out")

    assert compare(print_of(word_count), print_of(without)).left == ()


def test_nothing_changed() -> None:
    upgrade = compare(print_of(word_count), print_of(word_count))
    assert (upgrade.changes, upgrade.anew) == ((), frozenset())
    upgrade.check("app", "embedded:data")


def test_new_stores_start_empty_and_old_ones_are_kept_on_disk() -> None:
    def other(b: StreamsBuilder) -> None:
        b.stream("other").group_by_key().count("sums")

    upgrade = compare(print_of(word_count), print_of(other))
    texts = {change.subject: change.text for change in upgrade.changes}
    assert set(effects(upgrade).values()) == {Effect.NOTE, Effect.NEW}
    assert upgrade.anew == {"sums"}
    assert "starts empty" in texts["sums"]
    assert "are kept" in texts["counts"]
    assert "no longer read" in texts["lines"]
    assert "reset policy" in texts["other"]
    upgrade.check("app", "embedded:data")


def test_a_subtopology_with_another_number_takes_its_stores_along() -> None:
    def shifted(b: StreamsBuilder) -> None:
        b.stream("other").to("copy")
        word_count(b)

    upgrade = compare(print_of(word_count), print_of(shifted))
    assert effects(upgrade)["counts"] is Effect.RESTORE
    assert upgrade.anew == {"counts"}
    text = "the store moves from sub-topology 1 to 2; its content is read again from app-counts-changelog"
    assert [change.text for change in upgrade.changes if change.effect is Effect.RESTORE] == [text]
    upgrade.check("app", "embedded:data")


def test_a_store_without_a_changelog_cannot_move() -> None:
    def counted(b: StreamsBuilder, store: Any = "u") -> None:
        b.stream("lines").group_by_key().count(store, logging=False)

    def shifted(b: StreamsBuilder) -> None:
        b.stream("other").to("copy")
        counted(b)

    def in_memory(b: StreamsBuilder) -> None:
        b.stream("other").to("copy")
        counted(b, stores.in_memory("u"))

    (refusal,) = compare(print_of(counted), print_of(shifted)).refusals
    assert refusal.text == "the store moves from sub-topology 0 to 1; it has no changelog, so its content cannot follow"
    assert "Add new streams and tables behind it" in (refusal.hint or "")
    # What was in memory has ended with its application.
    old = print_of(lambda b: counted(b, stores.in_memory("u")))
    assert compare(old, print_of(in_memory)).refusals == ()
    assert compare(old, print_of(in_memory)).anew == {"u"}


def test_two_subtopologies_that_become_one_take_their_stores_along() -> None:
    def apart(b: StreamsBuilder) -> None:
        b.table("orders", store="orders")
        b.table("users", store="users")

    def joined(b: StreamsBuilder) -> None:
        orders = b.table("orders", store="orders")
        orders.join(b.table("users", store="users"), first)

    assert compare(print_of(apart), print_of(joined)).anew == {"users"}


def test_a_store_of_another_kind_is_refused() -> None:
    def program(b: StreamsBuilder) -> None:
        windows = TimeWindows(10, grace=0)
        b.stream("lines").group_by(by_value, name="words").windowed_by(windows).count("counts")

    upgrade = compare(print_of(word_count), print_of(program))
    assert effects(upgrade) == {"counts": Effect.REFUSE}
    with pytest.raises(UpgradeError, match=r"^counts cannot go on .* it was a kv store") as error:
        upgrade.check("app", "embedded:data")
    assert "Give the store another name" in str(error.value)
    assert re.search(r"headrace reset \S+\.py --broker embedded:data", str(error.value))


def test_another_format_of_the_same_kind_is_filled_again_from_the_changelog() -> None:
    old, new = print_of(word_count), print_of(word_count, dsl_store_format="HEADERS")
    upgrade = compare(old, new)
    assert upgrade.rebuilt == {"counts"}
    assert "its content is read again from app-counts-changelog" in upgrade.changes[0].text
    upgrade.check("app", "embedded:data")
    plain = print_of(keyed(stores.key_value(stores.persistent("s"))))
    stamped = print_of(keyed(stores.timestamped_key_value(stores.persistent_timestamped("s"))))
    assert compare(plain, stamped).rebuilt == {"s"}


def test_another_place_is_filled_again_from_the_changelog() -> None:
    upgrade = compare(print_of(word_count), print_of(word_count, dsl_store_suppliers_class="in_memory"))
    assert upgrade.rebuilt == {"counts"}
    assert "it is kept in memory now" in upgrade.changes[0].text


def test_another_retention_is_filled_again_from_the_changelog() -> None:
    upgrade = compare(print_of(windowed(10, retention=1000)), print_of(windowed(10, retention=2000)))
    assert upgrade.rebuilt == {"w"}
    assert "its retention was 1000 ms and is 2000 ms now" in upgrade.changes[0].text


def test_without_a_changelog_there_is_nothing_to_fill_a_store_from() -> None:
    old, new = windowed(10, retention=1000, logging=False), windowed(10, retention=2000, logging=False)
    (refusal,) = compare(print_of(old), print_of(new)).refusals
    assert "it has no changelog to be filled from again" in refusal.text


def test_windows_of_another_size_are_refused() -> None:
    upgrade = compare(print_of(windowed(10, retention=1000)), print_of(windowed(20, retention=1000)))
    assert [str(change) for change in upgrade.refusals] == ["w: its windows were 10 ms long and are 20 ms long now"]


def test_another_history_is_filled_again() -> None:
    old, new = (keyed(stores.versioned_key_value(stores.versioned("v", history))) for history in (1000, 2000))
    assert compare(print_of(old), print_of(new)).rebuilt == {"v"}


def test_duplicates_or_not_is_refused() -> None:
    old, new = (
        keyed(stores.window(stores.persistent_window("w", 1000, 10, retain_duplicates=duplicates)))
        for duplicates in (False, True)
    )
    assert "keeps duplicates" in compare(print_of(old), print_of(new)).refusals[0].text


def test_another_changelog_is_refused() -> None:
    def table(b: StreamsBuilder) -> None:
        b.table("users", store="users")

    (refusal,) = compare(print_of(table), print_of(table, topology_optimization="all")).refusals
    assert refusal.text == "its changelog was app-users-changelog and is users now"
    assert "topology.optimization" in (refusal.hint or "")


def test_another_number_of_partitions_is_refused() -> None:
    upgrade = compare(print_of(word_count), print_of(word_count, {"lines": 4}))
    assert {change.subject: change.effect for change in upgrade.refusals} == {
        "counts": Effect.REFUSE,
        "app-words-repartition": Effect.REFUSE,
    }
    with pytest.raises(UpgradeError, match=r"^counts cannot go on .* it had 2 partitions") as error:
        upgrade.check("app", "embedded:data")
    assert "the repartition topic had 2 partitions and would have 4" in str(error.value)
    assert "A topic cannot have fewer partitions again" in str(error.value)


def test_a_generated_name_that_moved_on_is_refused() -> None:
    def one(b: StreamsBuilder) -> None:
        b.stream("lines").group_by_key().count()

    def two(b: StreamsBuilder) -> None:
        b.stream("lines").filter(lambda key, value: True).group_by_key().count()

    upgrade = compare(print_of(one), print_of(two))
    (refusal,) = upgrade.refusals
    assert refusal.subject == "KSTREAM-AGGREGATE-STATE-STORE-0000000001"
    assert "its generated name is KSTREAM-AGGREGATE-STATE-STORE-0000000002 now" in refusal.text
    assert "'KSTREAM-AGGREGATE-STATE-STORE-0000000001' to go on with its content" in (refusal.hint or "")


def test_a_global_store_is_read_again() -> None:
    def rates(topic: str) -> Program:
        return lambda b: b.global_table(topic, store="rates")

    upgrade = compare(print_of(rates("rates")), print_of(rates("prices")))
    assert upgrade.rebuilt == {"rates"}
    assert compare(print_of(rates("rates")), print_of(rates("rates"), {"rates": 9})).changes == ()


def test_a_global_store_cannot_become_a_store_of_tasks() -> None:
    old = print_of(lambda b: b.global_table("rates", store="rates"))
    new = print_of(lambda b: b.table("rates", store="rates"))
    assert compare(old, new).refusals[0].text == "it was a global store and is a store of tasks now"


def test_entries_in_another_order_are_filled_again() -> None:
    made = print_of(word_count)
    (store,) = made.stores
    other = dataclasses.replace(made, stores=(dataclasses.replace(store, layout="by time"),))
    assert compare(made, other).rebuilt == {"counts"}


def unnamed(*before: str) -> Program:
    """Counts of the topics before it, then of ``lines``; no store has a name."""

    def program(b: StreamsBuilder) -> None:
        for topic in (*before, "lines"):
            b.stream(topic).group_by_key().count()

    return program


def test_a_generated_name_that_another_store_has_now_is_refused() -> None:
    """The count of ``other`` comes first now and draws the number that the count of ``lines`` had."""
    upgrade = compare(print_of(unnamed()), print_of(unnamed("other")))
    (refusal,) = upgrade.refusals
    assert refusal.subject == "KSTREAM-AGGREGATE-STATE-STORE-0000000001"
    assert "it may be another store with the same number" in refusal.text


def test_a_store_that_got_the_name_that_was_generated_goes_on() -> None:
    def named(b: StreamsBuilder) -> None:
        b.stream("other").group_by_key().count("others")
        b.stream("lines").group_by_key().count("KSTREAM-AGGREGATE-STATE-STORE-0000000001")

    upgrade = compare(print_of(unnamed()), print_of(named))
    assert upgrade.refusals == ()
    assert upgrade.anew == {"KSTREAM-AGGREGATE-STATE-STORE-0000000001", "others"}


def test_what_is_added_behind_a_store_without_a_name_does_not_matter() -> None:
    def longer(b: StreamsBuilder) -> None:
        b.stream("lines").group_by_key().count().filter(lambda key, count: count > 1).to_stream().to("out")

    assert compare(print_of(unnamed()), print_of(longer)).refusals == ()


def test_stores_that_exchanged_their_names_are_refused() -> None:
    def counts(lines: str, other: str) -> Program:
        def program(b: StreamsBuilder) -> None:
            b.stream("lines").group_by_key().count(lines)
            b.stream("other").group_by_key().count(other)

        return program

    upgrade = compare(print_of(counts("a", "b")), print_of(counts("b", "a")))
    assert {change.subject for change in upgrade.refusals} == {"a", "b"}
    assert "it is filled now by what filled b before" in upgrade.refusals[0].text


def test_other_serdes_are_refused_where_both_are_known() -> None:
    def counted(key_serde: Any) -> Program:
        return lambda b: b.stream("lines", key_serde=key_serde).group_by_key().count("c", key_serde=key_serde)

    (refusal,) = compare(print_of(counted(serdes.string())), print_of(counted(serdes.json()))).refusals
    assert refusal.text == "its keys were written with the serde string and would be read with json"
    own = serdes.of(str.encode, bytes.decode)
    assert compare(print_of(counted(serdes.string())), print_of(counted(own))).refusals == ()
    (refusal,) = compare(print_of(word_count), print_of(word_count, default_key_serde="json")).refusals
    assert "would be read with json" in refusal.text


def test_a_store_that_comes_back_has_the_content_that_it_had() -> None:
    full, less = print_of(word_count), print_of(lambda b: b.stream("lines").to("out"))
    gone = less.after(full)
    assert [store.name for store in gone.retired] == ["counts"]
    back = compare(gone, full)
    assert "with the content that it had" in {change.subject: change.text for change in back.changes}["counts"]
    assert back.anew == {"counts"}
    assert full.after(gone).retired == ()
    other_kind = print_of(
        lambda b: b.stream("lines").group_by_key().windowed_by(TimeWindows(9, grace=0)).count("counts")
    )
    assert "it was a kv store" in compare(gone, other_kind).refusals[0].text
