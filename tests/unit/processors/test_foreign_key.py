"""The steps of a foreign-key join."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import serde
from headrace.partitioning import murmur3_128
from headrace.processors.foreign_key_receive import ForeignKeyReceive
from headrace.processors.foreign_key_resolver import ForeignKeyResolve
from headrace.processors.foreign_key_send import ForeignKeySend
from headrace.processors.foreign_key_subscription_join import ForeignKeySubscriptionJoin
from headrace.processors.foreign_key_table_join import ForeignKeyTableJoin
from headrace.processors.materialized import rows_in_store
from headrace.records import Record
from headrace.serde.foreign_key import CombinedKey, CombinedKeySchema, Instruction, Response, Subscription
from tests.unit.processors.table_fakes import FakeContext, FakeStore, change, row, started, store_named

SCHEMA = CombinedKeySchema("topic", serde.string(), None)
FORGET = Instruction.DELETE_KEY_NO_PROPAGATE
FORGET_AND_ANSWER = Instruction.DELETE_KEY_AND_PROPAGATE
ANSWER_ALWAYS = Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE
ANSWER_IF_FOUND = Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE


def first_letter(value: str) -> str | None:
    return None if value[0] == "-" else value[0]


@pytest.mark.parametrize(
    ("left_join", "new", "old", "expected", "drops"),
    [
        (False, "x1", None, [("x", ANSWER_IF_FOUND)], 0),
        (False, "x2", "x1", [("x", ANSWER_IF_FOUND)], 0),
        (False, "y2", "x1", [("x", FORGET), ("y", ANSWER_ALWAYS)], 0),
        (False, "-2", "x1", [("x", FORGET_AND_ANSWER)], 1),
        (False, "x2", "-1", [("x", ANSWER_IF_FOUND)], 0),
        (False, "-2", None, [], 1),
        (False, None, "x1", [("x", FORGET_AND_ANSWER)], 0),
        (False, None, None, [], 0),
        (True, "x1", None, [("x", ANSWER_ALWAYS)], 0),
        (True, "x2", "x1", [("x", ANSWER_ALWAYS)], 0),
        (True, "y2", "x1", [("x", FORGET), ("y", ANSWER_ALWAYS)], 0),
        (True, "-2", "x1", [("x", FORGET), (None, ANSWER_ALWAYS)], 0),
        (True, None, "x1", [("x", FORGET), (None, ANSWER_ALWAYS)], 0),
        (True, None, None, [], 0),
    ],
)
def test_a_change_moves_the_subscription_with_the_foreign_key(
    left_join: bool, new: Any, old: Any, expected: Any, drops: int
) -> None:
    context = FakeContext()
    send = ForeignKeySend(first_letter, False, "topic", None, None, left_join)
    started(send, context).process(change("k", new, old))
    assert [(sent.key, sent.value.instruction) for sent in context.forwarded] == expected
    assert len(context.dropped) == drops


def test_a_subscription_carries_the_hash_of_the_value_and_the_partition_that_asks() -> None:
    context = FakeContext()
    send = ForeignKeySend(lambda key, value: key + value[0], True, "topic", None, None, False)
    started(send, context).process(change("k", "x1", timestamp=4))
    assert context.forwarded == [Record("kx", Subscription(murmur3_128(b"x1"), ANSWER_IF_FOUND, "k", 3), 4)]


def test_late_rows_of_versioned_tables_do_not_subscribe() -> None:
    context = FakeContext()
    send = ForeignKeySend(first_letter, False, "topic", None, None, False)
    send.use_versioned_semantics = True
    started(send, context).process(change("k", "x1", latest=False))
    assert (context.forwarded, len(context.dropped)) == ([], 1)


def subscription(instruction: Instruction, key: str = "k") -> Subscription:
    return Subscription(b"h" * 16, instruction, key, 0)


def test_subscriptions_are_kept_until_they_are_given_up() -> None:
    context = FakeContext(s=FakeStore())
    processor = started(ForeignKeyReceive(store_named("s"), SCHEMA), context)
    processor.process(Record("x", subscription(ANSWER_IF_FOUND), 5))
    assert context.stores["s"].rows == {b"\0\0\0\1xk": row(subscription(ANSWER_IF_FOUND), 5)}
    processor.process(Record("x", subscription(FORGET), 6))
    assert context.stores["s"].rows == {}
    assert [sent.key for sent in context.forwarded] == [CombinedKey("x", "k")] * 2


def test_a_subscription_without_a_foreign_key_is_passed_on_but_not_kept() -> None:
    context = FakeContext(s=FakeStore())
    processor = started(ForeignKeyReceive(store_named("s"), SCHEMA), context)
    processor.process(Record(None, subscription(ANSWER_ALWAYS), 5))
    processor.process(Record(None, subscription(ANSWER_IF_FOUND), 5))
    assert [sent.key for sent in context.forwarded] == [CombinedKey(None, "k")]
    assert (context.stores["s"].rows, len(context.dropped)) == ({}, 1)


@pytest.mark.parametrize(
    ("foreign_key", "instruction", "expected"),
    [
        ("x", ANSWER_IF_FOUND, [("X", 9)]),
        ("y", ANSWER_IF_FOUND, []),
        ("x", ANSWER_ALWAYS, [("X", 9)]),
        ("y", ANSWER_ALWAYS, [(None, 5)]),
        (None, ANSWER_ALWAYS, [(None, 5)]),
        ("x", FORGET_AND_ANSWER, [(None, 9)]),
        ("x", FORGET, []),
    ],
)
def test_a_subscription_is_answered_as_it_asks(foreign_key: Any, instruction: Instruction, expected: Any) -> None:
    context = FakeContext(right=FakeStore())
    context.stores["right"].put("x", row("X", 9))
    processor = started(ForeignKeySubscriptionJoin(rows_in_store("right")), context)
    processor.process(Record(CombinedKey(foreign_key, "k"), subscription(instruction), 5))
    assert [(sent.value.foreign_value, sent.timestamp) for sent in context.forwarded] == expected
    assert all(sent.key == "k" and sent.value.hash == b"h" * 16 for sent in context.forwarded)


def test_a_change_of_the_right_row_goes_to_its_subscribers_only() -> None:
    context = FakeContext(s=FakeStore())
    for foreign_key, key in (("x", "b"), ("x", "a"), ("xx", "c")):
        data = SCHEMA.resolved(context.config).to_bytes(CombinedKey(foreign_key, key))
        context.stores["s"].put(data, row(subscription(ANSWER_IF_FOUND, key), 1))
    started(ForeignKeyTableJoin(store_named("s"), SCHEMA), context).process(change("x", "X", timestamp=8))
    assert context.forwarded == [Record(key, Response(b"h" * 16, "X", 0), 8) for key in ("a", "b")]


@pytest.mark.parametrize(
    ("left_join", "left", "right", "expected"),
    [
        (False, "x1", "X", "x1X"),
        (False, "x1", None, None),
        (True, "x1", None, "x1None"),
        (True, None, None, None),
    ],
)
def test_a_response_is_joined_with_the_row_that_asked(
    left_join: bool, left: str | None, right: str | None, expected: Any
) -> None:
    context = FakeContext(left=FakeStore())
    if left is not None:
        context.stores["left"].put("k", row(left, 1))
    resolve = ForeignKeyResolve(rows_in_store("left"), None, "topic", lambda one, other: f"{one}{other}", left_join)
    hashed = None if left is None else murmur3_128(left.encode())
    started(resolve, context).process(Record("k", Response(hashed, right), 6))
    assert context.forwarded == [Record("k", expected, 6)]


def test_a_stale_response_is_dropped() -> None:
    context = FakeContext(left=FakeStore())
    context.stores["left"].put("k", row("x2", 1))
    resolve = ForeignKeyResolve(rows_in_store("left"), None, "topic", lambda one, other: one, False)
    started(resolve, context).process(Record("k", Response(murmur3_128(b"x1"), "X"), 6))
    assert (context.forwarded, len(context.dropped)) == ([], 1)
