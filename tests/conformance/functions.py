"""The functions that cases name: small, deterministic, the same in every language that runs the cases."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from headrace import Windowed
from headrace.records import Change

Function = dict[str, Any]
SideLog = list[list[str]]
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


class TestError(Exception):
    """What the functions raise."""

    __test__ = False


def text(x: Any) -> str:
    """``S(x)`` of the case format."""
    if x is None:
        return "null"
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, bytes):
        return x.hex()
    if isinstance(x, Windowed):
        return f"[{text(x.key)}@{x.start}/{x.end}]"
    if isinstance(x, Change):
        return f"({text(x.new)}<-{text(x.old)})"
    if isinstance(x, list):
        return "[" + ",".join(map(text, x)) + "]"
    return str(x)


def num(x: Any) -> int:
    """``num(x)`` of the case format."""
    if x is None:
        return 0
    if isinstance(x, (bool, int, float)):
        return int(x)
    t = text(x)
    return int(t) if _INTEGER.fullmatch(t) else len(t)


def field(v: Any, i: int, sep: str | None = None) -> str | None:
    """``field(v, i, sep)`` of the case format."""
    if v is None:
        return None
    pieces = text(v).split("," if sep is None else sep)
    return pieces[i] if i < len(pieces) else None


def words(v: Any) -> list[str]:
    """The non-empty words of a text."""
    return [] if v is None else [word for word in text(v).split(" ") if word]


def raise_if(v: Any, arg: Any) -> None:
    """Raise for the value that the case names."""
    if text(v) == arg:
        raise TestError("bad value: " + text(v))


def _opt(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda v: None if v is None else f(v)


def _values(spec: Function, log: SideLog) -> Callable[[Any, Any], Any]:
    arg: Any = spec.get("arg")
    sep = spec.get("sep")

    def checked(v: Any) -> Any:
        raise_if(v, arg)
        return v

    def chain(k: Any, v: Any) -> Any:
        for f in [value_function(s, log) for s in spec["fns"]]:
            v = f(k, v)
        return v

    table: dict[str, Callable[[Any, Any], Any]] = {
        "identity": lambda k, v: v,
        "append": lambda k, v: text(v) + text(arg),
        "prepend": lambda k, v: text(arg) + text(v),
        "upper": lambda k, v: _opt(lambda x: text(x).translate(_UPPER))(v),
        "lower": lambda k, v: _opt(lambda x: text(x).translate(_LOWER))(v),
        "reverse": lambda k, v: _opt(lambda x: text(x)[::-1])(v),
        "length": lambda k, v: _opt(lambda x: len(text(x)))(v),
        "parse_long": lambda k, v: _opt(num)(v),
        "to_string": lambda k, v: text(v),
        "plus": lambda k, v: num(v) + arg,
        "times": lambda k, v: num(v) * arg,
        "mod": lambda k, v: num(v) % arg,
        "half": lambda k, v: num(v) / 2.0,
        "const": lambda k, v: arg,
        "null": lambda k, v: None,
        "null_if": lambda k, v: None if text(v) == arg else v,
        "null_if_even": lambda k, v: None if num(v) % 2 == 0 else v,
        "raise_if": lambda k, v: checked(v),
        "key_value": lambda k, v: text(k) + ":" + text(v),
        "key": lambda k, v: k,
        "key_string": lambda k, v: text(k),
        "field": lambda k, v: field(v, arg, sep),
        "field_long": lambda k, v: _opt(num)(field(v, arg, sep)),
        "mask": lambda k, v: _opt(lambda x: _mask(text(x), arg))(v),
        "chain": chain,
    }
    return table[spec["fn"]]


def _mask(t: str, keep: int) -> str:
    hidden = max(0, len(t) - keep)
    return "x" * hidden + t[hidden:]


def _keys(spec: Function, log: SideLog) -> Callable[[Any, Any], Any]:
    arg: Any = spec.get("arg")
    sep = spec.get("sep")

    def checked(k: Any, v: Any) -> Any:
        raise_if(v, arg)
        return k

    table: dict[str, Callable[[Any, Any], Any]] = {
        "key": lambda k, v: k,
        "value": lambda k, v: v,
        "value_string": lambda k, v: text(v),
        "key_string": lambda k, v: text(k),
        "field": lambda k, v: field(v, arg, sep),
        "first_char": lambda k, v: None if v is None or text(v) == "" else text(v)[0],
        "value_length": lambda k, v: _opt(lambda x: len(text(x)))(v),
        "key_plus_value": lambda k, v: text(k) + text(v),
        "const": lambda k, v: arg,
        "null": lambda k, v: None,
        "null_if_value": lambda k, v: None if text(v) == arg else k,
        "inner_key": lambda k, v: k.key if isinstance(k, Windowed) else k,
        "window_start": lambda k, v: f"{text(k.key)}@{k.start}" if isinstance(k, Windowed) else text(k),
        "upper_key": lambda k, v: _opt(lambda x: text(x).translate(_UPPER))(k),
        "append_key": lambda k, v: text(k) + text(arg),
        "value_mod": lambda k, v: text(num(v) % arg),
        "value_mod_long": lambda k, v: num(v) % arg,
        "raise_if_value": checked,
    }
    return table[spec["fn"]]


def _pair(spec: Function, log: SideLog) -> Callable[[Any, Any], Any]:
    if spec["fn"] == "swap":
        return lambda k, v: (v, k)
    if spec["fn"] == "null_pair":
        return lambda k, v: None
    key, value = key_function(spec["key"], log), value_function(spec["value"], log)
    return lambda k, v: (key(k, v), value(k, v))


def _pairs(spec: Function, log: SideLog) -> Callable[[Any, Any], Any]:
    arg = spec.get("arg")
    table: dict[str, Callable[[Any, Any], Any]] = {
        "words": lambda k, v: [(k, w) for w in words(v)],
        "words_as_key": lambda k, v: [(w, v) for w in words(v)],
        "repeat": lambda k, v: [(k, f"{text(v)}#{i}") for i in range(arg or 0)],
        "both_ways": lambda k, v: [(k, v), (text(v), text(k))],
        "none": lambda k, v: [],
        "null_list": lambda k, v: None,
    }
    return table[spec["fn"]]


def _values_list(spec: Function, log: SideLog) -> Callable[[Any, Any], Any]:
    arg = spec.get("arg")
    table: dict[str, Callable[[Any, Any], Any]] = {
        "words": lambda k, v: words(v),
        "split": lambda k, v: [] if v is None else text(v).split(arg),
        "repeat": lambda k, v: [f"{text(v)}#{i}" for i in range(arg or 0)],
        "with_null": lambda k, v: [v, None],
        "key_and_value": lambda k, v: [text(k), text(v)],
        "none": lambda k, v: [],
        "null_list": lambda k, v: None,
    }
    return table[spec["fn"]]


def _predicate(spec: Function, log: SideLog) -> Callable[[Any, Any], bool]:
    arg: Any = spec.get("arg")
    sep = spec.get("sep")

    def checked(v: Any) -> bool:
        raise_if(v, arg)
        return True

    def field_gt(v: Any) -> bool:
        x = field(v, spec["field"], sep)
        return x is not None and num(x) > arg

    def negated(k: Any, v: Any) -> bool:
        return not predicate(spec["of"], log)(k, v)

    table: dict[str, Callable[[Any, Any], bool]] = {
        "true": lambda k, v: True,
        "false": lambda k, v: False,
        "value_null": lambda k, v: v is None,
        "value_not_null": lambda k, v: v is not None,
        "key_null": lambda k, v: k is None,
        "key_not_null": lambda k, v: k is not None,
        "value_eq": lambda k, v: text(v) == text(arg),
        "value_contains": lambda k, v: text(arg) in text(v),
        "value_starts_with": lambda k, v: text(v).startswith(text(arg)),
        "value_gt": lambda k, v: v is not None and num(v) > arg,
        "value_even": lambda k, v: num(v) % 2 == 0,
        "value_longer_than": lambda k, v: v is not None and len(text(v)) > arg,
        "field_gt": lambda k, v: field_gt(v),
        "field_eq": lambda k, v: text(field(v, spec["field"], sep)) == text(arg),
        "key_eq": lambda k, v: text(k) == text(arg),
        "key_in": lambda k, v: text(k) in (arg or []),
        "raise_if_value": lambda k, v: checked(v),
        "not": negated,
    }
    return table[spec["fn"]]


def _initializer(spec: Function, log: SideLog) -> Callable[[], Any]:
    if spec["fn"] == "const":
        return lambda: spec.get("arg")

    def fail() -> Any:
        raise TestError("no initial value")

    return fail


def _aggregator(spec: Function, log: SideLog) -> Callable[[Any, Any, Any], Any]:
    arg, sep = spec.get("arg"), spec.get("sep") or ""

    def checked(v: Any, agg: Any) -> str:
        raise_if(v, arg)
        return text(agg) + text(v)

    table: dict[str, Callable[[Any, Any, Any], Any]] = {
        "concat": lambda k, v, a: text(a) + sep + text(v),
        "concat_minus": lambda k, v, a: text(a) + "-" + text(v),
        "concat_unless": lambda k, v, a: None if text(v) == arg else text(a) + text(v),
        "with_key": lambda k, v, a: f"{text(a)}{text(k)}={text(v)};",
        "sum": lambda k, v, a: num(a) + num(v),
        "subtract": lambda k, v, a: num(a) - num(v),
        "sum_nonzero": lambda k, v, a: (num(a) + num(v)) or None,
        "subtract_nonzero": lambda k, v, a: (num(a) - num(v)) or None,
        "count": lambda k, v, a: num(a) + 1,
        "count_minus": lambda k, v, a: num(a) - 1,
        "max": lambda k, v, a: max(num(a), num(v)),
        "min": lambda k, v, a: min(num(a), num(v)),
        "last": lambda k, v, a: v,
        "keep": lambda k, v, a: a,
        "null": lambda k, v, a: None,
        "raise_if": lambda k, v, a: checked(v, a),
        "topn_add": lambda k, v, a: _join(sorted([*_numbers(a), num(v)], reverse=True)[: 3 if arg is None else arg]),
        "topn_remove": lambda k, v, a: _join(sorted(_without(_numbers(a), num(v)), reverse=True)),
    }
    return table[spec["fn"]]


def _numbers(agg: Any) -> list[int]:
    return [num(piece) for piece in text(agg).split(",") if piece] if agg is not None else []


def _without(numbers: list[int], n: int) -> list[int]:
    if n in numbers:
        numbers.remove(n)
    return numbers


def _join(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


def _reducer(spec: Function, log: SideLog) -> Callable[[Any, Any], Any]:
    arg, sep = spec.get("arg"), spec.get("sep") or ""

    def checked(a: Any, b: Any) -> str:
        raise_if(b, arg)
        return text(a) + text(b)

    table: dict[str, Callable[[Any, Any], Any]] = {
        "concat": lambda a, b: text(a) + sep + text(b),
        "concat_minus": lambda a, b: text(a) + "-" + text(b),
        "concat_unless": lambda a, b: None if text(b) == arg else text(a) + text(b),
        "sum": lambda a, b: num(a) + num(b),
        "subtract": lambda a, b: num(a) - num(b),
        "max": lambda a, b: max(num(a), num(b)),
        "min": lambda a, b: min(num(a), num(b)),
        "first": lambda a, b: a,
        "last": lambda a, b: b,
        "null": lambda a, b: None,
        "raise_if": checked,
    }
    return table[spec["fn"]]


def _joiner(spec: Function, log: SideLog) -> Callable[[Any, Any, Any], Any]:
    arg, sep = spec.get("arg"), "+" if spec.get("sep") is None else spec["sep"]

    def checked(left: Any, right: Any) -> str:
        raise_if(left, arg)
        return text(left) + "+" + text(right)

    table: dict[str, Callable[[Any, Any, Any], Any]] = {
        "concat": lambda k, a, b: text(a) + sep + text(b),
        "with_key": lambda k, a, b: f"{text(k)}:{text(a)}{sep}{text(b)}",
        "sum": lambda k, a, b: num(a) + num(b),
        "left": lambda k, a, b: a,
        "right": lambda k, a, b: b,
        "null_if_right": lambda k, a, b: None if text(b) == arg else text(a) + "+" + text(b),
        "null": lambda k, a, b: None,
        "raise_if": lambda k, a, b: checked(a, b),
    }
    return table[spec["fn"]]


def _merger(spec: Function, log: SideLog) -> Callable[[Any, Any, Any], Any]:
    sep = spec.get("sep") or ""
    table: dict[str, Callable[[Any, Any, Any], Any]] = {
        "concat": lambda k, a, b: text(a) + sep + text(b),
        "sum": lambda k, a, b: num(a) + num(b),
        "max": lambda k, a, b: max(num(a), num(b)),
    }
    return table[spec["fn"]]


def _logging(kind: Callable[[Function, SideLog], Callable[..., Any]]) -> Callable[[Function, SideLog], Any]:
    """The same kind of function, with ``logged`` understood."""

    def make(spec: Function, log: SideLog) -> Callable[..., Any]:
        if spec["fn"] != "logged":
            return kind(spec, log)
        inner, label = make(spec["of"], log), spec["label"]

        def logged(*arguments: Any) -> Any:
            log.append([label, *map(text, arguments)])
            return inner(*arguments)

        return logged

    return make


value_function = _logging(_values)
key_function = _logging(_keys)
pair_function = _logging(_pair)
pairs_function = _logging(_pairs)
values_function = _logging(_values_list)
predicate = _logging(_predicate)
initializer = _logging(_initializer)
aggregator = _logging(_aggregator)
reducer = _logging(_reducer)
joiner = _logging(_joiner)
merger = _logging(_merger)


def topic_extractor(spec: Function) -> Any:
    """An extractor that prints as ``name(arg)``."""
    return TopicExtractor(spec["fn"], text(spec.get("arg")))


class TopicExtractor:
    """Names the topic of a record."""

    def __init__(self, name: str, arg: str) -> None:
        self.name, self.arg = name, arg

    def __call__(self, key: Any, value: Any, context: Any) -> str:
        if self.name == "const":
            return self.arg
        if self.name == "prefix_key":
            return self.arg + text(key)
        if self.name == "prefix_first_char":
            return self.arg + (text(value)[0] if value is not None and text(value) else "none")
        if self.name == "topic_suffix":
            return f"{context.topic}{self.arg}"
        return self.arg + str(context.offset % 2)

    def __str__(self) -> str:
        return f"{self.name}({self.arg})"

    __repr__ = __str__


def partitioner(spec: Function) -> Callable[[str, Any, Any, int], Any]:
    """A partitioner: None stands for the default one."""
    arg = spec.get("arg")
    table: dict[str, Callable[[str, Any, Any, int], Any]] = {
        "const": lambda topic, key, value, n: [arg],
        "default": lambda topic, key, value, n: None,
        "none": lambda topic, key, value, n: [],
        "none_if_value": lambda topic, key, value, n: [] if text(value) == arg else [0],
    }
    return table[spec["fn"]]
