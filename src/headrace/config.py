"""The configuration of an application: a mapping with Kafka's names, checked when it is made.

The settings themselves, with defaults and ranges, are listed in ``headrace.settings``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headrace.errors import ConfigError
from headrace.serde.contract import Serde
from headrace.serde.given import configured_serde
from headrace.setting_values import is_secret, number, topology_optimizations
from headrace.settings import (
    CLIENT_SETTINGS,
    EXACTLY_ONCE_COMMIT_INTERVAL_MS,
    HANDED_ON,
    NOT_HERE,
    REQUIRED,
    SETTINGS,
)
from headrace.timestamps import EXTRACTORS, TimestampExtractor

__all__ = ["StreamsConfig", "topology_optimizations"]

_MAX_TAG_NAME, _MAX_TAG_VALUE = 20, 30
_TRANSACTION_TIMEOUT_MS = 10_000
_MAX_POLL_INTERVAL_MS = 300_000
_SESSION_TIMEOUT_MS = 45_000
_RESERVED = ("headrace.", "__")


class StreamsConfig:
    """Settings by Kafka's names. What was not given has its default; a misspelt name or a bad value is a ConfigError.

    Names that are not near any of Kafka's or ours are the program's own: processors find them in
    ``context.app_configs()``.

    What begins with ``consumer.``, ``producer.``, ``admin.``, ``topic.`` or ``spark.`` is handed on; only the
    few of them that the engine follows itself are checked. Secrets are not shown.

    >>> config = StreamsConfig({"application.id": "views", "num.stream.threads": "2"})
    >>> config["num.stream.threads"], config["commit.interval.ms"]
    (2, 30000)
    """

    __slots__ = ("_given", "max_poll_interval_ms", "originals", "session_timeout_ms")

    def __init__(self, settings: Mapping[str, Any] | StreamsConfig | None = None) -> None:
        if isinstance(settings, StreamsConfig):
            settings = settings.originals
        self.originals: dict[str, Any] = as_dict(settings or {})
        """The settings as the user gave them."""
        self._given = {
            name: SETTINGS[name].value(value) for name, value in self.originals.items() if not _is_handed_on(name)
        }
        _check_client_tags(self.with_prefix("client.tag."))
        self._check_transaction_timeout()
        self.max_poll_interval_ms = self._consumer_ms("max.poll.interval.ms", _MAX_POLL_INTERVAL_MS)
        """How long a task may take before it asks for the next record."""
        self.session_timeout_ms = self._consumer_ms("session.timeout.ms", _SESSION_TIMEOUT_MS)
        """How long a process that has tasks may give no sign of life before it counts as dead."""

    def __getitem__(self, name: str) -> Any:
        """The value of a setting or its default; what was handed on as it was given."""
        if name in self._given:
            return self._given[name]
        if name not in SETTINGS:
            if name in self.originals:
                return self.originals[name]
            if isinstance(name, str) and name.startswith(HANDED_ON):
                return None
            raise _unknown(name, _near(name))
        return self._default(name)

    def __contains__(self, name: object) -> bool:
        return name in self.originals

    def __eq__(self, other: object) -> bool:
        return self.originals == other.originals if isinstance(other, StreamsConfig) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = {name: "***" if is_secret(name) else value for name, value in self.originals.items()}
        return f"StreamsConfig({shown!r})"

    def with_settings(self, settings: Mapping[str, Any]) -> StreamsConfig:
        """A copy of the configuration with ``settings`` added or replaced.

        >>> StreamsConfig({"application.id": "views"}).with_settings({"num.stream.threads": 2}).application_id
        'views'
        """
        return StreamsConfig({**self.originals, **settings})

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """The settings that start with ``prefix``, without it.

        >>> StreamsConfig({"consumer.max.poll.records": 500}).with_prefix("consumer.")
        {'max.poll.records': 500}
        """
        return {name.removeprefix(prefix): value for name, value in self.originals.items() if name.startswith(prefix)}

    def _consumer_ms(self, name: str, default: int) -> int:
        given = self.of_main_consumer(name)
        return default if given is None else int(number(1)(*given))

    def of_main_consumer(self, name: str) -> tuple[str, Any] | None:
        """The ``(full name, value)`` of a setting of the consumer that feeds tasks; None if it is not set.

        >>> StreamsConfig({"consumer.max.poll.records": 500}).of_main_consumer("max.poll.records")
        ('consumer.max.poll.records', 500)
        """
        written = (f"{prefix}{name}" for prefix in ("main.consumer.", "consumer."))
        return next(((each, self.originals[each]) for each in written if each in self.originals), None)

    @property
    def application_id(self) -> str:
        return self["application.id"]  # type: ignore[no-any-return]

    @property
    def state_dir(self) -> Path:
        """The directory below which every application keeps its state."""
        return self["state.dir"]  # type: ignore[no-any-return]

    @property
    def application_dir(self) -> Path:
        return self.state_dir / self.application_id

    @property
    def is_exactly_once(self) -> bool:
        """Whether every record takes effect once, also after failures."""
        return self["processing.guarantee"] == "exactly_once_v2"  # type: ignore[no-any-return]

    @property
    def topology_optimizations(self) -> frozenset[str]:
        return topology_optimizations(self["topology.optimization"])

    @property
    def default_key_serde(self) -> Serde[Any]:
        """The serde of keys where none is given; an error when it was set to None."""
        return self._default_serde("default.key.serde", "key_serde", is_key=True)

    @property
    def default_value_serde(self) -> Serde[Any]:
        """The serde of values where none is given; an error when it was set to None."""
        return self._default_serde("default.value.serde", "value_serde", is_key=False)

    def default_list_inner_serde(self, *, is_key: bool) -> Serde[Any]:
        """The serde of the entries of lists whose serde does not say."""
        name = f"default.list.{'key' if is_key else 'value'}.serde.inner"
        if self[name] is None:
            message = f"list() has no inner serde and {name} is not set"
            raise ConfigError(message, hint="Give one: serdes.list(serdes.string()).")
        return configured_serde(name, self[name])

    @property
    def default_timestamp_extractor(self) -> TimestampExtractor:
        """Where records get their time from unless their source says otherwise."""
        return _extractor("default.timestamp.extractor", self["default.timestamp.extractor"])

    def _default(self, name: str) -> Any:
        setting = SETTINGS[name]
        if setting.older_name in self._given:
            return self._given[setting.older_name]
        if name in REQUIRED:
            message = f"{name} is not set"
            raise ConfigError(message, detail=setting.doc, hint=f'Add "{name}" to the configuration.')
        if name == "commit.interval.ms" and self.is_exactly_once:
            return EXACTLY_ONCE_COMMIT_INTERVAL_MS
        return setting.default

    def _default_serde(self, name: str, keyword: str, *, is_key: bool) -> Serde[Any]:
        value = self[name]
        if value is None:
            message = f"no serde is given and {name} is None"
            raise ConfigError(message, hint=f"Give the operator a {keyword}, or set {name}.")
        found = configured_serde(name, value)
        return found.with_defaults(self, is_key=is_key) if hasattr(found, "with_defaults") else found

    def _check_transaction_timeout(self) -> None:
        if not self.is_exactly_once:
            return
        name = "producer.transaction.timeout.ms"
        timeout = number(1)(name, self.originals.get(name, _TRANSACTION_TIMEOUT_MS))
        interval = self["commit.interval.ms"]
        if timeout < interval:
            message = f"producer.transaction.timeout.ms ({timeout}) is shorter than commit.interval.ms ({interval})"
            raise ConfigError(message, hint="Every transaction would time out: commit more often or raise the timeout.")


def as_dict(settings: Any, example: str = '{"application.id": "my-app"}') -> dict[str, Any]:
    """The settings that a caller gave; a ConfigError where they are no dict."""
    try:
        return dict(settings)
    except (TypeError, ValueError):
        message = f"the settings are a dict, found {type(settings).__name__}"
        raise ConfigError(message, hint=f"Give a dict with Kafka's names: {example}.") from None


def _is_handed_on(name: str) -> bool:
    """Whether the setting is for someone else: Kafka's clients, Spark or the program itself; a misspelt one raises."""
    if name in SETTINGS:
        return False
    if isinstance(name, str) and name.startswith(HANDED_ON):
        return True
    near = _near(name)
    if near is not None or name in NOT_HERE or name in CLIENT_SETTINGS or not _may_be_own(name):
        raise _unknown(name, near)
    return True


