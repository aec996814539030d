r"""Regular expressions of Java, translated into those of Python.

Where the two differ: classes of characters (unions, ``&&``, ``\\p{...}``), quoting, names of groups, a few escapes,
possessive quantifiers and atomic groups before Python 3.11. ``\\d``, ``\\w`` and ``\\s`` mean ASCII in both here.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache

_HAS_ATOMIC = sys.version_info >= (3, 11)
_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": "\\x00-\\x1f\\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": " \\t\\n\\x0b\\f\\r",
}
_JAVA: dict[str, Callable[[str], bool]] = {
    "javaLowerCase": str.islower,
    "javaUpperCase": str.isupper,
    "javaWhitespace": str.isspace,
    "javaLetter": str.isalpha,
    "javaDigit": str.isdecimal,
    "javaLetterOrDigit": lambda char: char.isalpha() or char.isdecimal(),
    "IsAlphabetic": str.isalpha,
    "IsLetter": str.isalpha,
    "IsDigit": str.isdecimal,
    "IsUppercase": str.isupper,
    "IsLowercase": str.islower,
    "IsPunctuation": lambda char: unicodedata.category(char).startswith("P"),
    "IsWhite_Space": str.isspace,
}
_SCRIPTS = {
    "Latin": "LATIN",
    "Greek": "GREEK",
    "Cyrillic": "CYRILLIC",
    "Hebrew": "HEBREW",
    "Arabic": "ARABIC",
    "Han": "CJK",
}
_LINE_END = "\\r\\n|[\\n\\x0b\\f\\r\\x85\\u2028\\u2029]"
_LINE_ENDS = "\\n\\r\\x85\\u2028\\u2029"
_SPACES = {"h": " \\t\\xa0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000", "v": "\\n\\x0b\\f\\r\\x85\\u2028\\u2029"}
_GROUPS = (("(?<=", "(?<="), ("(?<!", "(?<!"), ("(?<", "(?P<"), ("(?=", "(?="), ("(?!", "(?!"), ("(?>", ""), ("(", "("))


class PatternError(ValueError):
    """A regular expression that is none, or that cannot be translated."""


@lru_cache(maxsize=1000)
def java_pattern(pattern: str) -> re.Pattern[str]:
    r"""The compiled expression; raises ``PatternError`` if it is none.

    >>> java_pattern("[a-c&&[^b]]+").fullmatch("acca") is not None
    True
    >>> java_pattern("(?<word>\\p{Alpha}+)").match("ab1")["word"]
    'ab'
    """
    try:
        return re.compile(_Translator(pattern).translated(), re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        message = f"{pattern!r} is no regular expression: {error}"
        raise PatternError(message) from None


def java_replacement(replacement: str) -> Callable[[re.Match[str]], str]:
    """What replaces a match: ``$1`` and ``${name}`` are groups, a backslash takes the next character as it is.

    >>> java_pattern("(a)(b)").sub(java_replacement("$2$1"), "ab")
    'ba'
    """
    return lambda match: "".join(part if isinstance(part, str) else part(match) for part in _parts(replacement))


@lru_cache(maxsize=1000)
def _parts(replacement: str) -> tuple[str | Callable[[re.Match[str]], str], ...]:
    parts: list[str | Callable[[re.Match[str]], str]] = []
    at = 0
    while at < len(replacement):
        char = replacement[at]
        if char == "\\":
            if at + 1 == len(replacement):
                raise PatternError("a replacement ends with a backslash")
            parts.append(replacement[at + 1])
            at += 2
        elif char == "$":
            part, at = _group_reference(replacement, at + 1)
            parts.append(part)
        else:
            parts.append(char)
            at += 1
    return tuple(parts)


def _group_reference(replacement: str, at: int) -> tuple[Callable[[re.Match[str]], str], int]:
    named = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}").match(replacement, at)
    if named:
        name = named[1]
        return lambda match: match[name] or "", named.end()
    digits = re.compile("[0-9]+").match(replacement, at)
    if digits is None:
        message = f"the replacement {replacement!r} has a $ without a group"
        raise PatternError(message)
    return lambda match: _numbered(match, digits[0]), digits.end()


def _numbered(match: re.Match[str], digits: str) -> str:
    """The group that as many of the digits name as there are groups; the rest is text."""
    count = len(match.groups())
    end = 1
    while end < len(digits) and int(digits[: end + 1]) <= count:
        end += 1
    if int(digits[:end]) > count:
        message = f"there is no group {digits[:end]}"
        raise PatternError(message)
    return (match[int(digits[:end])] or "") + digits[end:]


class _Translator:
    """Walks along a Java expression and writes a Python one."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._flags = frozenset[str]()
        self._has_groups = False
        self._has_rewritten = False

    def translated(self) -> str:
        text = self._sequence()
        if self._at < len(self._pattern):
            raise self._fail("a group is closed that is not open")
        if self._has_groups and self._has_rewritten:
            raise self._fail("possessive quantifiers beside groups need Python 3.11")
        return text

    def _sequence(self) -> str:
        """Pieces with their quantifiers, up to the end of the group; flags that are set within hold until there."""
        outer, self._flags = self._flags, self._flags
        out: list[str] = []
        while self._at < len(self._pattern) and self._peek() != ")":
            piece = self._piece()
            quantifier, is_possessive = self._quantifier()
            if is_possessive and not _HAS_ATOMIC:
                piece, quantifier = self._atomic(piece + quantifier), ""
            out.append(piece + quantifier + ("+" if is_possessive and _HAS_ATOMIC else ""))
        self._flags = outer
        return "".join(out)

    def _peek(self, count: int = 1) -> str:
        return self._pattern[self._at : self._at + count]

    def _take(self, count: int = 1) -> str:
        taken = self._peek(count)
        self._at += count
        return taken

    def _fail(self, what: str) -> PatternError:
        message = f"{self._pattern!r} is no regular expression: {what} at {self._at}"
        return PatternError(message)

    def _piece(self) -> str:
        char = self._peek()
        if char == "[":
            self._at += 1
            return self._class().text()
        if char == "\\":
            return self._escape()
        if char == "(":
            return self._group()
        self._at += 1
        if "x" in self._flags and (char.isspace() or char == "#"):
            self._at = self._end_of_line() if char == "#" else self._at
            return ""
        if char in "{*+?":
            message = f"{char} has nothing to repeat"
            raise self._fail(message)
        if char == ".":
            # Java's dot stops at more than a line feed.
            return "(?s:.)" if "s" in self._flags else f"[^{_LINE_ENDS}]"
        if char == "$":
            end = f"\\r\\n|[{_LINE_ENDS}]"
            return f"(?={end}|\\Z)" if "m" in self._flags else f"(?=(?:{end})?\\Z)"
        return char

    def _end_of_line(self) -> int:
        end = self._pattern.find("\n", self._at)
        return len(self._pattern) if end < 0 else end

    def _quantifier(self) -> tuple[str, bool]:
        found = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})").match(self._pattern, self._at)
        if found is None:
            return "", False
        self._at = found.end()
        if self._peek() == "?":
            self._at += 1
            return found[0] + "?", False
        if self._peek() == "+":
            self._at += 1
            return found[0], True
        return found[0], False

    def _atomic(self, piece: str) -> str:
        """``(?>piece)`` for a Python that has no such groups: what a lookahead has found is not tried again."""
        self._has_rewritten = True
        name = f"_atomic{self._at}"
        return f"(?=(?P<{name}>{piece}))(?P={name})"

    def _group(self) -> str:
        flags = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])").match(self._pattern, self._at)
        if flags:
            return self._flagged(flags)
        java, python = next((java, python) for java, python in _GROUPS if self._peek(len(java)) == java)
        self._at += len(java)
        self._has_groups |= java in ("(", "(?<")
        body = self._rest_of_group()
        if java == "(?>":
            return f"(?>{body}" if _HAS_ATOMIC else self._atomic(f"(?:{body}")
        return python + body

    def _flagged(self, flags: re.Match[str]) -> str:
        self._at = flags.end()
        on, off = flags[1] or "", flags[2] or ""
        if not set(on + off) <= set("imsxudU"):
            message = f"the flags {on + off} are not known"
            raise self._fail(message)
        outer, self._flags = self._flags, (self._flags | set(on)) - set(off)
        on, off = (re.sub("[^ims]", "", letters) for letters in (on, off))
        start = f"(?{on}{'-' if off else ''}{off}:"
        # Flags without a body hold until the end of the group: in Python they make a group of their own.
        body = self._sequence() + ")" if flags[3] == ")" else self._rest_of_group()
        self._flags = outer
        return start + body

    def _rest_of_group(self) -> str:
        body = self._sequence()
        if self._take() != ")":
            raise self._fail("a group is not closed")
        return body + ")"

    def _escape(self) -> str:
        self._at += 1
        char = self._take()
        if char == "Q":
            end = self._pattern.find("\\E", self._at)
            text = self._pattern[self._at : end if end >= 0 else len(self._pattern)]
            self._at = end + 2 if end >= 0 else len(self._pattern)
            return re.escape(text)
        if char == "k":
            name = re.compile("<([a-zA-Z][a-zA-Z0-9]*)>").match(self._pattern, self._at)
            if name is None:
                raise self._fail("a name of a group is missing")
            self._at = name.end()
            return f"(?P={name[1]})"
        simple = {"z": "\\Z", "Z": "(?=(?:\\r\\n|[\\n\\r])?\\Z)", "R": f"(?:{_LINE_END})", "G": "", "X": "."}
        if char in simple:
            return simple[char]
        if char.isdigit() and char != "0":
            return f"\\{char}"
        self._at -= 1
        return self._class_escape().text()

    # Classes of characters

    def _class(self) -> _Characters:
        """What stands between brackets; the opening one is taken."""
        is_negated = self._peek() == "^"
        self._at += is_negated
        result: _Characters | None = None
        current = _Characters()
        is_first = True
        while True:
            if self._at >= len(self._pattern):
                raise self._fail("a class of characters is not closed")
            if self._peek(2) == "&&":
                self._at += 2
                result = current if result is None else result & current
                current = _Characters()
                continue
            if self._peek() == "]" and not is_first:
                self._at += 1
                break
            is_first = False
            current = current | self._class_item()
        result = current if result is None else result & current
        return ~result if is_negated else result

    def _class_item(self) -> _Characters:
        if self._peek() == "[":
            self._at += 1
            return self._class()
        first = self._class_escape(1) if self._peek() == "\\" else _Characters.of(self._take())
        if not first.single or self._peek() != "-" or self._peek(2) in ("-]", "-["):
            return first
        self._at += 1
        last = self._class_escape(1) if self._peek() == "\\" else _Characters.of(self._take())
        if not last.single or last.single < first.single:
            raise self._fail("a range of characters is empty")
        return _Characters([f"{_in_class(first.single)}-{_in_class(last.single)}"])

    def _class_escape(self, skipped: int = 0) -> _Characters:
        self._at += skipped
        char = self._take()
        if not char:
            raise self._fail("a backslash stands at the end")
        if char in "pP":
            found = self._property()
            return ~found if char == "P" else found
        if char in "hHvV":
            found = _Characters([_SPACES[char.lower()]])
            return ~found if char.isupper() else found
        if char == "s" or char == "S":
            found = _Characters([_POSIX["Space"]])
            return ~found if char == "S" else found
        if char in "dDwWbBA":
            return _Characters([f"\\{char}"])
        controls = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
        if char in controls:
            return _Characters.of(controls[char])
        code = self._code_point(char)
        if code is not None:
            return _Characters.of(chr(code))
        if char.isascii() and char.isalpha():
            message = f"the escape \\{char} is not known"
            raise self._fail(message)
        return _Characters.of(char)

    def _code_point(self, char: str) -> int | None:
        forms = {"x": r"\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2})", "u": "([0-9a-fA-F]{4})", "0": "([0-3]?[0-7]{1,2})"}
        if char == "c" and self._peek():
            return ord(self._take()) ^ 64
        found = re.compile(forms[char]).match(self._pattern, self._at) if char in forms else None
        if found is None:
            return None
        self._at = found.end()
        return int(next(filter(None, found.groups())), 8 if char == "0" else 16)

    def _property(self) -> _Characters:
        found = re.compile(r"\{(\^?)([a-zA-Z0-9_=]+)\}|([A-Z])").match(self._pattern, self._at)
        if found is None:
            raise self._fail("a property of characters is missing")
        self._at = found.end()
        return _property_characters(found[2] or found[3], self)

    def unknown_property(self, name: str) -> PatternError:
        return self._fail(f"the property {name} is not known")


