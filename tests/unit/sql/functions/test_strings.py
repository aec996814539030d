"""Functions of texts, masks and regular expressions."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.unit.sql.functions.calling import FAILS, Cases, answer, check, listed

FACE = "\U0001f600"
NULL: tuple[Any, ...] = (None,)


def nulls(count: int, example: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], Any]]:
    """One null in each place gives null."""
    return [((*example[:at], None, *example[at + 1 :]), None) for at in range(count)]


# Of eight characters, to mask four and to keep the other four is the same.
FIRST_FOUR_MASKED: list[Any] = [
    ((None, 1, "U", "l", "#", "*"), None),
    (("Ab1-Cd2+", 4, "U", "l", "#", "*"), "Ul#*Cd2+"),
    (("Ab1-Cd2+", 4, None, "l", "#", "*"), "Al#*Cd2+"),
    (("Ab1-Cd2+", 4, "U", None, "#", "*"), "Ub#*Cd2+"),
    (("Ab1-Cd2+", 4, "U", "l", None, "*"), "Ul1*Cd2+"),
    (("Ab1-Cd2+", 4, "U", "l", "#", None), "Ul#-Cd2+"),
    (("Ab1-Cd2+", None, "U", "l", "#", "*"), FAILS),
    (("Ab1-Cd2+", 4, "U", "l", "#", "**"), FAILS),
]
LAST_FOUR_MASKED: list[Any] = [
    ((None, 1, "U", "l", "#", "*"), None),
    (("Ab1-Cd2+", 4, "U", "l", "#", "*"), "Ab1-Ul#*"),
    (("Ab1-Cd2+", 4, None, "l", "#", "*"), "Ab1-Cl#*"),
    (("Ab1-Cd2+", 4, "U", None, "#", "*"), "Ab1-Ud#*"),
    (("Ab1-Cd2+", 4, "U", "l", None, "*"), "Ab1-Ul2*"),
    (("Ab1-Cd2+", 4, "U", "l", "#", None), "Ab1-Ul#+"),
    (("Ab1-Cd2+", None, "U", "l", "#", "*"), FAILS),
    (("Ab1-Cd2+", 4, "U", "l", "#", "**"), FAILS),
]
CASES: Cases = {
    "LCASE(STRING)": [(("ABC Ä",), "abc ä"), (("ΣΑΣ",), "σας"), (("",), ""), (NULL, None)],
    "UCASE(STRING)": [(("abc ß",), "ABC SS"), (("",), ""), (NULL, None)],
    "INITCAP(STRING)": [
        (("the QUICK  brown",), "The Quick  Brown"),
        (("  leading",), "Leading"),
        (("a-b c\td",), "A-b C\tD"),
        (("",), ""),
        (NULL, None),
    ],
    "TRIM(STRING)": [((" \t\x00a b\n ",), "a b"), (("\u2003a\u2003",), "\u2003a\u2003"), (NULL, None)],
    "LEN(STRING)": [(("abc",), 3), ((f"a{FACE}",), 3), (("",), 0), (NULL, None)],
    "CONCAT(STRING, STRING)": [(("a", "b"), "ab"), (("a", None), "a"), ((None, None), "")],
    "CONCAT_WS(STRING, STRING, STRING)": [
        ((",", "a", "b"), "a,b"),
        ((",", None, "b"), "b"),
        ((",", None, None), ""),
        (("", "a", "b"), "ab"),
        ((None, "a", "b"), None),
    ],
    "CONCAT_WS(STRING)": [((",",), FAILS)],
    "SUBSTRING(STRING, INTEGER)": [
        (("hello", 2), "ello"),
        (("hello", 0), "hello"),
        (("hello", -2), "lo"),
        (("hello", -9), "hello"),
        (("hello", 9), ""),
        ((f"a{FACE}b", 4), "b"),
        *nulls(2, ("hello", 1)),
    ],
    "SUBSTRING(STRING, INTEGER, INTEGER)": [
        (("hello", 2, 3), "ell"),
        (("hello", -3, 2), "ll"),
        (("hello", 4, 9), "lo"),
        (("hello", 2, 0), ""),
        (("hello", 2, -1), ""),
        (("hello", 1, 2**31 - 1), "hello"),
        (("hello", 2, 2**31 - 1), ""),
        ((f"a{FACE}b", 2, 2), FACE),
        *nulls(3, ("hello", 1, 1)),
    ],
    "INSTR(STRING, STRING)": [
        (("corporate floor", "or"), 2),
        (("abc", "x"), 0),
        (("", ""), 0),
        ((None, "a"), 0),
        (("a", None), 0),
    ],
    "INSTR(STRING, STRING, INTEGER)": [
        (("corporate floor", "or", 3), 5),
        (("corporate floor", "or", -3), 5),
        (("corporate floor", "or", -2), 5),
        (("corporate floor", "or", -1), 14),
        (("abc", "a", 4), 0),
        (("abc", "c", 0), 0),
        (("abc", "a", None), FAILS),
        ((None, "a", 1), 0),
        (("abc", None, 1), 0),
    ],
    "INSTR(STRING, STRING, INTEGER, INTEGER)": [
        (("corporate floor", "or", 1, 3), 14),
        (("corporate floor", "or", 1, 4), 0),
        (("corporate floor", "or", -1, 2), 5),
        (("aaaa", "aa", 1, 3), 3),
        (("abc", "a", 1, 0), 0),
        (("abc", "a", 1, None), FAILS),
        (("abc", "a", None, 1), FAILS),
        ((None, "a", 1, 1), 0),
        (("abc", None, 1, 1), 0),
    ],
    "REPLACE(STRING, STRING, STRING)": [
        (("foobar", "foo", "bar"), "barbar"),
        (("aaa", "aa", "b"), "ba"),
        (("ab", "", "-"), "-a-b-"),
        *nulls(3, ("a", "a", "b")),
    ],
    "LPAD(STRING, INTEGER, STRING)": [
        (("foo", 7, "Bar"), "BarBfoo"),
        (("foo", 2, "Bar"), "fo"),
        (("foo", 0, "Bar"), ""),
        (("foo", 4, ""), None),
        (("foo", -1, "Bar"), None),
        (("foo", 2**31 - 1, "Bar"), FAILS),
        *nulls(3, ("foo", 4, "x")),
    ],
    "RPAD(STRING, INTEGER, STRING)": [
        (("foo", 7, "Bar"), "fooBarB"),
        (("foo", 2, "Bar"), "fo"),
        (("foo", 4, ""), None),
        (("foo", -1, "Bar"), None),
        (("foo", 2**31 - 1, "Bar"), FAILS),
        *nulls(3, ("foo", 4, "x")),
    ],
    "SPLIT(STRING, STRING)": [
        (("a,b,,c,", ","), ["a", "b", "", "c", ""]),
        (("abc", ""), ["a", "b", "c"]),
        (("", ""), [""]),
        (("", ","), [""]),
        (("a.b", "."), ["a", "b"]),
        *nulls(2, ("a", ",")),
    ],
    "SPLIT_TO_MAP(STRING, STRING, STRING)": [
        (("a=1,b=2,a=3", ",", "="), {"a": "3", "b": "2"}),
        (("a=1=2,,b,=4", ",", "="), {"a": "1", "": "4"}),
        (("a=1", ",", ","), None),
        (("a=1", "", "="), None),
        (("a=1", ",", ""), None),
        (("", ",", "="), {}),
        *nulls(3, ("a=1", ",", "=")),
    ],
    "ELT(INTEGER, STRING, STRING)": [
        ((1, "a", "b"), "a"),
        ((2, "a", "b"), "b"),
        ((0, "a", "b"), None),
        ((3, "a", "b"), None),
        ((1, None, "b"), None),
        ((None, "a", "b"), FAILS),
    ],
    "FIELD(STRING, STRING, STRING)": [
        (("b", "a", "b"), 2),
        (("x", "a", "b"), 0),
        ((None, "a", None), 0),
        (("a", None, "a"), 2),
    ],
    "CHR(INTEGER)": [((75,), "K"), ((0x1F600,), FACE), ((-1,), None), ((0x110000,), None), (NULL, None)],
    "CHR(STRING)": [
        (("\\u004b",), "K"),
        (("\\ud83d\\ude00",), FACE),
        (("\\u004b\\n\\\\",), "K\n\\"),
        (("004b",), None),
        (("\\u04b",), None),
        (("\\u00zz",), FAILS),
        (NULL, None),
    ],
    "MD5(STRING)": [
        (("foo",), "acbd18db4cc2f85cedef654fccc4a4d8"),
        (("",), "d41d8cd98f00b204e9800998ecf8427e"),
        (NULL, None),
    ],
    "UUID(BYTES)": [
        ((bytes(range(16)),), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        ((b"short",), None),
        (NULL, None),
    ],
    "MASK(STRING)": [(("My Secret 123!",), "Xx-Xxxxxx-nnn-"), (("ÄäßA٣",), "XxxXn"), (("",), ""), (NULL, None)],
    "MASK(STRING, STRING, STRING, STRING, STRING)": [
        (("Ab1!", "U", "l", "#", "*"), "Ul#*"),
        (("Ab1!", None, None, None, None), "Ab1!"),
        (("Ab1!", "U", None, "#", None), "Ub#!"),
        (("Ab1!", "UU", "l", "#", "*"), FAILS),
        (("Ab1!", "", "l", "#", "*"), FAILS),
        ((None, "U", "l", "#", "*"), None),
    ],
    "MASK_LEFT(STRING, INTEGER)": [
        (("AbC12", 3), "XxX12"),
        (("Ab", 9), "Xx"),
        (("Ab", 0), "Ab"),
        (("Ab", -1), FAILS),
        ((None, 1), None),
        ((None, -1), FAILS),
        (("Ab", None), FAILS),
    ],
    "MASK_LEFT(STRING, INTEGER, STRING, STRING, STRING, STRING)": [
        (("AbC12", 4, "U", None, "#", "*"), "UbU#2"),
        *FIRST_FOUR_MASKED,
    ],
    "MASK_RIGHT(STRING, INTEGER)": [
        (("AbC12", 3), "AbXnn"),
        (("Ab", 9), "Xx"),
        (("Ab", 0), "Ab"),
        (("Ab", -1), FAILS),
        ((None, 1), None),
        (("Ab", None), FAILS),
    ],
    "MASK_RIGHT(STRING, INTEGER, STRING, STRING, STRING, STRING)": [
        (("AbC12", 4, "U", None, "#", "*"), "AbU##"),
        *LAST_FOUR_MASKED,
    ],
    "MASK_KEEP_LEFT(STRING, INTEGER)": [
        (("AbC12", 3), "AbCnn"),
        (("Ab", 9), "Ab"),
        (("Ab", 0), "Xx"),
        (("Ab", -1), FAILS),
        ((None, 1), None),
        (("Ab", None), FAILS),
    ],
    "MASK_KEEP_LEFT(STRING, INTEGER, STRING, STRING, STRING, STRING)": [
        (("AbC12", 1, "U", None, "#", "*"), "AbU##"),
        *LAST_FOUR_MASKED,
    ],
    "MASK_KEEP_RIGHT(STRING, INTEGER)": [
        (("AbC12", 3), "XxC12"),
        (("Ab", 9), "Ab"),
        (("Ab", 0), "Xx"),
        (("Ab", -1), FAILS),
        ((None, 1), None),
        (("Ab", None), FAILS),
    ],
    "MASK_KEEP_RIGHT(STRING, INTEGER, STRING, STRING, STRING, STRING)": [
        (("AbC12", 1, "U", None, "#", "*"), "UbU#2"),
        *FIRST_FOUR_MASKED,
    ],
    "REGEXP_EXTRACT(STRING, STRING)": [
        (("(.*) (.*)", "test string"), "test string"),
        (("[0-9]+", "a12b34"), "12"),
        (("x", "abc"), None),
        (("(", "abc"), FAILS),
        *nulls(2, ("a", "a")),
    ],
    "REGEXP_EXTRACT(STRING, STRING, INTEGER)": [
        (("(.*) (.*)", "test string", 2), "string"),
        (("(a)|(b)", "a", 2), None),
        (("(a)", "a", 2), None),
        (("(a)", "a", -1), FAILS),
        *nulls(3, ("a", "a", 0)),
    ],
    "REGEXP_EXTRACT_ALL(STRING, STRING)": [
        (("[0-9]+", "a12b34"), ["12", "34"]),
        (("x", "abc"), []),
        (("(", "abc"), FAILS),
        *nulls(2, ("a", "a")),
    ],
    "REGEXP_EXTRACT_ALL(STRING, STRING, INTEGER)": [
        (("(\\w)(\\d)", "a1 b2", 2), ["1", "2"]),
        (("(a)|b", "ab", 1), ["a", None]),
        (("a", "a", 1), None),
        *nulls(3, ("a", "a", 0)),
    ],
    "REGEXP_REPLACE(STRING, STRING, STRING)": [
        (("foobar", "(o+)", "<$1>"), "f<oo>bar"),
        (("foobar", "x", "y"), "foobar"),
        (("foobar", "(", "y"), FAILS),
        (("foobar", "o", "$9"), FAILS),
        *nulls(3, ("a", "a", "b")),
    ],
    "REGEXP_SPLIT_TO_ARRAY(STRING, STRING)": [
        (("a1b22c", "[0-9]+"), ["a", "b", "c"]),
        (("1a1", "1"), ["", "a", ""]),
        (("abc", ""), ["a", "b", "c"]),
        (("abc", "x"), ["abc"]),
        (("", "x"), [""]),
        (("a", "("), FAILS),
        *nulls(2, ("a", "b")),
    ],
}


@pytest.mark.parametrize(("call", "arguments", "expected"), listed(CASES))
def test_it_answers_what_java_does(call: str, arguments: tuple[Any, ...], expected: Any) -> None:
    check(call, arguments, expected)


def test_a_random_uuid_is_of_version_4_and_differs() -> None:
    found = {answer("UUID()", ()) for _ in range(10)}
    assert len(found) == 10
    assert all(
        re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", each) for each in found
    )