def _may_be_own(name: Any) -> bool:
    return isinstance(name, str) and name.strip() != "" and not name.startswith(_RESERVED)


def _near(name: Any) -> str | None:
    return near_setting(name, SETTINGS)


def near_setting(name: Any, known: Iterable[str], *, cutoff: float = 0.7) -> str | None:
    """The one of ``known`` that was probably meant: spelled nearly alike, and alike in the first word.

    >>> near_setting("num_stream_thread", ["num.stream.threads"]), near_setting("my.threads", ["num.stream.threads"])
    ('num.stream.threads', None)
    """
    public = [each for each in known if not each.startswith("__")]
    spelled = str(name).lower().replace("_", ".").replace("-", ".")
    for near in difflib.get_close_matches(spelled, public, n=3, cutoff=cutoff):
        if difflib.get_close_matches(spelled.partition(".")[0], [near.partition(".")[0]], cutoff=0.75):
            return near
    return None


def _unknown(name: Any, near: str | None) -> ConfigError:
    if name in NOT_HERE:
        message = f"the setting {name} of Kafka Streams has no meaning here"
        return ConfigError(message, hint=NOT_HERE[name])
    message = f"unknown setting {name!r}"
    if name in CLIENT_SETTINGS:
        return ConfigError(message, hint=f"It belongs to Kafka's clients or topics: {CLIENT_SETTINGS[name]}{name}.")
    if near is None:
        return ConfigError(message, hint="Settings of Kafka's clients start with consumer., producer. or admin.")
    detail = f"if it is the program's own, it needs a name that is not so near, such as my.{name}"
    return ConfigError(message, detail=detail, hint=f"Did you mean {near}?")


def _extractor(name: str, value: Any) -> TimestampExtractor:
    if isinstance(value, str) and value in EXTRACTORS:
        return EXTRACTORS[value]
    if isinstance(value, type):
        value = value()
    if callable(value):
        return value  # type: ignore[no-any-return]
    message = f"{name} must be a callable (record, partition_time), found {value!r}"
    raise ConfigError(message, hint=f"Give a function, or one of the names {', '.join(EXTRACTORS)}.")


def _check_client_tags(tags: Mapping[str, Any]) -> None:
    for tag, value in tags.items():
        if len(tag) > _MAX_TAG_NAME or len(str(value)) > _MAX_TAG_VALUE:
            message = f"client.tag.{tag} is too long"
            hint = f"A tag has at most {_MAX_TAG_NAME} characters, its value at most {_MAX_TAG_VALUE}."
            raise ConfigError(message, detail=f"value {value!r}", hint=hint)
