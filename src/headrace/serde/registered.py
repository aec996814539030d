"""What serdes share whose schemas a registry keeps: under which subject, and which id that gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.serde.defaults import SerdeSettings
from headrace.serde.registry import Schema, SchemaRegistry, SubjectName, topic_subject

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSerde:
    """A serde of a schema. ``auto_register`` off takes only schemas the registry has already."""

    registry: SchemaRegistry | None = None
    is_key: bool | None = None
    """Whether it names the subject ``topic-key``; None: as the place says where it is used, else value."""
    subject: SubjectName = topic_subject
    auto_register: bool = True
    _ids: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Ids of the schema by topic: the registry is asked once."""

    def with_defaults(self, config: SerdeSettings, is_key: bool) -> Self:
        """The same serde, knowing whether it is used for keys or for values."""
        return replace(self, is_key=is_key) if self.is_key is None else self

    def _id_of(self, registry: SchemaRegistry, topic: str, describe: Callable[[], tuple[str, Schema]]) -> int:
        """The id of the schema in ``topic``; ``describe`` gives the name of the record, and the schema."""
        if topic not in self._ids:
            name, schema = describe()
            subject = self.subject(topic, bool(self.is_key), name)
            self._ids[topic] = (
                registry.register(subject, schema) if self.auto_register else registry.lookup(subject, schema).schema_id
            )
        return self._ids[topic]
