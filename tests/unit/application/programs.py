"""Small programs, built and configured: what the tests of the physical plan start from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import StreamsBuilder
from headrace.config import StreamsConfig
from headrace.topology import TopologyPlan

Program = Callable[[StreamsBuilder], Any]


def configured(program: Program, settings: dict[str, Any] | None = None) -> TopologyPlan:
    config = StreamsConfig({"application.id": "app", **(settings or {})})
    builder = StreamsBuilder()
    program(builder)
    return builder.build(config.originals).configured(config)


def first(left: Any, right: Any) -> Any:
    return left


def by_value(key: Any, value: Any) -> Any:
    return value


def word_count(b: StreamsBuilder) -> None:
    b.stream("lines").group_by(by_value, name="words").count("counts").to_stream().to("out")


def foreign_key_join(b: StreamsBuilder) -> None:
    orders, users = b.table("orders", store="orders"), b.table("users", store="users")
    orders.join(users, first, foreign_key=lambda order: order, name="fk").to_stream().to("out")


def stream_table_join(b: StreamsBuilder) -> None:
    b.stream("clicks").join(b.table("users", store="users"), first).to("out")
