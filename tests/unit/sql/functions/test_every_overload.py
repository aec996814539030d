"""Every way to call every function is tried."""

from __future__ import annotations

import pickle

import pytest

from headrace.sql.functions import builtin
from headrace.sql.functions.declare import Kind, Overload
from headrace.sql.functions.patterns import LambdaPattern
from tests.unit.sql.functions import test_bytes, test_collections, test_dates, test_json_text, test_math, test_strings
from tests.unit.sql.functions.calling import chosen

_TRIED_ELSEWHERE = {"RANDOM() -> DOUBLE", "UUID() -> STRING", "UNIX_TIMESTAMP() -> BIGINT", "UNIX_DATE() -> INTEGER"}
"""What has no fixed answer has a test of its own."""


_FAMILIES = (test_bytes, test_collections, test_dates, test_json_text, test_math, test_strings)
_CASES = [(chosen(call).overload, cases) for family in _FAMILIES for call, cases in family.CASES.items()]


def test_every_overload_of_a_scalar_function_is_tried() -> None:
    tried = {f"{overload.name}{overload.signature}" for overload, _ in _CASES} | _TRIED_ELSEWHERE
    known = {f"{each.name}{each.signature}" for each in builtin() if each.kind is Kind.SCALAR}
    assert known - tried == set()


def test_every_argument_of_a_scalar_function_was_null_once() -> None:
    nulls = {
        (overload.name, str(overload.signature), at)
        for overload, cases in _CASES
        for arguments, _ in cases
        for at, argument in enumerate(arguments)
        if argument is None
    }
    asked = {
        (overload.name, str(overload.signature), at)
        for overload, _ in _CASES
        for at, parameter in enumerate(overload.signature.parameters)
        if not parameter.is_variadic and not isinstance(parameter.pattern, LambdaPattern)
    }
    assert asked - nulls == set()


def test_every_overload_of_a_scalar_function_was_called_without_nulls() -> None:
    called = {
        (overload.name, str(overload.signature))
        for overload, cases in _CASES
        if any(None not in arguments for arguments, _ in cases)
    }
    assert {(overload.name, str(overload.signature)) for overload, _ in _CASES} - called == set()


@pytest.mark.parametrize("overload", list(builtin()), ids=lambda each: f"{each.name}{each.signature}")
def test_a_function_is_sent_to_other_processes_by_its_name(overload: Overload) -> None:
    sent = pickle.dumps(overload.body)
    assert len(sent) < 200
    assert pickle.loads(sent) is overload.body
