"""The topics of new sources: which must be there, and which are made."""

from __future__ import annotations

from headrace.names import problem_with
from headrace.sql.catalog.properties import OF_SOURCES, SourceProperties
from headrace.sql.catalog.sources import Source
from headrace.sql.engine.ports import Topics
from headrace.sql.errors import SqlError
from headrace.sql.tree.statements import CreateAs, CreateSource, SourceKind


def prepare_topic(statement: CreateSource | CreateAs, source: Source, topics: Topics, default: int | None) -> None:
    """Make the topic of a new source if it is to be made; ``default`` is how many partitions a sink has unasked.

    A topic that is there must have the partitions that the statement says.
    """
    properties = SourceProperties(statement.properties, OF_SOURCES)
    wanted, found = properties.whole("PARTITIONS"), topics.partitions(source.topic)
    if found is None:
        count = wanted if wanted is not None else default
        if count is None:
            message = f"the topic {source.topic} does not exist"
            hint = f"Make it, or write PARTITIONS=1 to have it made with {source.name}."
            raise SqlError("ddl.topic-missing", message, hint=hint, offset=properties.at("KAFKA_TOPIC"))
        _check_new(source.topic, count, properties)
        topics.create(source.topic, count, _settings(source, properties))
    elif wanted is not None and wanted != found:
        message = f"the topic {source.topic} has {found} partitions, not {wanted}"
        raise SqlError("ddl.topic-partitions", message, offset=properties.at("PARTITIONS"))


def _check_new(topic: str, partitions: int, properties: SourceProperties) -> None:
    """What no broker would make. It is said before anything is executed, where no broker is asked yet."""
    problem = problem_with(topic)
    if problem is not None:
        message = f"the topic name {topic!r} is illegal: {problem}"
        raise SqlError("ddl.topic", message, offset=properties.at("KAFKA_TOPIC"))
    if partitions < 1:
        message = f"the topic {topic} cannot have {partitions} partitions: 1 or more"
        raise SqlError("ddl.topic-partitions", message, offset=properties.at("PARTITIONS"))


def _settings(source: Source, properties: SourceProperties) -> dict[str, str]:
    is_table, is_windowed = source.kind is SourceKind.TABLE, source.windows is not None
    policy = "delete" if not is_table else "compact,delete" if is_windowed else "compact"
    retention = properties.whole("RETENTION_MS")
    if retention is not None and is_table and not is_windowed:
        message = f"{source.name} is a table that is compacted: RETENTION_MS has no meaning for it"
        raise SqlError("ddl.property", message, offset=properties.at("RETENTION_MS"))
    kept = {} if retention is None else {"retention.ms": str(retention)}
    return {"cleanup.policy": policy, **kept}
