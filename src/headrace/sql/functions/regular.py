"""Regular expressions, in Java's dialect."""

from __future__ import annotations

import re

from headrace.sql.functions.declare import scalar
from headrace.sql.types.regex import java_pattern, java_replacement


@scalar(
    "REGEXP_EXTRACT",
    "(STRING pattern, STRING text) -> STRING",
    "(STRING pattern, STRING text, INTEGER group) -> STRING",
    description="The first match, or a group of it.",
)
def extract(pattern: str | None, text: str | None, group: int | None = 0) -> str | None:
    if pattern is None or text is None or group is None:
        return None
    compiled = java_pattern(pattern)
    found = compiled.search(text)
    return None if found is None or group > compiled.groups else found[_group(group)]


@scalar(
    "REGEXP_EXTRACT_ALL",
    "(STRING pattern, STRING text) -> ARRAY<STRING>",
    "(STRING pattern, STRING text, INTEGER group) -> ARRAY<STRING>",
    description="All matches, or a group of each.",
)
def extract_all(pattern: str | None, text: str | None, group: int | None = 0) -> list[str | None] | None:
    if pattern is None or text is None or group is None:
        return None
    compiled = java_pattern(pattern)
    return None if group > compiled.groups else [found[_group(group)] for found in compiled.finditer(text)]


def _group(number: int) -> int:
    if number < 0:
        message = f"there is no group {number}"
        raise ValueError(message)
    return number


@scalar(
    "REGEXP_REPLACE",
    "(STRING text, STRING pattern, STRING replacement) -> STRING",
    description="With every match replaced; $1 is a group.",
)
def replace(text: str | None, pattern: str | None, replacement: str | None) -> str | None:
    if text is None or pattern is None or replacement is None:
        return None
    return java_pattern(pattern).sub(java_replacement(replacement), text)


@scalar(
    "REGEXP_SPLIT_TO_ARRAY", "(STRING text, STRING pattern) -> ARRAY<STRING>", description="The parts between matches."
)
def split(text: str | None, pattern: str | None) -> list[str] | None:
    if text is None or pattern is None:
        return None
    compiled = java_pattern(pattern)
    return _split_empty(compiled, text) if compiled.fullmatch("") else _parts(compiled, text)


def _parts(pattern: re.Pattern[str], text: str) -> list[str]:
    parts, at = [], 0
    for found in pattern.finditer(text):
        parts.append(text[at : found.start()])
        at = found.end()
    return [*parts, text[at:]]


def _split_empty(pattern: re.Pattern[str], text: str) -> list[str]:
    """As Java splits where a pattern matches nothing: no empty parts at the end, and none of nothing at the start."""
    parts, at = [], 0
    for found in pattern.finditer(text):
        if at == 0 and found.start() == found.end() == 0:
            continue
        parts.append(text[at : found.start()])
        at = found.end()
    if at == 0:
        return [text]
    parts.append(text[at:])
    while parts and not parts[-1]:
        parts.pop()
    return parts