class _Characters:
    """A set of characters, written as the inside of a class or as a choice of lookaheads."""

    def __init__(self, parts: list[str] | None = None, single: str = "", alternatives: list[str] | None = None) -> None:
        self.parts = parts or []
        self.single = single
        self.alternatives = alternatives or []

    @classmethod
    def of(cls, char: str) -> _Characters:
        return cls([_in_class(char)], single=char)

    def text(self) -> str:
        if not self.alternatives:
            if self.single:
                return re.escape(self.single)
            if len(self.parts) == 1 and re.fullmatch(r"\\[dDwWbBA]", self.parts[0]):
                return self.parts[0]
            return f"[{''.join(self.parts)}]" if self.parts else "(?!)"
        own = [f"[{''.join(self.parts)}]"] if self.parts else []
        return f"(?:{'|'.join(own + self.alternatives)})"

    def __or__(self, other: _Characters) -> _Characters:
        return _Characters(self.parts + other.parts, alternatives=self.alternatives + other.alternatives)

    def __and__(self, other: _Characters) -> _Characters:
        return _Characters(alternatives=[f"(?={self.text()}){other.text()}"])

    def __invert__(self) -> _Characters:
        return _Characters(alternatives=[f"(?!{self.text()})(?s:.)"])


def _in_class(char: str) -> str:
    return f"\\{char}" if char in "\\]^-[&~|" else char


