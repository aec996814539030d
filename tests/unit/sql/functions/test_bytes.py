"""Functions of bytes, encodings, URLs and distances."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.sql.functions.calling import FAILS, Cases, check, failing, listed
from tests.unit.sql.functions.test_strings import NULL, nulls

URL = "http://user@test.com:8080/a%20b/c?x=1&y=a%26b&z&x=2#frag%20ment"
HERE, THERE = (0.0, 0.0), (0.0, 90.0)
ONE, BIG = (1).to_bytes(4, "big"), (1).to_bytes(8, "big")

CASES: Cases = {
    "LEN(BYTES)": [((b"abc",), 3), ((b"",), 0), (NULL, None)],
    "CONCAT(BYTES, BYTES)": [((b"a", b"b"), b"ab"), ((b"a", None), b"a"), ((None, None), b"")],
    "CONCAT_WS(BYTES, BYTES, BYTES)": [
        ((b",", b"a", b"b"), b"a,b"),
        ((b",", None, b"b"), b"b"),
        ((None, b"a", b"b"), None),
    ],
    "CONCAT_WS(BYTES)": [((b",",), FAILS)],
    "SUBSTRING(BYTES, INTEGER)": [((b"hello", 2), b"ello"), ((b"hello", -2), b"lo"), *nulls(2, (b"a", 1))],
    "SUBSTRING(BYTES, INTEGER, INTEGER)": [
        ((b"hello", 2, 3), b"ell"),
        ((b"hello", 9, 1), b""),
        ((b"hello", 2, 2**31 - 1), b""),
        *nulls(3, (b"a", 1, 1)),
    ],
    "LPAD(BYTES, INTEGER, BYTES)": [
        ((b"a", 4, b"xy"), b"xyxa"),
        ((b"abc", 2, b"x"), b"ab"),
        ((b"a", 2, b""), None),
        ((b"a", -1, b"x"), None),
        ((b"a", 2**31 - 1, b"x"), FAILS),
        *nulls(3, (b"a", 2, b"x")),
    ],
    "RPAD(BYTES, INTEGER, BYTES)": [
        ((b"a", 4, b"xy"), b"axyx"),
        ((b"abc", 2, b"x"), b"ab"),
        ((b"a", 2, b""), None),
        ((b"a", -1, b"x"), None),
        ((b"a", 2**31 - 1, b"x"), FAILS),
        *nulls(3, (b"a", 2, b"x")),
    ],
    "SPLIT(BYTES, BYTES)": [
        ((b"a,b,", b","), [b"a", b"b", b""]),
        ((b"ab", b""), [b"a", b"b"]),
        ((b"", b","), [b""]),
        *nulls(2, (b"a", b",")),
    ],
    "FROM_BYTES(BYTES, STRING)": [
        ((b"\x01\xab", "hex"), "01AB"),
        ((b"\xc3\xa4\xff", "UTF8"), "ä�"),
        ((b"a\xff", "ascii"), "a�"),
        ((b"ab", "base64"), "YWI="),
        ((b"ab", "rot13"), FAILS),
        *nulls(2, (b"a", "hex")),
    ],
    "TO_BYTES(STRING, STRING)": [
        (("01aB", "hex"), b"\x01\xab"),
        (("01a", "hex"), FAILS),
        (("zz", "hex"), FAILS),
        (("ä", "utf8"), b"\xc3\xa4"),
        (("aä", "ascii"), b"a?"),
        (("YWI=", "base64"), b"ab"),
        (("YWI", "base64"), b"ab"),
        (("YW I", "base64"), FAILS),
        (("a", "rot13"), FAILS),
        *nulls(2, ("a", "hex")),
    ],
    "ENCODE(STRING, STRING, STRING)": [
        (("4578616d706c65", "hex", "ascii"), "Example"),
        (("0x4578", "hex", "utf8"), "Ex"),
        (("X'4578'", "hex", "utf8"), "Ex"),
        (("0x457", "hex", "base64"), "BFc="),
        (("457", "hex", "utf8"), FAILS),
        (("Ex", "utf8", "hex"), "4578"),
        (("ä", "utf8", "ascii"), "��"),
        (("ä", "ascii", "hex"), "3f"),
        (("Ex", "ASCII", "Base64"), "RXg="),
        (("Ex", "ascii", "utf8"), "Ex"),
        (("RXg=", "base64", "hex"), "4578"),
        (("RX g", "base64", "utf8"), "Ex"),
        (("a", "utf8", "utf8"), FAILS),
        (("a", "utf8", "ebcdic"), FAILS),
        *nulls(3, ("a", "utf8", "hex")),
    ],
    "INT_FROM_BYTES(BYTES)": [((ONE,), 1), ((b"\xff" * 4,), -1), ((b"123",), FAILS), (NULL, None)],
    "INT_FROM_BYTES(BYTES, STRING)": [
        ((ONE, "little_endian"), 2**24),
        ((ONE, "BIG_ENDIAN"), 1),
        ((ONE, "MIDDLE"), FAILS),
        ((ONE, None), FAILS),
        ((None, "BIG_ENDIAN"), None),
    ],
    "BIGINT_FROM_BYTES(BYTES)": [((BIG,), 1), ((ONE,), FAILS), (NULL, None)],
    "BIGINT_FROM_BYTES(BYTES, STRING)": [
        ((BIG, "LITTLE_ENDIAN"), 2**56),
        ((None, "LITTLE_ENDIAN"), None),
        ((BIG, None), FAILS),
    ],
    "DOUBLE_FROM_BYTES(BYTES)": [((b"\x40\x08" + bytes(6),), 3.0), ((ONE,), FAILS), (NULL, None)],
    "DOUBLE_FROM_BYTES(BYTES, STRING)": [
        ((bytes(6) + b"\x08\x40", "LITTLE_ENDIAN"), 3.0),
        ((None, "BIG_ENDIAN"), None),
        ((bytes(8), None), FAILS),
    ],
    "URL_EXTRACT_PROTOCOL(STRING)": [
        ((URL,), "http"),
        (("/a/b",), None),
        (("mailto:a@b.c",), "mailto"),
        (("http://a b",), FAILS),
        (NULL, None),
    ],
    "URL_EXTRACT_HOST(STRING)": [
        ((URL,), "test.com"),
        (("http://127.0.0.1/",), "127.0.0.1"),
        (("http://[::1]:80/",), "[::1]"),
        (("http://under_score/",), None),
        (("http://a:b/",), None),
        (("mailto:a@b.c",), None),
        (("http:///x",), None),
        (("http://",), FAILS),
        (("{}",), FAILS),
        (NULL, None),
    ],
    "URL_EXTRACT_PORT(STRING)": [
        ((URL,), 8080),
        (("http://a/",), None),
        (("http://a:/",), None),
        (("/a",), None),
        (NULL, None),
    ],
    "URL_EXTRACT_PATH(STRING)": [
        ((URL,), "/a b/c"),
        (("http://a",), ""),
        (("mailto:a",), None),
        (("http://a/%zz",), FAILS),
        (NULL, None),
    ],
    "URL_EXTRACT_QUERY(STRING)": [
        ((URL,), "x=1&y=a&b&z&x=2"),
        (("http://a/",), None),
        (("http://a/?",), ""),
        (NULL, None),
    ],
    "URL_EXTRACT_FRAGMENT(STRING)": [
        ((URL,), "frag ment"),
        (("http://a/",), None),
        (("http://a/#",), ""),
        (("http://a/#b#c",), FAILS),
        (NULL, None),
    ],
    "URL_EXTRACT_PARAMETER(STRING, STRING)": [
        ((URL, "x"), "1"),
        ((URL, "z"), ""),
        ((URL, "y"), "a"),
        ((URL, "q"), None),
        (("http://a/", "x"), None),
        ((None, "x"), None),
        ((URL, None), None),
    ],
    "URL_ENCODE_PARAM(STRING)": [(("a b&c=ä~*-_.",), "a+b%26c%3D%C3%A4%7E*-_."), (("",), ""), (NULL, None)],
    "URL_DECODE_PARAM(STRING)": [
        (("a+b%26c%3D%C3%A4",), "a b&c=ä"),
        (("%zz",), FAILS),
        (("100%",), FAILS),
        (("%ff",), "�"),
        (NULL, None),
    ],
    "GEO_DISTANCE(DOUBLE, DOUBLE, DOUBLE, DOUBLE)": [
        ((math.nan, 0.0, 91.0, 0.0), FAILS),
        ((0.0, math.nan, 0.0, 181.0), FAILS),
        ((math.nan, 0.0, 0.0, 0.0), math.nan),
        ((*HERE, *THERE), 10007.543398010286),
        ((0.0, 0.0, 0.0, 0.0), 0.0),
        ((91.0, 0.0, 0.0, 0.0), FAILS),
        ((0.0, -181.0, 0.0, 0.0), FAILS),
        *failing(4, (*HERE, *THERE)),
    ],
    "GEO_DISTANCE(DOUBLE, DOUBLE, DOUBLE, DOUBLE, STRING)": [
        ((*HERE, *THERE, " Miles "), 3959 * math.pi / 2),
        ((*HERE, *THERE, "KM"), 10007.543398010286),
        ((*HERE, *THERE, None), 10007.543398010286),
        ((*HERE, *THERE, "yards"), FAILS),
        *failing(4, (*HERE, *THERE, "KM")),
    ],
}


@pytest.mark.parametrize(("call", "arguments", "expected"), listed(CASES))
def test_it_answers_what_java_does(call: str, arguments: tuple[Any, ...], expected: Any) -> None:
    check(call, arguments, expected)
