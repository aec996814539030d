"""The operators without state."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from headrace import StreamsBuilder, TopologyTestDriver
from headrace.errors import OperatorTypeError, ProcessingError, StreamsError
from headrace.processors.api import Processor
from headrace.processors.branch import Branch
from headrace.processors.filter import Filter
from headrace.processors.fixed_key import FixedKeySupplier
from headrace.processors.flat_map import FlatMap
from headrace.processors.flat_map_values import FlatMapValues
from headrace.processors.map import Map, SelectKey
from headrace.processors.map_values import MapValues, MapValuesWithKey
from headrace.processors.pass_through import PassThrough
from headrace.processors.peek import Foreach, Peek
from headrace.processors.printing import Print, key_and_value
from headrace.records import Headers, Record


class Context:
    """A context that keeps what is forwarded."""

    def __init__(self) -> None:
        self.forwarded: list[Any] = []
        self.dropped: list[str] = []

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        self.forwarded.append(record if child is None else (child, record))

    def drop(self, reason: str) -> None:
        self.dropped.append(reason)


HEADERS = Headers([("h", b"1")])


def run(supplier: Any, *pairs: tuple[Any, Any]) -> list[Any]:
    """What a new processor forwards for records at the times 0, 1, ..."""
    processor, context = supplier(), Context()
    processor.init(context)
    for time, (key, value) in enumerate(pairs):
        processor.process(Record(key, value, time, HEADERS))
    processor.close()
    return context.forwarded


def truthy(key: Any, value: Any) -> Any:
    return value


def test_filter_goes_by_the_truth_of_what_the_predicate_returns() -> None:
    assert [record.value for record in run(Filter(truthy), ("a", ""), ("a", "x"), ("a", None))] == ["x"]


def test_a_negated_filter_keeps_the_others() -> None:
    forwarded = run(Filter(truthy, negate=True), ("a", ""), ("a", "x"), ("a", None))
    assert [record.value for record in forwarded] == ["", None]


def test_filter_forwards_the_record_itself() -> None:
    record = Record("a", 1, 5)
    processor, context = Filter(truthy)(), Context()
    processor.init(context)
    processor.process(record)
    assert context.forwarded[0] is record


def test_map_keeps_time_and_headers() -> None:
    assert run(Map(lambda key, value: (value, key)), ("a", 1)) == [Record(1, "a", 0, HEADERS)]


@pytest.mark.parametrize("result", [None, 5, "ab", b"ab", {"a": 1, "b": 2}, {1, 2}, ("only",), ("one", "too", "many")])
def test_map_refuses_what_is_not_a_pair(result: Any) -> None:
    with pytest.raises(OperatorTypeError, match=r"map\(\): the function must return \(key, value\)"):
        run(Map(lambda key, value: result), ("a", 1))


def test_select_key_leaves_the_value() -> None:
    assert run(SelectKey(lambda key, value: value * 2), ("a", 4)) == [Record(8, 4, 0, HEADERS)]


def test_map_values_sees_the_value_alone() -> None:
    assert run(MapValues(lambda value: value + 1), ("a", 1)) == [Record("a", 2, 0, HEADERS)]


def test_map_values_with_key_sees_both() -> None:
    assert run(MapValuesWithKey(lambda key, value: key * value), ("a", 3)) == [Record("a", "aaa", 0, HEADERS)]


def test_flat_map_forwards_pairs_in_order_and_takes_generators() -> None:
    def mapper(key: Any, value: Any) -> Any:
        yield key, 1
        yield value, 2

    assert run(FlatMap(mapper), ("a", "b")) == [Record("a", 1, 0, HEADERS), Record("b", 2, 0, HEADERS)]


@pytest.mark.parametrize("result", [None, "ab", 7])
def test_flat_map_refuses_what_is_no_list_of_pairs(result: Any) -> None:
    with pytest.raises(OperatorTypeError, match="must return pairs, not"):
        run(FlatMap(lambda key, value: result), ("a", "b"))


def test_flat_map_takes_no_text_apart() -> None:
    with pytest.raises(OperatorTypeError, match=r"flat_map\(\): the function must return \(key, value\), not 'to'"):
        run(FlatMap(lambda key, value: value.split()), ("a", "to be"))


def test_flat_map_values_with_and_without_key() -> None:
    assert [r.value for r in run(FlatMapValues(str.split), ("a", "x y"))] == ["x", "y"]
    assert [r.value for r in run(FlatMapValues(lambda k, v: [k, v], with_key=True), ("a", "x y"))] == ["a", "x y"]


@pytest.mark.parametrize("result", [None, "to be", b"to be", 7])
def test_flat_map_values_refuses_none_and_text(result: Any) -> None:
    with pytest.raises(OperatorTypeError, match="must return values, not"):
        run(FlatMapValues(lambda value: result), ("a", "b"))


@pytest.mark.parametrize(
    ("method", "result"), [("map", "ab"), ("flat_map", "ab"), ("flat_map", ["ab"]), ("flat_map_values", "ab")]
)
def test_such_results_are_errors_with_the_operator_and_the_line_of_the_function(method: str, result: Any) -> None:
    def mapper(*_: Any) -> Any:
        return result

    builder = StreamsBuilder()
    getattr(builder.stream("in"), method)(mapper).to("out")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(ProcessingError) as caught:
        driver.create_input_topic("in").pipe_input("k", "v")
    assert f"{method}(): the function must return" in caught.value.message
    assert f"{__file__}:{mapper.__code__.co_firstlineno}" in str(caught.value.at)


def test_grouping_a_table_takes_no_text_for_a_pair() -> None:
    builder = StreamsBuilder()
    builder.table("in").group_by(lambda user, city: city).count().to_stream().to("out")
    config = {"statestore.cache.max.bytes": 0}
    with TopologyTestDriver(builder.build(), config) as driver, pytest.raises(ProcessingError, match=r"group_by\(\)"):
        driver.create_input_topic("in").pipe_input("al", "Zug")


def test_peek_forwards_and_foreach_does_not() -> None:
    seen: list[Any] = []

    def note(key: Any, value: Any) -> None:
        seen.append((key, value))

    assert run(Peek(note), ("a", 1)) == [Record("a", 1, 0, HEADERS)]
    assert run(Foreach(note), ("b", 2)) == []
    assert seen == [("a", 1), ("b", 2)]


def test_the_first_branch_that_wants_a_record_gets_it() -> None:
    branch = Branch([lambda k, v: v > 10, lambda k, v: v > 5], ["big", "middle", "small"])
    assert [name for name, _ in run(branch, ("a", 7), ("a", 20), ("a", 1))] == ["middle", "big", "small"]


def test_without_a_default_branch_the_rest_is_dropped() -> None:
    assert run(Branch([lambda k, v: v > 10], ["big"]), ("a", 7)) == []


def test_branches_added_after_the_node_count() -> None:
    branch = Branch()
    branch.predicates.append(lambda k, v: True)
    branch.children.append("all")
    assert [name for name, _ in run(branch, ("a", 7))] == ["all"]


def test_print_writes_a_line_to_the_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    run(Print("in", key_and_value), ("a", None))
    assert capsys.readouterr().out == "[in]: a, null\n"


def test_print_writes_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    run(Print("in", lambda key, value: value * 2, path), ("a", "x"), ("a", "y"))
    assert path.read_text() == "[in]: xx\n[in]: yy\n"


def test_an_operator_gives_each_task_a_processor_of_its_own() -> None:
    operator = PassThrough()
    assert operator() is not operator()
    assert operator() is not operator


def test_operators_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Filter(truthy))) == Filter(truthy)


@pytest.mark.parametrize(
    ("operator", "kind", "with_key"),
    [
        (Filter(truthy), "filter", True),
        (Filter(truthy, True), "filter_not", True),
        (Map(truthy), "map", True),
        (SelectKey(truthy), "select_key", True),
        (MapValues(str), "map_values", False),
        (MapValuesWithKey(truthy), "map_values", True),
        (FlatMapValues(str.split), "flat_map_values", False),
        (Peek(truthy), "peek", True),
        (PassThrough(), "pass", True),
    ],
)
def test_operators_say_what_a_fused_loop_would_have_to_do(operator: Any, kind: str, with_key: bool) -> None:
    assert (operator.fusible.kind, operator.fusible.with_key) == (kind, with_key)


class Upper(Processor):
    stores = ("a store builder",)

    def process(self, record: Any) -> None:
        self.context.forward(record.with_value(record.value.upper()))


class Rekey(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(record.with_key("other"))


class FromScratch(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(Record("other", 1, 2))


def test_a_fixed_key_processor_changes_values_and_what_follows_may_change_keys() -> None:
    (record,) = run(FixedKeySupplier(Upper), ("a", "x"))
    assert record == Record("a", "X", 0, HEADERS)
    assert record.with_key("b").key == "b"


@pytest.mark.parametrize("processor", [Rekey, FromScratch])
def test_a_fixed_key_processor_cannot_change_the_key(processor: type[Processor]) -> None:
    with pytest.raises(StreamsError):
        run(FixedKeySupplier(processor), ("a", "x"))


def test_a_fixed_key_supplier_brings_the_stores_of_the_users_supplier() -> None:
    assert FixedKeySupplier(Upper).stores == ("a store builder",)
