"""The settings of Kafka's clients by librdkafka's names, from those that Java's clients have.

A name that librdkafka knows passes as it is. One of Java's that means the same is translated, one that has no meaning
here is left out and told once, and a value that cannot be had (a key store of Java's own format) is an error.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace.broker.config import BrokerConfig
from headrace.errors import ConfigError
from headrace.setting_values import is_secret

_logger = logging.getLogger(__name__)

_COMMON = (
    "client.id",
    "client.dns.lookup",
    "client.rack",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.ms",
)
_SECURITY = ("security.", "ssl.", "sasl.", "enable.sasl.")

_RENAMED: Mapping[str, str] = {
    "buffer.memory": "queue.buffering.max.kbytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
}

_CHANGED: Mapping[str, Callable[[Any], Any]] = {
    "buffer.memory": lambda given: max(1, int(given) // 1024),
    "receive.buffer.bytes": lambda given: max(0, int(given)),
    "send.buffer.bytes": lambda given: max(0, int(given)),
    "ssl.endpoint.identification.algorithm": lambda given: given or "none",
}

WITHOUT_EFFECT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "enable.auto.commit",
            "auto.commit.interval.ms",
            "group.id",
            "group.instance.id",
            "group.protocol",
            "group.remote.assignor",
            "heartbeat.interval.ms",
            "partition.assignment.strategy",
            "transactional.id",
            "enable.idempotence",
        ),
        "the engine says it",
    ),
    **dict.fromkeys(
        (
            "key.deserializer",
            "value.deserializer",
            "key.serializer",
            "value.serializer",
            "interceptor.classes",
            "partitioner.class",
            "partitioner.ignore.keys",
            "partitioner.adaptive.partitioning.enable",
            "partitioner.availability.timeout.ms",
            "config.providers",
            "security.providers",
            "ssl.engine.factory.class",
            "sasl.client.callback.handler.class",
            "sasl.login.callback.handler.class",
            "sasl.login.class",
            "metric.reporters",
        ),
        "it names a class of Java's",
    ),
    **dict.fromkeys(
        (
            "exclude.internal.topics",
            "internal.leave.group.on.close",
            "metrics.num.samples",
            "metrics.recording.level",
            "metrics.sample.window.ms",
            "metadata.max.idle.ms",
            "socket.connection.setup.timeout.max.ms",
            "auto.include.jmx.reporter",
            "share.acknowledgement.mode",
            "enable.metrics.push",
            "ssl.protocol",
            "ssl.enabled.protocols",
            "ssl.provider",
            "ssl.keymanager.algorithm",
            "ssl.trustmanager.algorithm",
            "ssl.secure.random.implementation",
            "transaction.two.phase.commit.enable",
        ),
        "librdkafka has nothing like it",
    ),
}
"""Names of Java's clients that change nothing here, and why."""

_OURS = frozenset(
    {
        "auto.offset.reset",
        "default.api.timeout.ms",
        "max.block.ms",
        "max.poll.interval.ms",
        "max.poll.records",
        "replication.factor",
        "session.timeout.ms",
    }
)
"""What Headrace itself follows and librdkafka is not told."""

_told: set[str] = set()


def consumer_settings(config: BrokerConfig, kind: str = "main") -> dict[str, Any]:
    """For a consumer: ``consumer.``, and before it what is given for ``kind`` (main, restore, global)."""
    return _settings(config, ("consumer.", f"{kind}.consumer."))


def producer_settings(config: BrokerConfig) -> dict[str, Any]:
    """For a producer."""
    return _settings(config, ("producer.",))


def admin_settings(config: BrokerConfig) -> dict[str, Any]:
    """For an admin client."""
    return _settings(config, ("admin.",))


class Identity(NamedTuple):
    """Who a client is to the cluster, as far as its settings tell."""

    principal: str
    way: str
    """How it says so: the security protocol, and with SASL the mechanism."""


def identity(config: BrokerConfig) -> Identity:
    """That of an admin client, which is most often that of all.

    >>> settings = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "alice"}
    >>> identity(BrokerConfig("localhost:9092", settings))
    Identity(principal='User:alice', way='SASL_SSL PLAIN')
    """
    chosen = admin_settings(config)
    protocol = str(chosen.get("security.protocol", "PLAINTEXT")).upper()
    if protocol.startswith("SASL"):
        mechanism = str(chosen.get("sasl.mechanism") or chosen.get("sasl.mechanisms", "GSSAPI"))
        user = chosen.get("sasl.username")
        return Identity("the user of the token" if user is None else f"User:{user}", f"{protocol} {mechanism}")
    has_certificate = any(name.startswith(("ssl.certificate", "ssl.keystore")) for name in chosen)
    return Identity("the user of the certificate" if has_certificate else "User:ANONYMOUS", protocol)


def given(config: BrokerConfig, name: str, *prefixes: str) -> object | None:
    """A setting that Headrace itself follows; None where it is not given. The last prefix that has it counts."""
    found = [config.settings[prefix + name] for prefix in prefixes if prefix + name in config.settings]
    return found[-1] if found else None


def _settings(config: BrokerConfig, prefixes: tuple[str, ...]) -> dict[str, Any]:
    chosen = {name: value for name, value in config.settings.items() if name in _COMMON or name.startswith(_SECURITY)}
    for prefix in prefixes:
        mine = {each.removeprefix(prefix): value for each, value in config.settings.items() if each.startswith(prefix)}
        chosen.update(mine)
    return {"bootstrap.servers": config.address, **_translated(chosen)}


