from __future__ import annotations

import json

import pytest

from headrace import serdes
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Broker, NewRecord, OffsetAndMetadata
from headrace.cli.record_format import RecordPrinter
from headrace.cli.text_serdes import text_serde
from headrace.records import Headers, RawRecord
from tests.unit.cli.conftest import Headrace

UUID = "00000000-0000-0000-0000-000000000001"
TIMES = (10, 30, 20, 40)


@pytest.fixture(autouse=True)
def lines(broker: Broker) -> None:
    """Two partitions, filled in turns: a@10 and c@20 in the first, b@30 and d@40 in the second."""
    broker.create_topic("lines", 2)
    broker.append(
        [
            NewRecord("lines", key.encode(), key.upper().encode(), at, Headers([("n", b"1")]), number % 2)
            for number, (key, at) in enumerate(zip("abcd", TIMES, strict=True))
        ]
    )


def values(headrace: Headrace, *options: str) -> str:
    return headrace("consume", "lines", "-f", "%v", *options).out


def test_prints_keys_and_values_by_time_and_ends(headrace: Headrace) -> None:
    assert headrace("consume", "lines").out == "a\tA\nc\tC\nb\tB\nd\tD\n"
    assert headrace("consume", "lines", "-e").out == "a\tA\nc\tC\nb\tB\nd\tD\n"


def test_a_key_is_shown_where_there_is_one(headrace: Headrace, broker: Broker) -> None:
    broker.create_topic("keys")
    broker.append([NewRecord("keys", None, b"1"), NewRecord("keys", b"k", b"2"), NewRecord("keys", b"\xff\0", b"3")])
    assert headrace("consume", "keys", "--key-serde", "long").out == "1\nk\t2\n\\xff\\x00\t3\n"


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ("beginning", "ACBD"),
        ("earliest", "ACBD"),
        ("1", "CD"),
        ("99", ""),
        ("-1", "CD"),
        ("-99", "ACBD"),
        ("@25", "BD"),
        ("s@40", "D"),
        ("@1970-01-01T00:00:00.040", "D"),
        ("1970-01-01T00:00:00.040+00:00", "D"),
        ("@-1h", ""),
    ],
)
def test_starts_where_it_is_told(headrace: Headrace, position: str, expected: str) -> None:
    assert values(headrace, "-o", position) == expected


@pytest.mark.parametrize("position", ["middle", "@soon", "1.5", "--", "@", "99999999999999999999"])
def test_a_place_that_is_none_is_refused(headrace: Headrace, position: str) -> None:
    assert "is no " in headrace.fails("consume", "lines", "-o", position, code=2)


def test_the_end_alone_prints_nothing(headrace: Headrace) -> None:
    assert values(headrace, "-o", "end", "-e") == ""


def test_a_count_ends_it(headrace: Headrace) -> None:
    assert values(headrace, "-c", "3") == "ACB"
    assert values(headrace, "--follow", "-c", "4") == "ACBD"


def test_partitions_can_be_chosen(headrace: Headrace) -> None:
    assert values(headrace, "-p", "1") == "BD"
    assert values(headrace, "-p", "1", "-p", "0") == "ACBD"
    assert "topic lines has no partition 7" in headrace.fails("consume", "lines", "-p", "7", code=3)


def test_a_format_prints_any_part(headrace: Headrace) -> None:
    ran = headrace("consume", "lines", "-c", "1", "-f", r"%t/%p@%o %k=%v %s %T [%h] %K %S 100%%\t\x21\n")

    assert ran.out == "lines/0@0 a=A A 10 [n=1] 1 1 100%\t!\n"


@pytest.mark.parametrize(("format", "told"), [("%z", "unknown %z"), ("50%", "ends with %")])
def test_a_format_that_is_none_is_refused(headrace: Headrace, format: str, told: str) -> None:
    assert told in headrace.fails("consume", "lines", "-f", format, code=2)


def test_keys_can_be_printed_before_values(headrace: Headrace) -> None:
    assert headrace("consume", "lines", "-c", "1", "-K", r"\t%").out == "a\t%A\n"


def test_null_is_empty_or_said(headrace: Headrace, broker: Broker) -> None:
    broker.append([NewRecord("lines", None, None, 50, Headers([("n", None)]), 0)])

    assert headrace("consume", "lines", "-o", "2", "-f", "%k|%v|%h|%K|%S").out == "||n=|-1|-1"
    assert headrace("consume", "lines", "-o", "2", "-Z", "-f", "%k|%v|%h").out == "NULL|NULL|n=NULL"
    (record,) = headrace("consume", "lines", "-o", "2", "--json").records
    assert (record["key"], record["value"], record["headers"]) == (None, None, [["n", None]])


def test_json_shows_whole_records(headrace: Headrace) -> None:
    first, *_ = headrace("consume", "lines", "--json").records

    assert first == {
        "topic": "lines",
        "partition": 0,
        "offset": 0,
        "timestamp": 10,
        "key": "a",
        "value": "A",
        "headers": [["n", "1"]],
    }


def test_what_json_prints_can_be_produced_again(headrace: Headrace, broker: Broker) -> None:
    broker.append([NewRecord("lines", None, b"\xff", 50, Headers([("raw", b"\xff")]), 0)])
    serde = ("--json", "--value-serde", "bytes")
    headrace("topics", "create", "copy", "-p", "2")

    headrace("produce", "copy", *serde, input=headrace("consume", "lines", *serde).out)

    for part in (0, 1):
        (copied,), (original,) = broker.read("copy", part, 0), broker.read("lines", part, 0)
        assert [record[1:] for record in copied] == [record[1:] for record in original]


