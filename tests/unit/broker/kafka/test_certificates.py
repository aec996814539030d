"""What is wrong with the certificate of a broker is found by looking at it."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from headrace.broker.kafka.certificates import complaint

_DAY = datetime.timedelta(days=1)


def certificate(directory: Path, days_left: int, host: str = "127.0.0.1") -> Path:
    """A file with a key and a certificate for it, which began ten days before its end."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "broker")])
    end = datetime.datetime.now(datetime.timezone.utc) + days_left * _DAY
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), end - 10 * _DAY, end)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    path = directory / "broker.pem"
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(key.private_bytes(pem, *plain) + made.public_bytes(pem))
    return path


@contextmanager
def broker_with(path: Path) -> Iterator[str]:
    """Somebody who listens, and shakes hands once."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError), listener.accept()[0] as client:
                context.wrap_socket(client, server_side=True).close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


@pytest.mark.parametrize(
    ("days_left", "host", "found"),
    [
        (-1, "127.0.0.1", "certificate has expired"),
        (11, "127.0.0.1", "certificate is not yet valid"),
        (5, "127.0.0.2", "IP address mismatch"),
        (5, "127.0.0.1", None),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, days_left: int, host: str, found: str | None) -> None:
    path = certificate(tmp_path, days_left, host)
    with broker_with(path) as address:
        said = complaint(f"127.0.0.1:1,{address}", {"ssl.ca.location": str(path)})
    assert (said is None) if found is None else (said is not None and said.startswith(f"{address}: {found}")), said


def test_a_certificate_of_nobody_we_know_is_named(tmp_path: Path) -> None:
    with broker_with(certificate(tmp_path, 5)) as address:
        said = complaint(address, {})
    assert said is not None and said.endswith(" certificate"), said
