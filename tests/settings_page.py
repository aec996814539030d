"""Writes ``docs/reference/settings.md`` from the settings that the code has: ``python -m tests.settings_page``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headrace.settings import (
    CLIENT_SETTINGS,
    HANDED_ON,
    NOT_HERE,
    ON_KAFKA,
    REQUIRED,
    SETTINGS,
    WITHOUT_EFFECT,
    Setting,
)

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))
_HANDED_ON = {
    "consumer.": "all consumers; `main.consumer.`, `restore.consumer.` and `global.consumer.` for one kind of them",
    "producer.": "producers",
    "admin.": "the admin client",
    "topic.": "the internal topics that the application makes",
    "client.tag.": "tags of this instance",
    "spark.": "the Spark session, where Headrace makes it ([For Spark people](../guide/14-for-spark-people.md))",
    "ssl.": "encryption",
    "sasl.": "authentication",
}


def page() -> str:
    """The text of the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from (
        "# Settings",
        "",
        "Settings are a dict with Kafka's names, the same for `Streams`, `TopologyTestDriver` and the dict `config` of",
        "a program that `headrace run` finds. Values may be text, as in a file of properties, or what they stand for:",
        "`5000`, `'5000'` and `timedelta(seconds=5)` are the same time. This page is made from the code (`make docs`).",
        "",
        f"Required: {' and '.join(f'`{name}`' for name in REQUIRED)}. Everything else has a default.",
        "",
        *_table(("setting", "default", "meaning"), (_row(setting) for setting in SETTINGS.values())),
        "",
        "## Settings for others",
        "",
        "Names that begin with one of these are handed on.",
        "",
        *_table(("prefix", "goes to"), ((f"`{name}`", text) for name, text in _HANDED_ON.items())),
        "",
        "Without their prefix these would be ambiguous, so they are refused with a hint:",
        "",
        *_table(("prefix", "names"), _client_rows()),
        "",
        "## Settings of Kafka Streams that do not exist here",
        "",
        *_table(("setting", "instead"), ((f"`{name}`", text) for name, text in NOT_HERE.items())),
        "",
        "## Settings without effect",
        "",
        "They are checked and then read by nobody; when an application starts, one line of its log names those given.",
        "",
        *_table(("setting", "why"), ((f"`{name}`", text) for name, text in WITHOUT_EFFECT.items())),
        "",
        "These have an effect on Kafka, and none on the embedded broker:",
        "",
        *_table(("setting", "why"), ((f"`{name}`", text) for name, text in ON_KAFKA.items())),
        "",
        "## Settings of your own",
        "",
        "Any other name is the program's own: processors find it in `context.app_configs()`. A name that is nearly",
        "that of a setting is taken for a misspelling and refused.",
    )


def _row(setting: Setting) -> tuple[str, str, str]:
    return f"`{setting.name}`", _default(setting), setting.doc


def _default(setting: Setting) -> str:
    if setting.name in REQUIRED:
        return "required"
    value: Any = setting.default
    if value is None or value == "" or value == ():
        return "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Path):
        return f"`{str(value).replace(tempfile.gettempdir(), '/tmp', 1)}`"
    if isinstance(value, int) and setting.name.endswith((".ms", "__")):
        return _duration(value)
    if isinstance(value, int) and "bytes" in setting.name:
        return f"`{value}`" if value < 1024 else f"`{value}` ({_size(value)})"
    return f"`{value}`"


def _duration(ms: int) -> str:
    fitting = (f"`{ms}` ({ms // unit} {name})" for unit, name in _UNITS if ms >= unit and ms % unit == 0)
    return next(fitting, f"`{ms}`")


def _size(size: int) -> str:
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"


def _client_rows() -> Iterator[tuple[str, str]]:
    for prefix in dict.fromkeys(CLIENT_SETTINGS.values()):
        yield f"`{prefix}`", ", ".join(f"`{name}`" for name, needed in CLIENT_SETTINGS.items() if needed == prefix)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


assert {name for name in HANDED_ON if not name.endswith(".consumer.")} == set(_HANDED_ON), "a prefix without a text"

if __name__ == "__main__":
    PAGE.write_text(page())