@pytest.mark.parametrize(
    ("serde", "data", "text", "plain"),
    [
        ("string", b"x", "x", "x"),
        ("long", serdes.long().serialize("", 5), "5", 5),
        ("double", serdes.double().serialize("", 0.5), "0.5", 0.5),
        ("boolean", b"\x01", "true", True),
        ("json", b'"x"', '"x"', "x"),
        ("json", b'{"a":[1,"\xc3\xbc"]}', '{"a":[1,"ü"]}', {"a": [1, "ü"]}),
        ("hex", b"\xff", "ff", "ff"),
        ("base64", b"\xff", "/w==", "/w=="),
        ("bytes", b"hi", "hi", "aGk="),
        ("uuid", UUID.encode(), UUID, UUID),
        ("list:string", serdes.list(serdes.string()).serialize("", ["a"]), '["a"]', ["a"]),
        (
            "windowed:string:10",
            b"k" + (serdes.long().serialize("", 20) or b""),
            "[k@20/30]",
            {"key": "k", "start": 20, "end": 30},
        ),
        (
            "session_windowed:string",
            b"k" + (serdes.long().serialize("", 30) or b"") + (serdes.long().serialize("", 20) or b""),
            "[k@20/30]",
            {"key": "k", "start": 20, "end": 30},
        ),
    ],
)
def test_values_are_read_by_their_serde(
    headrace: Headrace, broker: Broker, serde: str, data: bytes, text: str, plain: object
) -> None:
    broker.create_topic("values")
    broker.append([NewRecord("values", data, data)])
    options = ("--key-serde", serde, "--value-serde", serde)

    assert headrace("consume", "values", *options, "-f", "%k|%v").out == f"{text}|{text}"
    (record,) = headrace("consume", "values", *options, "--json").records
    assert record["key"] == record["value"] == plain


def test_bytes_that_are_no_value_are_named_by_their_place(headrace: Headrace) -> None:
    told = headrace.fails("consume", "lines", "--value-serde", "long", code=5)

    assert told == (
        "error: the value cannot be read: long() expected 8 bytes, found 1\n"
        "  detail: bytes b'A'\n"
        "  hint: Choose the --value-serde it was written with; --value-serde bytes reads everything.\n"
        "  at: lines-0@0\n"
    )


def test_what_is_not_printed_is_not_read(headrace: Headrace) -> None:
    assert values(headrace, "--key-serde", "long") == "ACBD"


def test_records_before_a_bad_one_are_printed(headrace: Headrace, broker: Broker) -> None:
    broker.create_topic("mixed")
    broker.append([NewRecord("mixed", None, b"1"), NewRecord("mixed", None, b"{")])

    ran = headrace.runs("consume", "mixed", "--value-serde", "json", "-G", "g")
    assert (ran.code, ran.out) == (5, "1\n")
    assert broker.committed("g") == {("mixed", 0): OffsetAndMetadata(1)}


def test_a_group_goes_on_where_it_stopped(headrace: Headrace, broker: Broker) -> None:
    assert values(headrace, "--group", "g", "-c", "3") == "ACB"
    assert broker.committed("g") == {("lines", 0): OffsetAndMetadata(2), ("lines", 1): OffsetAndMetadata(1)}
    assert values(headrace, "--group", "g") == "D"
    assert values(headrace, "--group", "g") == ""
    broker.append([NewRecord("lines", None, b"E", partition=0)])
    assert values(headrace, "--group", "g") == "E"
    assert broker.lag("g") == {("lines", 0): 0, ("lines", 1): 0}


def test_a_new_group_starts_at_the_offset_given(headrace: Headrace) -> None:
    assert values(headrace, "-G", "g", "-o", "1", "-p", "0") == "C"
    assert values(headrace, "-G", "g", "-o", "beginning") == "BD"


def test_the_group_of_a_running_application_is_left_alone(headrace: Headrace, broker: Broker) -> None:
    with broker.acquire_lease("app"):
        told = headrace.fails("consume", "lines", "-G", "app", code=4)

    assert "belongs to an application that is running" in told


@pytest.mark.parametrize(
    "options", [("-e", "--follow"), ("--json", "-f", "%v"), ("--json", "-K", ":"), ("-f", "%v", "-K", ":")]
)
def test_options_that_contradict_each_other_are_refused(headrace: Headrace, options: tuple[str, ...]) -> None:
    headrace.fails("consume", "lines", *options, code=2)


def test_an_unknown_topic_is_not_found(headrace: Headrace) -> None:
    assert "Did you mean 'lines'?" in headrace.fails("consume", "line", code=3)
    told = headrace.fails("consume", "nope", code=3)
    assert "hint: headrace topics list --broker embedded:" in told
    assert "shows those there are." in told


def test_a_terminal_gets_no_control_characters() -> None:
    record: RawRecord = ("t", 0, 0, 0, b"k\x07", b"\x1b]0;owned\x07\xff", Headers([("h\x1b", b"\x1b")]))
    string = text_serde("bytes")

    printed = RecordPrinter(string, string, is_terminal=True).formatted(r"%k %v %h\n")(record)
    assert printed == b"k\\x07 \\x1b]0;owned\\x07\\xff h\\x1b=\\x1b\n"
    assert RecordPrinter(string, string).formatted("%v")(record) == b"\x1b]0;owned\x07\xff"
    shown = RecordPrinter(string, text_serde("string"), is_terminal=True).as_json(record)
    assert json.loads(shown)["value"] == "\x1b]0;owned\x07\ufffd"


def test_old_records_that_are_gone_are_passed_over(headrace: Headrace, broker: Broker) -> None:
    broker.commit_offsets("g", {("lines", 0): OffsetAndMetadata(0)})
    assert isinstance(broker, EmbeddedBroker)
    broker.delete_records({("lines", 0): 1})

    assert values(headrace, "-o", "0") == "CBD"
    assert values(headrace, "-G", "g") == "CBD"
