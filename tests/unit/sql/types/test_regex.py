"""Java's regular expressions. What Java finds and replaces is in the tables of ``test_java_tables``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.sql.types import regex
from headrace.sql.types.regex import PatternError, java_pattern, java_replacement


@pytest.fixture
def older_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(regex, "_HAS_ATOMIC", False)
    java_pattern.cache_clear()
    yield
    java_pattern.cache_clear()


@pytest.mark.usefixtures("older_python")
@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a++a", "aaa", "aaa"),
        ("a++b", "aaab", "x"),
        ("(?>a|ab)c", "abc", "abc"),
        ("(?>a+)b", "aab", "x"),
        ("[ab]*+c", "abc", "x"),
    ],
)
def test_possessive_quantifiers_are_rewritten_for_python_3_10(pattern: str, text: str, expected: str) -> None:
    assert java_pattern(pattern).sub("x", text) == expected


@pytest.mark.usefixtures("older_python")
def test_python_3_10_refuses_what_it_would_number_wrongly() -> None:
    with pytest.raises(PatternError, match=r"need Python 3\.11"):
        java_pattern("a++(b)")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "a group is not closed"),
        ("a)", "a group is closed that is not open at 1"),
        ("[a", "a class of characters is not closed"),
        ("[z-a]", "a range of characters is empty"),
        ("*", r"\* has nothing to repeat"),
        ("\\p{Klingon}", "the property Klingon is not known"),
        ("\\pl", "a property of characters is missing"),
        ("\\y", r"the escape \\y is not known"),
        ("\\k<1>", "a name of a group is missing"),
        ("(?q)a", "the flags q are not known"),
        ("a\\", "a backslash stands at the end"),
    ],
)
def test_what_is_no_expression_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        java_pattern(pattern)


@pytest.mark.parametrize(
    ("replacement", "message"),
    [("$", "has a \\$ without a group"), ("\\", "ends with a backslash"), ("$2", "there is no group 2")],
)
def test_what_is_no_replacement_is_refused_when_there_is_a_match(replacement: str, message: str) -> None:
    assert java_pattern("(x)").sub(java_replacement(replacement), "abc") == "abc"
    with pytest.raises(PatternError, match=message):
        java_pattern("(x)").sub(java_replacement(replacement), "x")


def test_a_million_characters_are_replaced_in_a_moment() -> None:
    assert java_pattern("[a-y&&[^b]]").sub("", "abc" * 300_000) == "b" * 300_000