def _property_characters(name: str, translator: _Translator) -> _Characters:
    if name in _POSIX:
        return _Characters([_POSIX[name]])
    if name in _JAVA:
        return _matching(name)
    short = re.sub("^(general_category=|gc=|Is)", "", name)
    if re.fullmatch("[LMNPSZC][a-z]?|LC|L1", short):
        return _matching(short)
    script = re.sub("^(script=|sc=|Is)", "", name)
    if script in _SCRIPTS:
        return _matching(f"script={script}")
    raise translator.unknown_property(name)


@lru_cache(maxsize=64)
def _matching(name: str) -> _Characters:
    """The ranges of characters that have a property."""
    if name in _JAVA:
        has = _JAVA[name]
    elif name.startswith("script="):
        prefix = _SCRIPTS[name.removeprefix("script=")]
        has = lambda char: unicodedata.name(char, "").startswith(prefix)  # noqa: E731
    else:
        categories = {"LC": ("Lu", "Ll", "Lt")}.get(name, (name,))
        has = lambda char: unicodedata.category(char).startswith(categories)  # noqa: E731
    return _Characters(_ranges(has) or ["^\\s\\S"])


def _ranges(has: Callable[[str], bool]) -> list[str]:
    ranges: list[str] = []
    start = -1
    for code in range(sys.maxunicode + 2):
        is_in = code <= sys.maxunicode and has(chr(code))
        if is_in and start < 0:
            start = code
        elif not is_in and start >= 0:
            last = f"-{_in_class(chr(code - 1))}" if code - 1 > start else ""
            ranges.append(f"{_in_class(chr(start))}{last}")
            start = -1
    return ranges
