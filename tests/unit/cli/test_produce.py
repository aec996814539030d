from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from headrace import serdes
from headrace.broker.port import Broker
from headrace.cli.record_lines import batches
from headrace.records import RawRecord
from tests.unit.cli.conftest import Headrace


@pytest.fixture(autouse=True)
def topic(headrace: Headrace) -> None:
    headrace("topics", "create", "lines", "-p", "2")


def written(broker: Broker) -> list[RawRecord]:
    return [record for part in (0, 1) for batch in broker.read("lines", part, 0) for record in batch]


def pairs(broker: Broker) -> set[tuple[bytes | None, bytes | None]]:
    return {(record[4], record[5]) for record in written(broker)}


def test_a_line_is_a_value(headrace: Headrace, broker: Broker) -> None:
    ran = headrace("produce", "lines", input="one\ntwo words\n\nlast without end")

    assert pairs(broker) == {(None, b"one"), (None, b"two words"), (None, b""), (None, b"last without end")}
    assert (ran.out, ran.err) == ("", "appended 4 records to lines\n")
    assert headrace("produce", "lines", "--quiet", input="x").err == ""


def test_a_delimiter_splits_key_and_value(headrace: Headrace, broker: Broker) -> None:
    headrace("produce", "lines", "-K", r"\t", input="a\t1\t2\nno key\n\tempty\n")

    assert pairs(broker) == {(b"a", b"1\t2"), (None, b"no key"), (b"", b"empty")}


def test_z_turns_empty_into_null(headrace: Headrace, broker: Broker) -> None:
    headrace("produce", "lines", "-K", ":", "-Z", input="gone:\n:value\n")

    assert pairs(broker) == {(b"gone", None), (None, b"value")}


def test_key_headers_partition_and_time_can_be_given(headrace: Headrace, broker: Broker) -> None:
    headrace(
        "produce", "lines", "-k", "k", "-H", "trace=a=b", "-H", "seen", "-H", "trace=c", "-p", "1",
        "--timestamp", "1970-01-01T00:00:01Z", input="v",
    )  # fmt: skip

    ((_, partition, offset, timestamp, key, value, headers),) = written(broker)
    assert (partition, offset, timestamp, key, value) == (1, 0, 1000, b"k", b"v")
    assert headers == [("trace", b"a=b"), ("seen", None), ("trace", b"c")]


def test_files_are_read_one_after_the_other(headrace: Headrace, broker: Broker) -> None:
    Path("a.txt").write_text("1\n2\n")
    Path("b.txt").write_text("3")

    headrace("produce", "lines", "a.txt", "-", "b.txt", "-p", "0", input="stdin\n")

    assert [record[5] for record in written(broker)] == [b"1", b"2", b"stdin", b"3"]


@pytest.mark.parametrize(
    ("serde", "text", "data"),
    [
        ("string", "grün", "grün".encode()),
        ("bytes", b"\xff\x00", b"\xff\x00"),
        ("base64", "/wA=", b"\xff\x00"),
        ("hex", "ff00", b"\xff\x00"),
        ("long", "-2", serdes.long().serialize("", -2)),
        ("integer", "7", serdes.integer().serialize("", 7)),
        ("short", "7", serdes.short().serialize("", 7)),
        ("double", "0.5", serdes.double().serialize("", 0.5)),
        ("float", "0.5", serdes.float().serialize("", 0.5)),
        ("boolean", "True", b"\x01"),
        ("json", '{"a": [1, null]}', b'{"a":[1,null]}'),
        ("uuid", "00000000-0000-0000-0000-000000000001", b"00000000-0000-0000-0000-000000000001"),
        ("void", "", None),
        ("list:string", '["to", "be"]', serdes.list(serdes.string()).serialize("", ["to", "be"])),
        ("avro:page.avsc", '{"page": "home"}', b"\x08home"),
    ],
)
def test_values_are_written_by_their_serde(
    headrace: Headrace, broker: Broker, serde: str, text: str | bytes, data: bytes | None
) -> None:
    Path("page.avsc").write_text('{"type": "record", "name": "V", "fields": [{"name": "page", "type": "string"}]}')
    line = (text if isinstance(text, bytes) else text.encode()) + b"\n"

    headrace("produce", "lines", "--value-serde", serde, input=line)
    headrace("produce", "lines", "--key-serde", serde, "-K", "::", input=line.replace(b"\n", b"::v\n"))

    assert pairs(broker) == {(None, data), (data, b"v")}


