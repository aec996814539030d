"""A broker that asks who one is and what one may: SASL with and without TLS, and an authorizer."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from headrace.java import find_java
from headrace.kafka_server import KafkaServer
from tests.kafka.running import wait_for
from tests.kafka.servers import end, new_node, own_port, small_server

PASSWORD = "geheim-17"
USER = "alice"
_SECONDS = 60.0
_STORE_PASSWORD = "store-password"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_OF_ALICE = AclBindingFilter(
    ResourceType.ANY,
    None,
    ResourcePatternType.ANY,
    f"User:{USER}",
    None,
    AclOperation.ANY,
    AclPermissionType.ANY,
)
_PROTOCOLS = {"SASL": "SASL_PLAINTEXT", "SASLTLS": "SASL_SSL", "TLS": "SSL"}


@dataclass
class Guarded:
    """``server.address`` lets everybody do everything; ``addresses`` are those of the other listeners, by protocol."""

    server: KafkaServer
    addresses: Mapping[str, str]
    certificate: Path
    expired: Mapping[str, Any]
    """What leads to a listener whose certificate was good until yesterday."""

    def settings(self, protocol: str, mechanism: str = "PLAIN", password: str = PASSWORD) -> dict[str, Any]:
        """What alice sets to come in by a protocol."""
        chosen: dict[str, Any] = {"bootstrap.servers": self.addresses[protocol], "security.protocol": protocol}
        if protocol.endswith("SSL"):
            chosen["ssl.truststore.location"] = str(self.certificate)
        if protocol.startswith("SASL"):
            chosen |= {"sasl.mechanism": mechanism, "sasl.username": USER, "sasl.password": password}
        return chosen

    def allow(self, kind: ResourceType, name: str, *operations: AclOperation) -> None:
        """Let alice do that with everything whose name begins so."""
        prefixed, yes = ResourcePatternType.PREFIXED, AclPermissionType.ALLOW
        acls = [AclBinding(kind, name, prefixed, f"User:{USER}", "*", each, yes) for each in operations]
        for answer in self.admin.create_acls(acls).values():
            answer.result(_SECONDS)
        # The controller has them; the broker, which is asked here, hears of them a little later.
        wait_for(lambda: set(acls) <= set(self.admin.describe_acls(_OF_ALICE).result(_SECONDS)))

    def set_password(self, password: str) -> None:
        """Of alice, with SCRAM."""
        scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        changed = [UserScramCredentialUpsertion(USER, scram, password.encode())]
        self.admin.alter_user_scram_credentials(changed)[USER].result(_SECONDS)

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.server.address})


@contextmanager
def guarded_broker(directory: Path, more: Mapping[str, str] | None = None) -> Iterator[Guarded]:
    """Started, with alice known to PLAIN and SCRAM-SHA-512; ended with the block."""
    directory.mkdir(parents=True)
    store, certificate = _certificate(directory / "broker")
    old_store, old_certificate = _certificate(directory / "expired", "-startdate", "-2d", "-validity", "1")
    node = new_node()
    listeners = {**_PROTOCOLS, "EXPIRED": "SSL"}
    ports = {name: own_port() for name in listeners}
    clients = [f"PLAINTEXT://127.0.0.1:{node.port}", *(f"{name}://127.0.0.1:{port}" for name, port in ports.items())]
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **listeners}
    settings = {
        "listeners": ",".join([*clients, f"CONTROLLER://127.0.0.1:{node.controller_port}"]),
        "advertised.listeners": ",".join(clients),
        "listener.security.protocol.map": ",".join(f"{name}:{each}" for name, each in protocols.items()),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": _STORE_PASSWORD,
        "ssl.keystore.type": "PKCS12",
        "listener.name.expired.ssl.keystore.location": str(old_store),
        "listener.name.expired.ssl.keystore.password": _STORE_PASSWORD,
        "listener.name.expired.ssl.keystore.type": "PKCS12",
    }
    for name in ("sasl", "sasltls"):
        listener = f"listener.name.{name}"
        settings[f"{listener}.sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-512"
        settings[f"{listener}.plain.sasl.jaas.config"] = f'{_PLAIN} required user_{USER}="{PASSWORD}";'
        settings[f"{listener}.scram-sha-512.sasl.jaas.config"] = f"{_SCRAM} required;"
    server = small_server(directory / "broker", node, settings={**settings, **(more or {})})
    try:
        server.start()
        addresses = {protocol: f"127.0.0.1:{ports[name]}" for name, protocol in _PROTOCOLS.items()}
        expired = {"security.protocol": "SSL", "ssl.truststore.location": str(old_certificate)}
        expired["bootstrap.servers"] = f"127.0.0.1:{ports['EXPIRED']}"
        guarded = Guarded(server, addresses, certificate, expired)
        guarded.set_password(PASSWORD)
        yield guarded
    finally:
        end(server)


def _certificate(place: Path, *options: str) -> tuple[Path, Path]:
    """A key store for the broker, and the certificate that its clients trust."""
    store, certificate = place.with_suffix(".p12"), place.with_suffix(".pem")
    beside_java = Path(find_java(os.environ).program).with_name("keytool")
    keytool = str(beside_java) if beside_java.exists() else shutil.which("keytool") or "keytool"
    known = ["-keystore", str(store), "-storepass", _STORE_PASSWORD, "-alias", "broker"]
    key = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1", "-storetype", "PKCS12"]
    for command in ([*key, *options], ["-exportcert", "-rfc", "-file", str(certificate)]):
        subprocess.run([keytool, *command, *known], check=True, capture_output=True, timeout=_SECONDS)
    return store, certificate
