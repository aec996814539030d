from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace.application.resets import DEFAULT, Reset, ResetPolicy, parse_reset, reset_policy
from headrace.config import StreamsConfig
from headrace.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ("earliest", ResetPolicy(Reset.EARLIEST)),
        ("LATEST", ResetPolicy(Reset.LATEST)),
        ("none", ResetPolicy(Reset.NONE)),
        (timedelta(seconds=2), ResetPolicy(Reset.BY_DURATION, 2_000)),
        ("by_duration:PT1H30M", ResetPolicy(Reset.BY_DURATION, 5_400_000)),
        ("by_duration:P1DT0.5S", ResetPolicy(Reset.BY_DURATION, 86_400_500)),
        ("P2D", ResetPolicy(Reset.BY_DURATION, 172_800_000)),
    ],
)
def test_policies_as_users_write_them(given: Any, policy: ResetPolicy) -> None:
    assert parse_reset(given, "offset_reset") == policy


@pytest.mark.parametrize("given", ["newest", "by_duration:", "P", "PT", "P1DT", "by_duration:PT-1H", timedelta(-1), 5])
def test_what_is_no_policy_is_an_error(given: Any) -> None:
    with pytest.raises(ConfigError, match="offset_reset is"):
        parse_reset(given, "offset_reset")


@pytest.mark.parametrize(
    ("source", "settings", "policy"),
    [
        (None, {}, DEFAULT),
        (None, {"consumer.auto.offset.reset": "latest"}, ResetPolicy(Reset.LATEST)),
        (
            None,
            {"consumer.auto.offset.reset": "latest", "main.consumer.auto.offset.reset": "none"},
            ResetPolicy(Reset.NONE),
        ),
        ("earliest", {"consumer.auto.offset.reset": "latest"}, ResetPolicy(Reset.EARLIEST)),
    ],
)
def test_the_source_comes_before_the_configuration(
    source: str | None, settings: dict[str, str], policy: ResetPolicy
) -> None:
    assert reset_policy(source, StreamsConfig({"application.id": "app", **settings})) == policy


def test_policies_show_themselves() -> None:
    assert [str(DEFAULT), str(ResetPolicy(Reset.BY_DURATION, 5))] == ["earliest", "by_duration:5 ms"]