def _translated(chosen: Mapping[str, Any]) -> dict[str, Any]:
    stores = {**_trust_store(chosen), **_key_store(chosen), **_login(chosen)}
    skipped = {name for name in chosen if name in _OURS or name in _STORES or name in WITHOUT_EFFECT}
    for name in sorted(skipped & WITHOUT_EFFECT.keys()):
        _tell(name)
    plain = {
        _RENAMED.get(name, name): _plain(_CHANGED.get(name, _same)(value))
        for name, value in chosen.items()
        if name not in skipped and value is not None
    }
    return {**plain, **stores}


def _same(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """A value as librdkafka takes it: lists as text with commas."""
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _tell(name: str) -> None:
    if name not in _told:
        _told.add(name)
        _logger.warning("the client setting %s has no effect: %s", name, WITHOUT_EFFECT[name])


# Keys and certificates. Java keeps them in stores of its own; librdkafka reads PEM, and PKCS12 for its own key.

_STORES = frozenset(
    {
        "sasl.jaas.config",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)


def _store_type(location: str, declared: object) -> str:
    if declared:
        return str(declared).upper()
    ending = location.rpartition(".")[2].lower()
    return {"pem": "PEM", "crt": "PEM", "cer": "PEM", "p12": "PKCS12", "pfx": "PKCS12"}.get(ending, "JKS")


def _trust_store(chosen: Mapping[str, Any]) -> dict[str, Any]:
    location = chosen.get("ssl.truststore.location")
    if not location:
        return {}
    kind = _store_type(str(location), chosen.get("ssl.truststore.type"))
    if kind == "PEM":
        return {"ssl.ca.location": str(location)}
    message = f"ssl.truststore.location is a {kind} store, which librdkafka cannot read"
    hint = (
        "Export its certificates: keytool -exportcert -rfc -keystore STORE -alias NAME > ca.pem; then ssl.ca.location."
    )
    raise ConfigError(message, detail=str(location), hint=hint)


def _key_store(chosen: Mapping[str, Any]) -> dict[str, Any]:
    location = chosen.get("ssl.keystore.location")
    if not location:
        return {}
    kind = _store_type(str(location), chosen.get("ssl.keystore.type"))
    if kind == "PEM":
        return {"ssl.certificate.location": str(location), "ssl.key.location": str(location)}
    if kind == "PKCS12":
        return {
            "ssl.keystore.location": str(location),
            "ssl.keystore.password": chosen.get("ssl.keystore.password", ""),
        }
    message = f"ssl.keystore.location is a {kind} store, which librdkafka cannot read"
    hint = "Convert it: keytool -importkeystore -srckeystore STORE -destkeystore STORE.p12 -deststoretype PKCS12."
    raise ConfigError(message, detail=str(location), hint=hint)


# Logging in, as Java writes it: a class of its own, a word, and options in quotes.

_JAAS = re.compile(r"\s*(?P<module>[\w.$]+)\s+\w+\s*(?P<options>.*?)\s*;?\s*", re.DOTALL)
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s;]+))""")


def _login(chosen: Mapping[str, Any]) -> dict[str, Any]:
    text = chosen.get("sasl.jaas.config")
    if not text:
        return {}
    found = _JAAS.fullmatch(str(text))
    if found is None:
        message = 'sasl.jaas.config is not of the form: MODULE required NAME="VALUE" ...;'
        raise ConfigError(message, hint="Give sasl.username and sasl.password instead.")
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted) or single or bare
        for name, quoted, single, bare in _OPTION.findall(found["options"])
    }
    module = found["module"].rpartition(".")[2]
    if module in {"PlainLoginModule", "ScramLoginModule"}:
        return _user(options, chosen)
    if module == "OAuthBearerLoginModule":
        return _bearer(options, chosen)
    message = f"sasl.jaas.config names {module}, which has no like here"
    raise ConfigError(message, hint="PlainLoginModule, ScramLoginModule and OAuthBearerLoginModule have.")


def _user(options: Mapping[str, str], chosen: Mapping[str, Any]) -> dict[str, Any]:
    login = {"sasl.username": options.get("username"), "sasl.password": options.get("password")}
    missing = [name for name, value in login.items() if value is None and name not in chosen]
    if missing:
        message = "sasl.jaas.config gives no username or no password"
        raise ConfigError(
            message, hint='Write username="..." password="..." into it, or set sasl.username and sasl.password.'
        )
    return {name: value for name, value in login.items() if value is not None}


def _bearer(options: Mapping[str, str], chosen: Mapping[str, Any]) -> dict[str, Any]:
    subject = options.get("unsecuredLoginStringClaim_sub")
    if subject is not None:
        return {"enable.sasl.oauthbearer.unsecure.jwt": True, "sasl.oauthbearer.config": f"principal={subject}"}
    names = {"clientId": "client.id", "clientSecret": "client.secret", "scope": "scope"}
    login = {f"sasl.oauthbearer.{name}": options[each] for each, name in names.items() if each in options}
    if login and "sasl.oauthbearer.method" not in chosen:
        login["sasl.oauthbearer.method"] = "oidc"
    return login


def hidden(text: str, settings: Mapping[str, Any]) -> str:
    """``text`` without any value that is secret.

    >>> hidden("no such user: x1y2", {"sasl.password": "x1y2"})
    'no such user: ***'
    """
    for name, value in settings.items():
        if is_secret(name) and isinstance(value, str) and value:
            text = text.replace(value, "***")
    return text
