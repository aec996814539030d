"""librdkafka's errors as ours: what failed, where, and what to do about it."""

from __future__ import annotations

import re

from confluent_kafka import KafkaError

from headrace.broker.kafka.client_settings import Identity
from headrace.errors import (
    ArgumentError,
    AuthenticationError,
    AuthorizationError,
    BrokerError,
    BrokerUnreachableError,
    ConfigError,
    FencedError,
    HeadraceError,
    OffsetOutOfRangeError,
    RecordTooLargeError,
    TopicExistsError,
    UnknownTopicError,
)

UNREACHABLE = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._WAIT_COORD,
        KafkaError._RESOLVE,
        # A broker that was asked has left the cluster.
        KafkaError._DESTROY_BROKER,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.NOT_CONTROLLER,
        KafkaError.KAFKA_STORAGE_ERROR,
    }
)
"""They go away by themselves when the cluster is well again."""

NOT_NOW = frozenset(
    {
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError.NOT_CONTROLLER,
    }
)
"""The cluster answered, did nothing, and will do it in a moment."""

DENIED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
"""What an ACL is missing for."""
CREDENTIALS = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
    }
)
UNKNOWN_TOPIC = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }
)
FENCED = frozenset({KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError._FENCED})
AFTER_FENCING = FENCED | {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._FATAL}
"""What a producer that was fenced says, and of its records that had not been sent yet."""
_TOLD_BROKER = re.compile(r"(?:\w+Coordinator: )?(?:\w+://)?(?P<at>\S+:\d+)(?:/\d+)?: ")
"""How librdkafka's lines about a connection to a broker begin that the cluster told it of."""
_BAD_SETTING = frozenset({KafkaError.INVALID_CONFIG, KafkaError.POLICY_VIOLATION, KafkaError._INVALID_ARG})
_TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE, KafkaError.RECORD_LIST_TOO_LARGE})


def failure(error: KafkaError, what: str, address: str, identity: Identity) -> HeadraceError:
    """Our error for librdkafka's where the cluster answered: by what the caller can do about it."""
    code, detail = error.code(), f"{error.str()} ({error.name()})"
    if code in DENIED:
        return denied(what, identity, detail)
    if code in CREDENTIALS:
        return refused(what, address, identity, detail)
    if code in FENCED:
        return FencedError(f"{what}: a newer process has taken over", detail=detail)
    return _of_the_request(code, what, detail)


def unreachable(what: str, address: str, detail: str | None) -> BrokerUnreachableError:
    """The cluster, or the part of it that is needed, does not answer."""
    hint = "Start the broker, or correct bootstrap.servers."
    told = _TOLD_BROKER.match(detail or "")
    if told and told["at"] not in address.split(","):
        hint = f"The cluster says that a broker is at {told['at']}. Start it, or correct its advertised.listeners."
    return BrokerUnreachableError(f"{what}: Kafka at {address} does not answer", detail=detail, hint=hint)


def refused(what: str, address: str, identity: Identity, detail: str) -> AuthenticationError:
    """The cluster does not accept who we say we are, or we do not accept it."""
    hint = "Check security.protocol, the sasl. settings (mechanism, user, password) and the ssl. settings."
    message = f"{what}: authentication with Kafka at {address} failed ({identity.way}, {identity.principal})"
    return AuthenticationError(message, detail=detail, hint=hint)


def denied(what: str, identity: Identity, detail: str) -> AuthorizationError:
    """The cluster knows who we are, and that we may not."""
    hint = f"Ask for an ACL that allows it to {identity.principal}."
    return AuthorizationError(f"{what}: the cluster denies it to {identity.principal}", detail=detail, hint=hint)


def _of_the_request(code: int, what: str, detail: str) -> HeadraceError:
    if code in UNKNOWN_TOPIC:
        return UnknownTopicError(f"{what}: there is no such topic or partition", detail=detail)
    if code == KafkaError.TOPIC_ALREADY_EXISTS:
        return TopicExistsError(f"{what}: there is a topic of that name already")
    if code in {KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET}:
        return OffsetOutOfRangeError(f"{what}: the partition does not hold that offset", detail=detail)
    if code in _TOO_LARGE:
        hint = "Send less, or raise max.message.bytes of the topic and producer.max.request.size."
        return RecordTooLargeError(f"{what}: a record is too large", detail=detail, hint=hint)
    if code in {KafkaError.TOPIC_EXCEPTION, KafkaError.INVALID_PARTITIONS, KafkaError.INVALID_REPLICATION_FACTOR}:
        return ArgumentError(f"{what}: {detail}")
    if code in _BAD_SETTING:
        return ConfigError(f"{what}: {detail}")
    if code == KafkaError.NON_EMPTY_GROUP:
        return BrokerError(f"{what}: the group has members", hint="Stop whoever reads as that group first.")
    return BrokerError(f"{what}: Kafka refused", detail=detail)