def test_json_lines_hold_whole_records(headrace: Headrace, broker: Broker) -> None:
    lines = [
        {"key": "a", "value": "1", "timestamp": 5, "headers": {"x": "y"}, "partition": 1},
        {"value": None, "headers": [["n", "1"], ["n", None], ["raw", {"base64": "/w=="}]], "partition": 1},
        {"topic": "other", "offset": 9, "key": "b", "partition": 1},
    ]

    headrace("produce", "lines", "--json", "-H", "all=1", input="\n".join(map(json.dumps, lines)))

    found = written(broker)
    assert [record[4:6] for record in found] == [(b"a", b"1"), (None, None), (b"b", None)]
    assert found[0][3] == 5
    assert found[0][6] == [("x", b"y"), ("all", b"1")]
    assert found[1][6] == [("n", b"1"), ("n", None), ("raw", b"\xff"), ("all", b"1")]


def test_json_values_go_through_their_serde(headrace: Headrace, broker: Broker) -> None:
    headrace(
        "produce",
        "lines",
        "--json",
        "--key-serde",
        "bytes",
        "--value-serde",
        "json",
        input='{"key": "/w==", "value": {"a": 1}}',
    )

    assert pairs(broker) == {(b"\xff", b'{"a":1}')}


@pytest.mark.parametrize(
    ("options", "line", "told"),
    [
        (("--value-serde", "long"), "x", "the value cannot be written: 'x' is no long"),
        (("--value-serde", "short"), "99999", "short() expected an int from -32768 to 32767"),
        (("--value-serde", "boolean"), "yes", "it is neither true nor false"),
        (("--value-serde", "hex"), "f", "'f' is no hex"),
        (("--value-serde", "void"), "x", "it is not empty"),
        (("--value-serde", "windowed:string:5"), "x", "windowed keys can be read, not written"),
        (("--key-serde", "long", "-K", ":"), "x:1", "the key cannot be written: 'x' is no long"),
        (("--value-serde", "json"), "{", "'{' is no json"),
        ((), b"\xff", "is no string"),
        (("--json",), "x", "this is no JSON"),
        (("--json",), "[1]", "this is no JSON object"),
        (("--json",), '{"vlaue": 1}', "Did you mean 'value'?"),
        (("--json",), '{"value": {"a": 1}}', "Choose the --value-serde that fits, for instance json."),
        (("--json",), '{"timestamp": "now"}', "the timestamp must be a whole number"),
        (("--json",), '{"partition": -1}', "the partition must be a whole number"),
        (("--json",), '{"headers": 3}', "the headers cannot be 3"),
        (("--json",), '{"headers": {"a": {"base64": "?"}}}', "is no base64"),
        (("--json", "--value-serde", "uuid"), '{"value": 3}', "3 is no uuid"),
    ],
)
def test_a_line_that_is_no_record_is_named(
    headrace: Headrace, broker: Broker, options: tuple[str, ...], line: str | bytes, told: str
) -> None:
    good = b"" if "--json" not in options else b"{}\n{}\n"
    bad = line if isinstance(line, bytes) else line.encode()

    error = headrace.fails("produce", "lines", *options, input=good + bad + b"\nafter\n", code=5)

    parts = json.loads(error) if good else {"text": error}
    assert told in " ".join(map(str, parts.values()))
    assert f"records appended before it: {2 if good else 0}" in error
    assert f"line {3 if good else 1}" in error
    assert len(written(broker)) == (2 if good else 0)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("nope",), 3, "Create it first: headrace topics create nope --broker "),
        (("line",), 3, "Did you mean 'lines'?"),
        (("lines", "missing.txt"), 3, "there is no file missing.txt"),
        (("lines", "--value-serde", "text"), 2, "unknown serde 'text'"),
        (("lines", "--value-serde", "jsn"), 2, "hint: Did you mean json? Choose one of: string"),
        (("lines", "--value-serde", "windowed:string"), 2, "how long the windows are"),
        (("lines", "--value-serde", "avro:missing.avsc"), 3, "there is no schema file missing.avsc"),
        (("lines", "-K", ""), 2, "the key delimiter is empty"),
        (("lines", "-H", "=x"), 2, "'=x' is no header"),
        (("lines", "--timestamp", "soon"), 2, "'soon' is no time"),
        (("lines", "-p", "9"), 3, "partition 9"),
    ],
)
def test_what_cannot_be_meant_is_refused(headrace: Headrace, arguments: tuple[str, ...], code: int, told: str) -> None:
    assert told in headrace.fails("produce", *arguments, input="x", code=code)


def test_long_input_comes_in_batches() -> None:
    lines = [b"%d" % number for number in range(50_000)]

    found = list(batches(io.BytesIO(b"\n".join(lines))))

    assert len(found) > 1
    assert [line for batch in found for line in batch] == lines


def test_nothing_in_nothing_out() -> None:
    assert list(batches(io.BytesIO(b""))) == []
