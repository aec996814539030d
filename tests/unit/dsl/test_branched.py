"""Splitting a stream."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.kstream import KStream
from headrace.errors import ArgumentError


def anything(key: Any, value: Any) -> bool:
    return True


def source() -> KStream:
    return StreamsBuilder().stream("in")


def test_branches_are_called_by_their_number_or_name_after_the_split() -> None:
    split = source().split(name="S-")
    streams = split.branch(anything).branch(anything, name="two").branch(anything).default_branch()
    assert list(streams) == ["S-1", "S-two", "S-3", "S-0"]


def test_a_split_without_a_name_has_a_generated_one() -> None:
    streams = source().split().branch(anything).no_default_branch()
    assert list(streams) == ["KSTREAM-BRANCH-00000000011"]


def test_each_branch_draws_a_number() -> None:
    stream = source()
    branches = stream.split().branch(anything).branch(anything).no_default_branch()
    assert branches["KSTREAM-BRANCH-00000000012"].filter(anything).name == "KSTREAM-FILTER-0000000004"


def test_a_function_puts_its_result_into_the_dict_and_none_leaves_it_out() -> None:
    split = source().split(name="S-")
    streams = (
        split.branch(anything, name="f", function=lambda stream: stream.filter(anything, name="inside"))
        .branch(anything, name="gone", function=lambda stream: None)
        .no_default_branch()
    )
    assert {name: stream.name for name, stream in streams.items()} == {"S-f": "inside"}


def test_a_consumer_takes_the_stream_away() -> None:
    taken: list[KStream] = []
    streams = source().split(name="S-").branch(anything, consumer=taken.append).default_branch(consumer=taken.append)
    assert streams == {}
    assert [stream.name for stream in taken] == ["S-1", "S-0"]


def test_function_and_consumer_exclude_each_other() -> None:
    with pytest.raises(ArgumentError, match="not both"):
        source().split().branch(anything, function=lambda stream: stream, consumer=lambda stream: None)


def test_branches_keep_the_need_to_repartition() -> None:
    streams = source().select_key(anything).split(name="S-").default_branch()
    assert streams["S-0"].repartition_required
